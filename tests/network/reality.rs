//! What filterd says is what the wire does, also after somebody else has had his hands in the kernel.

use harness::limited::LimitedCommand;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, ForeignProgram, Net, keeper_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

const BLOCKING: &str = "block: [203.0.113.7]";

/// It looks by itself every 5 s.
const SOON: Duration = Duration::from_secs(60);

#[test]
fn detached_filter_is_attached_again() {
    let mut net = Net::with_filterd(BLOCKING);
    take_off(&net, "eth0");
    net.expect(ATTACKER).passes().then_within(SOON).dropped();
    net.wait_for_log("another process detached the filter");
    net.filterd(["status", "--json"]).succeeds().has(json!({"interfaces": [{"gaps": 1}]}));
}

#[test]
fn status_shows_the_current_state() {
    for question in [&["test", ATTACKER][..], &["status"]] {
        let net = Net::with_filterd(BLOCKING);
        take_off(&net, "eth0");
        net.filterd(question).succeeds();
        net.expect(ATTACKER).dropped();
    }
}

#[test]
fn repeated_detaching_is_reported_with_remedy() {
    let net = Net::with_filterd(BLOCKING);
    for _ in 0..3 {
        take_off(&net, "eth0");
        net.filterd(["test", ATTACKER]).exits(0);
        net.expect(ATTACKER).dropped();
    }
    take_off(&net, "eth0");
    net.filterd(["status"]).exits(7).says("4 times within an hour").says("filterd reload");
    net.filterd(["test", ATTACKER, "--json"]).exits(1).has(json!({"tested": [{"idle": "nothing_attached"}]}));
    net.expect(ATTACKER).passes();
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).dropped();
    net.filterd(["status"]).succeeds();
}

#[test]
fn replaced_program_of_link_is_restored() {
    for mode in ["native", "tc"] {
        let mut net = Net::with_filterd(&format!("{BLOCKING}\nmode: {mode}"));
        let ours = net.attached("eth0").expect("attached")["prog"]["id"].clone();
        let Some(foreign) = ForeignProgram::take_link(&net.home().pins().join("links/eth0")) else {
            println!("SKIPPED {mode}: the filter is attached without a link (Linux 6.6 has links of TCX)");
            continue;
        };
        net.expect(ATTACKER).passes();
        net.filterd(["status", "--json"]).succeeds().has(json!({"interfaces": [{"gaps": 1}]}));
        net.expect(ATTACKER).dropped();
        assert_eq!(net.attached("eth0").expect("attached")["prog"]["id"], ours);
        net.wait_for_log(&format!("(id {})", foreign.id));
    }
}

#[test]
fn foreign_programs_are_named_and_kept() {
    let net = Net::with_filterd(&format!("{BLOCKING}\nmode: native"));
    net.daemon().signal(Signal::SIGSTOP);
    take_off(&net, "eth0");
    let foreign = ForeignProgram::attach(net.host(), "eth0");
    net.daemon().signal(Signal::SIGCONT);
    net.filterd(["status"]).exits(7).says(&format!("(id {},", foreign.id));
    net.filterd(["add", BYSTANDER, "--json"]).exits(7).has(json!({"idle": "nothing_attached"}));
    net.filterd(["test", ATTACKER, "--json"]).exits(1).has(json!({"tested": [{"idle": "nothing_attached"}]}));
    net.expect(ATTACKER).passes();
    assert_eq!(net.attached("eth0").expect("still there")["prog"]["id"], foreign.id);
    drop(foreign);
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).dropped();
}

#[test]
fn killed_broker_ends_daemon_and_filter_stays() {
    let mut net = Net::with_filterd(BLOCKING);
    let before = net.attached("eth0").expect("attached");
    net.filterd(["add", BYSTANDER]).succeeds();
    let keeper = i32::try_from(keeper_of(net.daemon().id())).expect("process ids are small");
    kill(Pid::from_raw(keeper), Signal::SIGKILL).expect("it runs");
    let (end, log) = net.wait_for_the_end();
    assert_eq!(end.code(), Some(8), "{log}");
    assert!(log.contains("SIGKILL") && log.contains("the filter stays attached as it is"), "{log}");
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    net.filterd(["add", "192.0.2.77"]).exits(6).complains("still attached to eth0");
    net.start(BLOCKING);
    assert_eq!(net.attached("eth0").expect("attached"), before, "nobody has touched the interface");
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    net.filterd(["status"]).succeeds();
}

#[test]
fn removed_pins_are_restored_and_outlive_daemon() {
    let mut net = Net::with_filterd(BLOCKING);
    net.expect(ATTACKER).dropped();
    let dropped = net.counted("ipv4_address");
    fs::remove_dir_all(net.home().pins()).expect("they are ours");
    net.filterd(["stats"]).succeeds();
    net.filterd(["status"]).succeeds();
    net.wait_for_log("filterd restored them");
    net.expect(ATTACKER).dropped();
    assert!(net.counted("ipv4_address") > dropped, "the same counters");
    net.end(Signal::SIGKILL);
    net.expect(ATTACKER).dropped();
    net.filterd(["add", BYSTANDER]).exits(6).complains("still attached to eth0");
    net.start(BLOCKING);
    net.filterd(["status"]).succeeds();
    net.wait_for_log("is still attached from an earlier filterd");
}

#[test]
fn pins_that_cannot_be_restored_are_reported() {
    let net = Net::with_filterd(BLOCKING);
    let pins = net.home().pins();
    net.daemon().signal(Signal::SIGSTOP);
    fs::remove_dir_all(pins).expect("they are ours");
    fs::create_dir(pins).expect("we are root");
    fs::set_permissions(pins, Permissions::from_mode(0o777)).expect("it is ours");
    net.daemon().signal(Signal::SIGCONT);
    net.filterd(["status"]).exits(7).says("the filter would end with it").says(&pins.display().to_string());
    net.expect(ATTACKER).dropped();
    fs::remove_dir(pins).expect("nothing was laid in it");
    net.filterd(["status"]).succeeds();
}

/// A program is loaded over what is pinned.
#[test]
fn changes_work_after_table_pins_are_removed() {
    let net = Net::with_filterd(BLOCKING);
    let tables = fs::read_dir(net.home().pins().join("tables")).expect("they are ours");
    tables.flatten().for_each(|table| fs::remove_file(table.path()).expect("it is ours"));
    net.filterd(["add", ATTACKER6]).succeeds();
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
}

#[test]
fn renamed_interface_and_its_successor_stay_filtered() {
    let mut net = Net::with_links(3);
    net.start("interfaces: [eth0, eth1]\nblock: [203.0.113.7]");
    // The host's eth1 becomes lan0, and its eth2 becomes eth1.
    net.host()
        .ip_all("link set eth1 down\nlink set eth2 down\nlink set eth1 name lan0\nlink set eth2 name eth1\n");
    net.raise(&["lan0", "eth1"]);
    net.wait_for_log("another interface is now named eth1");
    net.wait_for_log("eth1 attached after a gap");
    net.expect(ATTACKER).on("eth1").dropped();
    net.expect(ATTACKER).on("eth2").dropped();
    let lan0 = json!({"name": "lan0", "mode": net.tc_mode()});
    net.filterd(["status", "--json"]).succeeds().has(json!({"interfaces": [lan0]})).says("its name was eth1");
    net.end(Signal::SIGKILL);
    net.expect(ATTACKER).on("eth1").dropped();
    net.start("interfaces: [eth0, eth1, lan0]\nblock: [203.0.113.7]");
    net.filterd(["status"]).succeeds().is_silent_about("its name was");
    net.expect(ATTACKER).on("eth1").dropped();
    net.configure("interfaces: [eth0, eth1]\nblock: [203.0.113.7]");
    net.filterd(["reload"]).succeeds();
    assert_eq!(net.attached("lan0"), None);
    net.expect(ATTACKER).on("eth2").dropped();
}

#[test]
fn interfaces_that_swap_names_stay_filtered() {
    let mut net = Net::with_links(3);
    net.start("interfaces: [eth1, eth2]\nblock: [203.0.113.7]");
    net.forget_log();
    net.daemon().signal(Signal::SIGSTOP);
    net.host()
        .ip_all("link set eth1 down\nlink set eth2 down\nlink set eth1 name x\nlink set eth2 name eth1\n");
    net.host().ip("link set x name eth2");
    net.raise(&["eth1", "eth2"]);
    net.daemon().signal(Signal::SIGCONT);
    net.wait_for_log("is still filtered");
    let status = net.filterd(["status", "--json"]).succeeds().json();
    assert!(status["interfaces"].as_array().expect("a list").iter().all(|one| one["gaps"] == 0), "{status}");
    assert!(!net.daemon().log().contains("attached"), "nobody has touched them: {}", net.daemon().log());
    net.expect(ATTACKER).on("eth1").dropped();
    net.expect(ATTACKER).on("eth2").dropped();
    net.configure("interfaces: [eth1]\nblock: [203.0.113.7]");
    net.filterd(["reload"]).succeeds();
    assert!(net.attached("eth1").is_some());
    assert_eq!(net.attached("eth2"), None);
}

#[test]
fn every_command_reports_filter_of_dead_daemon() {
    let mut net = Net::with_filterd(BLOCKING);
    net.end(Signal::SIGKILL);
    net.expect(ATTACKER).dropped();
    let (pins, detach) = (net.home().pins().display().to_string(), "filterd detach --pin-dir");
    for verb in [&["status"][..], &["add", BYSTANDER], &["ping"]] {
        let reply = net.filterd(verb).exits(6);
        reply.complains("still attached to eth0").complains("nothing expires").complains(detach);
    }
    std::fs::remove_file(net.home().socket()).expect("a killed daemon leaves it");
    net.home().filterd_as(65534, ["status"]).exits(6).complains("only root can see");
    net.filterd(["detach", "--pin-dir", &pins]).succeeds();
    net.filterd(["status"]).exits(6).complains("systemctl start filterd").is_silent_about("still attached");
}

#[test]
fn daemon_without_socket_is_not_reported_dead() {
    let net = Net::with_filterd(BLOCKING);
    std::fs::remove_file(net.home().socket()).expect("it listens there");
    for verb in [&["status"][..], &["add", BYSTANDER], &["ping"]] {
        let reply = net.filterd(verb).exits(6);
        reply
            .complains("is running, but its socket is missing")
            .complains("sudo kill")
            .is_silent_about("not running");
    }
    net.expect(ATTACKER).dropped();
}

#[test]
fn emptied_judge_slot_is_filled_and_reported() {
    let mut net = Net::with_filterd(BLOCKING);
    let slot = net.home().pins().join("next-tc");
    let empty = |net: &Net| bpftool(net, &["map", "delete", "pinned"], &slot, &["key", "0", "0", "0", "0"]);
    empty(&net);
    net.expect(ATTACKER).passes();
    net.filterd(["status"])
        .exits(7)
        .says("tampered with")
        .says("the slot of the judge program was empty")
        .says("CAP_BPF");
    net.expect(ATTACKER).dropped();
    net.filterd(["reload"]).succeeds();
    net.filterd(["status"]).exits(7).says("tampered with");
    net.filterd(["ack"]).succeeds().says("tampered with");
    net.filterd(["status"]).succeeds().is_silent_about("tampered");
    // Nobody asks.
    net.forget_log();
    empty(&net);
    net.expect(ATTACKER).then_within(SOON).dropped();
    net.wait_for_log("ERROR tampered with: the slot of the judge program was empty");
}

#[test]
fn replaced_pin_is_restored_and_reported() {
    let net = Net::with_filterd(BLOCKING);
    let counters = net.home().pins().join("counters");
    let its_id = || map_id(&net, &counters);
    let ours = its_id();
    fs::remove_file(&counters).expect("we are root");
    let like = ["type", "array", "key", "4", "value", "8", "entries", "1", "name", "planted"];
    bpftool(&net, &["map", "create"], &counters, &like);
    assert_ne!(its_id(), ours);
    net.filterd(["status"]).exits(7).says("tampered with").says("led to an object that is not filterd's");
    assert_eq!(its_id(), ours);
}

#[test]
fn changed_table_is_rebuilt_and_reported() {
    let net = Net::with_filterd("block: [198.51.100.0/24, 203.0.113.0/24]\nallow: [203.0.113.7]");
    net.expect(ATTACKER).passes();
    let tables = fs::read_dir(net.home().pins().join("tables")).expect("they are ours");
    let name = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains("overlap"));
    let word =
        tables.flatten().map(|table| table.path()).find(|path| name(path)).expect("something is allowed");
    let zero = ["key", "0", "0", "0", "0", "value", "0", "0", "0", "0", "0", "0", "0", "0"];
    bpftool(&net, &["map", "update", "pinned"], &word, &zero);
    net.expect(ATTACKER).dropped();
    net.filterd(["status"]).exits(7).says("the tables in the kernel were changed");
    net.expect(ATTACKER).passes();
    net.expect("203.0.113.8").dropped();
}

fn map_id(net: &Net, pin: &Path) -> u64 {
    let mut bpftool = net.host().command("bpftool");
    let shown =
        bpftool.args(["-j", "map", "show", "pinned"]).arg(pin).limited_output().expect("bpftool is there");
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("it is a map");
    shown["id"].as_u64().expect("maps have numbers")
}

#[track_caller]
fn bpftool(net: &Net, before: &[&str], pin: &Path, behind: &[&str]) {
    let mut bpftool = net.host().command("bpftool");
    let done = bpftool.args(before).arg(pin).args(behind).stdout(Stdio::null()).limited_status();
    assert!(done.expect("bpftool is there").success());
}

/// As any other root may.
#[track_caller]
fn take_off(net: &Net, interface: &str) {
    net.host().take_off(interface, &net.home().pins().join("links").join(interface));
}
