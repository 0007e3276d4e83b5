//! What a filterd finds filtered when it starts, or reads its configuration again: every link of ours is known by where it
//! is now, and nothing lets go because a name is wrong.

use std::fs;
use std::time::Duration;

use harness::{ATTACKER, BYSTANDER, ForeignProgram, Net};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

const MISSPELT: &str = "interfaces: [ehh0]\nblock: [203.0.113.7]";
const BOTH: &str = "interfaces: [eth0, eth1]\nblock: [203.0.113.7]";
const ONE: &str = "interfaces: [eth0]\nblock: [203.0.113.7]";

#[test]
fn start_with_misspelt_interface_keeps_filtering() {
    let mut net = Net::with_filterd(ONE);
    let before = net.attached("eth0").expect("attached");
    net.end(Signal::SIGKILL);
    net.start(MISSPELT);
    held_back_and_at_work(&net);
    net.wait_for_log("eth0 is still filtered, although the configuration no longer lists it");
    net.configure(ONE);
    net.filterd(["reload"]).succeeds();
    net.filterd(["status", "--json"]).succeeds().has(is_filtered(&net, "eth0")).is_silent_about("ehh0");
    assert_eq!(net.attached("eth0").expect("attached"), before, "nobody has touched the interface");
}

#[test]
fn reload_with_misspelt_interface_keeps_filtering() {
    let net = Net::with_filterd(ONE);
    net.configure(MISSPELT);
    for _ in 0..2 {
        let reloaded = net.filterd(["reload", "--json"]).exits(7).json();
        assert_eq!(reloaded["faults"].as_array().expect("a list").len(), 2, "{reloaded}");
        assert_eq!(reloaded["detached"], Value::Null, "{reloaded}");
        held_back_and_at_work(&net);
    }
    net.host().ip_all("link add ehh0 type veth peer name other\n");
    net.expect(ATTACKER).then_within(Duration::from_secs(30)).passes();
    net.filterd(["status", "--json"]).succeeds().has(is_filtered(&net, "ehh0")).is_silent_about("eth0");
}

/// This interface has its filter, as a status says it in JSON.
fn is_filtered(net: &Net, interface: &str) -> Value {
    json!({"interfaces": [{"name": interface, "mode": net.tc_mode()}]})
}

#[track_caller]
fn held_back_and_at_work(net: &Net) {
    net.filterd(["status"])
        .exits(7)
        .says("ehh0 is not filtered: there is no interface ehh0")
        .says("eth0 is still filtered, although the configuration no longer lists it")
        .says("if ehh0 is a typo: correct it, then run `filterd reload`");
    net.filterd(["add", BYSTANDER, "--json"]).succeeds().has(json!({"except": ["ehh0"]}));
    net.filterd(["test", BYSTANDER, "--json"]).exits(0).has(json!({"tested": [{"except": ["ehh0"]}]}));
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    net.filterd(["remove", BYSTANDER]).succeeds();
    net.expect(BYSTANDER).passes();
}

#[test]
fn unnamed_interfaces_are_detached_and_reported() {
    let mut net = Net::with_links(2);
    net.start(BOTH);
    net.end(Signal::SIGKILL);
    net.start(ONE);
    net.wait_for_log("eth1 detached: the configuration no longer lists it");
    assert_eq!(net.attached("eth1"), None);
    net.expect(ATTACKER).on("eth1").passes();
    net.expect(ATTACKER).dropped();
    net.filterd(["status", "--json"]).succeeds().is_silent_about("eth1");
    net.configure("interfaces: [eth1]\nenforce: false\nblock: [203.0.113.7]");
    let reloaded = net.filterd(["reload", "--json"]).succeeds().json();
    assert_eq!(reloaded["attached"], json!(["eth1"]), "{reloaded}");
    assert_eq!(reloaded["detached"], json!(["eth0"]), "{reloaded}");
    assert_eq!(reloaded["enforce"], false, "{reloaded}");
    assert_eq!(net.attached("eth0"), None);
    net.configure(BOTH);
    net.filterd(["reload", "--json"]).succeeds().has(json!({"attached": ["eth0"], "enforce": true}));
}

#[test]
fn accepted_absent_interface_keeps_no_other() {
    let mut net = Net::with_links(2);
    net.start(BOTH);
    let others = "interfaces: [eth0, usb0]\nblock: [203.0.113.7]";
    net.configure(others);
    net.filterd(["reload"])
        .exits(7)
        .complains("filterd reload --accept usb0    (stops filtering eth1 at once)");
    net.filterd(["reload", "--accept", "usb1"]).exits(2).complains("lists: none; interfaces: eth0, usb0");
    net.filterd(["reload", "--accept", "all"]).exits(7).complains("usb0 is not filtered");
    net.expect(ATTACKER).on("eth1").dropped();
    net.filterd(["reload", "--accept", "usb0", "--json"]).succeeds().has(json!({"detached": ["eth1"]}));
    let accepted = json!({"interfaces": [{"name": "usb0", "accepted": true}]});
    let is_well = |net: &Net| {
        net.filterd(["status", "--json"]).succeeds().has(accepted.clone());
        net.filterd(["add", BYSTANDER, "--json"]).succeeds().is_silent_about("usb0");
    };
    is_well(&net);
    net.filterd(["reload"]).succeeds();
    net.succeed(others);
    is_well(&net);
    // Until it comes.
    net.host().ip("link add usb0 type veth peer name other");
    net.filterd(["status", "--json"]).succeeds().has(is_filtered(&net, "usb0"));
    net.host().ip("link del usb0");
    net.filterd(["status"]).exits(7).says("usb0 is not filtered");
}

#[test]
fn accepting_an_interface_leaves_nothing_unfiltered() {
    let mut net = Net::with_filterd(ONE);
    net.configure("interfaces: [usb0]\nblock: [203.0.113.7]");
    // No word is offered that would do nothing, and whoever says it all the same is told.
    let word = "--accept usb0";
    net.filterd(["reload"]).exits(7).is_silent_about(word);
    net.filterd(["diff"]).exits(7).complains("usb0 would not be filtered").is_silent_about(word);
    net.filterd(["reload", "--accept", "usb0"])
        .exits(7)
        .complains("the absence of usb0 was not accepted: no other configured interface")
        .complains("eth0 is still filtered, although the configuration no longer lists it");
    net.filterd(["status", "--json"]).exits(7).says("usb0 is not filtered").is_silent_about("accepted");
    net.filterd(["reload", "--accept", "eth0"])
        .exits(2)
        .complains("eth0 is filtered until every configured interface is filtered");
    net.configure("interfaces: []\nblock: [203.0.113.7]");
    for words in [vec!["reload", "--accept", "eth0"], vec!["diff"]] {
        net.filterd(words).exits(3).complains("eth0 stays filtered").complains("stop filterd");
    }
    net.expect(ATTACKER).dropped();
    let list = net.file("list", "203.0.113.7\n").display().to_string();
    let both = format!("interfaces: [eth0, usb0]\nlists: [{{name: usb0, path: {list}}}]");
    net.configure(&both);
    net.end(Signal::SIGKILL);
    net.start(&both);
    net.filterd(["status"]).exits(7).says("filterd reload --accept usb0");
    net.filterd(["reload", "--accept", "usb0"]).exits(2).complains("--accept interface:usb0");
    net.filterd(["reload", "--accept", "list:usb0"]).exits(7).complains("usb0 is not filtered");
    net.filterd(["reload", "--accept", "interface:usb0"]).succeeds();
    net.filterd(["reload", "--accept", "eth0"]).succeeds().complains("eth0 exists");
    net.filterd(["status"]).succeeds();
    net.expect(ATTACKER).dropped();
}

#[test]
fn failed_start_detaches_nothing() {
    let mut net = Net::with_links(2);
    net.start(ONE);
    net.end(Signal::SIGKILL);
    let _foreign = ForeignProgram::attach(net.host(), "eth1");
    let pins = net.home().pins().display().to_string();
    let other = "interfaces: [eth1]\nmode: native\nblock: [203.0.113.7]";
    net.another_filterd_with(other, &["--pin-dir", &pins]).exits(8).complains("eth1 already has");
    net.expect(ATTACKER).dropped();
}

#[test]
fn interface_renamed_offline_stays_filtered() {
    let mut net = Net::with_links(2);
    net.start(BOTH);
    let before = net.attached("eth1").expect("attached");
    net.end(Signal::SIGKILL);
    rename(&net, "eth1", "lan0");
    net.start(BOTH);
    net.filterd(["status"]).succeeds().says("its name is now lan0");
    net.filterd(["add", BYSTANDER, "--json"]).succeeds().is_silent_about("except");
    assert_eq!(net.attached("lan0").expect("attached"), before, "nobody has touched the interface");
    net.expect_each([ATTACKER, BYSTANDER]).on("eth1").dropped();
    // The configuration follows the name, at a reload as well as at a start.
    net.configure("interfaces: [eth0, lan0]\nblock: [203.0.113.7]");
    net.filterd(["reload", "--json"]).succeeds().is_silent_about("attached").is_silent_about("detached");
    net.filterd(["status", "--json"]).succeeds().has(is_filtered(&net, "lan0")).is_silent_about("eth1");
    net.end(Signal::SIGKILL);
    rename(&net, "lan0", "wan0");
    net.start("interfaces: [eth0, wan0]\nblock: [203.0.113.7]");
    net.filterd(["status", "--json"]).succeeds().has(is_filtered(&net, "wan0")).is_silent_about("lan0");
    assert_eq!(net.attached("wan0").expect("attached"), before, "nobody has touched the interface");
    net.expect_each([ATTACKER, BYSTANDER]).on("eth1").dropped();
}

#[test]
fn interface_renamed_and_moved_offline_stays_filtered() {
    let mut net = Net::with_links(2);
    if net.tc_mode() == "clsact" {
        println!(
            "SKIPPED moves between namespaces: the kernel removes filters of clsact there (links of TCX stay, Linux 6.6)"
        );
        return;
    }
    net.start(BOTH);
    net.end(Signal::SIGKILL);
    let peer = net.peer().name().to_owned();
    net.host()
        .ip_all(&format!("link set eth1 down\nlink set eth1 name moved\nlink set moved netns {peer}\n"));
    let is_filtered = |net: &Net| net.peer().attached("moved").is_some();
    assert!(is_filtered(&net));
    net.start(BOTH);
    net.filterd(["status", "--json"])
        .succeeds()
        .has(json!({"interfaces": [{"name": "eth1", "mode": net.tc_mode()}]}))
        .says("it was moved to another network namespace");
    assert!(is_filtered(&net));
    // It is nobody's any more, and everything else is filtered.
    net.configure(ONE);
    net.filterd(["reload", "--json"]).succeeds().has(json!({"detached": ["eth1"]}));
    assert!(!is_filtered(&net));
}

#[test]
fn take_over_with_wrong_name_detaches_nothing() {
    let mut net = Net::with_links(2);
    net.start(BOTH);
    let misspelt = "interfaces: [eth0, ehh1]\nblock: [203.0.113.7]";
    let reply = net.failing_succession(misspelt, &[]).exits(3);
    reply
        .complains("there is no interface ehh1, and this configuration does not list eth1, which is filtered")
        .complains("the running filterd continues");
    for interface in ["eth0", "eth1"] {
        net.expect(ATTACKER).on(interface).dropped();
    }
    net.filterd(["add", BYSTANDER]).succeeds();
    net.succeed(ONE);
    net.wait_for_log("eth1 detached");
    assert_eq!(net.attached("eth1"), None);
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    net.filterd(["status"]).succeeds();
}

#[test]
fn take_over_follows_renamed_interface_and_counters() {
    let mut net = Net::with_links(2);
    net.start(BOTH);
    net.host().ip("link del eth1");
    net.wait_for_log("eth1 disappeared");
    net.host().ip("link add eth1 type veth peer name other");
    net.wait_for_log("eth1 attached after a gap");
    rename(&net, "eth0", "lan0");
    let named = "interfaces: [lan0, eth1]\nblock: [203.0.113.7]";
    net.succeed(named);
    net.filterd(["status", "--json"])
        .succeeds()
        .has(is_filtered(&net, "lan0"))
        .has(json!({"interfaces": [{"gaps": 1}]}));
    net.expect(ATTACKER).dropped();
}

#[test]
fn renamed_interface_stays_filtered_until_reload() {
    let mut net = Net::with_links(2);
    net.start(ONE);
    net.end(Signal::SIGKILL);
    rename(&net, "eth0", "old0");
    rename(&net, "eth1", "eth0");
    net.start(ONE);
    both_are_filtered(&net);
    // By now its pin has its new name; what it was called is known all the same.
    net.end(Signal::SIGKILL);
    net.start(ONE);
    both_are_filtered(&net);
    net.succeed(ONE);
    both_are_filtered(&net);
    let reloaded = net.filterd(["reload", "--json"]).succeeds().json();
    assert_eq!(reloaded["detached"], json!(["old0"]), "{reloaded}");
    net.filterd(["status", "--json"]).succeeds().is_silent_about("old0");
    net.stop();
    assert!(!net.home().pins().exists(), "nothing is left of it");
}

#[test]
fn interface_that_lost_its_name_survives_crash() {
    let mut net = Net::with_links(2);
    net.start(ONE);
    rename(&net, "eth0", "old0");
    rename(&net, "eth1", "eth0");
    net.wait_for_log("eth0 was renamed to old0 and is still filtered");
    net.end(Signal::SIGKILL);
    net.start(ONE);
    both_are_filtered(&net);
    // Nobody names either of its names: it is held back for nothing, and goes.
    rename(&net, "eth0", "wan0");
    net.end(Signal::SIGKILL);
    net.start("interfaces: [wan0]\nblock: [203.0.113.7]");
    net.wait_for_log("old0 detached");
    net.expect(ATTACKER).passes();
}

/// `eth0` is called `old0` now, and `eth1` is called `eth0`.
#[track_caller]
fn both_are_filtered(net: &Net) {
    let told = "its name was eth0; it is filtered until the next `filterd reload`";
    net.filterd(["status"]).succeeds().says(told);
    for interface in ["eth0", "eth1"] {
        net.expect(ATTACKER).on(interface).dropped();
        net.expect(BYSTANDER).on(interface).passes();
    }
}

#[test]
fn start_reports_unfiltered_interfaces_without_blame() {
    let mut net = Net::with_links(2);
    net.start(BOTH);
    net.end(Signal::SIGKILL);
    let pins = net.home().pins().to_owned();
    fs::remove_file(pins.join("links/eth1")).expect("it is ours");
    net.expect(ATTACKER).on("eth1").then_within(Duration::from_secs(30)).passes();
    net.start(BOTH);
    net.wait_for_log("eth1 was not filtered for an unknown time");
    let log = net.daemon().log();
    assert!(!log.contains("eth0 was not filtered"), "{log}");
    net.end(Signal::SIGKILL);
    fs::remove_dir_all(pins.join("tables")).expect("it is ours");
    fs::remove_file(pins.join("root-tc")).expect("it is ours");
    net.start(BOTH);
    net.wait_for_log("no root program was pinned beside this link");
    let log = net.daemon().log();
    assert!(!log.contains("another process"), "{log}");
    assert_eq!(log.matches("was not filtered for an unknown time").count(), 1, "of the start before: {log}");
    for interface in ["eth0", "eth1"] {
        net.expect(ATTACKER).on(interface).dropped();
    }
}

fn rename(net: &Net, from: &str, to: &str) {
    net.host().ip_all(&format!("link set {from} down\nlink set {from} name {to}\n"));
    net.raise(&[to]);
}
