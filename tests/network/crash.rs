//! A filterd that dies leaves its filter filtering, and the next one takes it over without a gap.

use harness::limited::LimitedCommand;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use harness::{ATTACKER, BYSTANDER, Net, Reply, home};
use nix::sys::signal::Signal;

const BLOCKING: &str = "block: [203.0.113.7]";

const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_killed_filterd_leaves_its_filter_filtering() {
    let mut net = Net::with_filterd(BLOCKING);
    net.filterd(["add", "192.0.2.77"]).succeeds();
    net.end(Signal::SIGKILL);
    net.expect_each([ATTACKER, "192.0.2.77"]).dropped();
    net.expect(BYSTANDER).passes();
}

/// Packets have passed, and nothing of it can be seen any more once it is filtered again.
#[test]
fn start_without_old_filter_reports_the_gap() {
    const GAP: &str = "nothing was filtered until this filterd started";
    let mut net = Net::with_filterd(BLOCKING);
    net.end(Signal::SIGKILL);
    fs::remove_dir_all(net.home().pins()).expect("they are ours");
    // The broker sees a little later that its daemon is gone, and has the link until then.
    net.expect(ATTACKER).then_within(PATIENCE).passes();
    net.start(BLOCKING);
    net.expect(ATTACKER).dropped();
    // That was then: nobody passes now.
    let told = net.filterd(["status"]).exits(7).says(GAP).says("end this notice");
    assert!(told.output.starts_with("Protected as configured"), "{told}");
    // A timer that reloads has not looked at it.
    net.filterd(["reload"]).succeeds();
    net.filterd(["status"]).exits(7).says(GAP);
    net.filterd(["ack"]).succeeds().says(GAP);
    net.filterd(["status"]).succeeds().is_silent_about(GAP);
    // One that was taken off, one that is still there, and one that its daemon has taken off itself are no gap.
    net.end(Signal::SIGKILL);
    let pins = net.home().pins().display().to_string();
    net.filterd(["detach", "--pin-dir", &pins]).succeeds();
    net.start(BLOCKING);
    net.filterd(["status"]).succeeds();
    net.end(Signal::SIGKILL);
    net.start(BLOCKING);
    net.filterd(["status"]).succeeds();
    net.stop();
    net.start(BLOCKING);
    net.filterd(["status"]).succeeds();
}

/// `ip netns exec` makes a mount namespace, and the pins lie in a file system of its own.
#[test]
fn short_lived_pins_are_reported() {
    const PRIVATE: &str = "if filterd crashed, the filter would end with it";
    let mut net = Net::new();
    let name = net.host().name().to_owned();
    let inside = ["ip", "netns", "exec", &name];
    let cure = format!("nsenter --net=/run/netns/{name} filterd");
    let mut doctor = Command::new(inside[0]);
    doctor.args(&inside[1..]).arg(home::binary()).args([
        "doctor",
        "--no-config",
        "--iface",
        "eth0",
        "--pin-dir",
    ]);
    Reply::of(doctor.arg(net.home().pins()))
        .says("warn  bpffs")
        .says("a crash would remove the filter")
        .says(&cure);
    net.starts_through(inside);
    net.start(BLOCKING);
    net.wait_for_log(PRIVATE);
    net.filterd(["status"]).exits(7).says(PRIVATE).says(&cure);
    net.expect(ATTACKER).dropped();
    net.end(Signal::SIGKILL);
    net.expect(ATTACKER).then_within(PATIENCE).passes();
    net.starts_through([]);
    net.start(BLOCKING);
    net.filterd(["status"]).exits(7).is_silent_about(PRIVATE);
    // What is told is the gap.
    net.filterd(["ack"]).succeeds();
    net.filterd(["status"]).succeeds();
    net.end(Signal::SIGKILL);
    net.expect(ATTACKER).dropped();
}

#[test]
pub(super) fn next_daemon_takes_over_the_link() {
    let mut net = Net::with_filterd(BLOCKING);
    let before = net.attached("eth0").expect("attached");
    net.expect(ATTACKER).dropped();
    let counted = net.counted("ipv4_address");
    net.end(Signal::SIGKILL);
    net.expect(ATTACKER).dropped();
    net.start(BLOCKING);
    assert_eq!(net.attached("eth0").expect("attached"), before, "nobody has touched the interface");
    net.wait_for_log("is still attached from an earlier filterd");
    assert!(net.counted("ipv4_address") > counted, "the counters went on");
    net.expect(ATTACKER).dropped();
    net.stop();
    assert_eq!(net.attached("eth0"), None);
}

#[test]
fn targets_removed_meanwhile_pass_again() {
    let mut net = Net::with_filterd(BLOCKING);
    net.end(Signal::SIGKILL);
    net.start("block: [192.0.2.77]");
    net.expect(ATTACKER).passes();
    net.expect("192.0.2.77").dropped();
}

#[test]
fn bad_configuration_keeps_old_filter() {
    let mut net = Net::with_filterd(BLOCKING);
    net.end(Signal::SIGKILL);
    let pins = net.home().pins().display().to_string();
    net.another_filterd_with("block: [nonsense]", &["--pin-dir", &pins]).exits(3);
    net.expect(ATTACKER).dropped();
}

#[test]
fn pins_that_others_could_have_changed_are_refused() {
    let mut net = Net::with_filterd(BLOCKING);
    net.end(Signal::SIGKILL);
    let pins = net.home().pins().to_owned();
    let directory = pins.display().to_string();
    let refused = |net: &Net, path: &str, why: &str| {
        let reply = net.another_filterd_with(BLOCKING, &["--pin-dir", &directory]);
        let reply = reply.exits(8).complains("is not safe to use").complains(why);
        // What `detach` itself does not believe, it does not take away.
        let is_theirs = why.contains("belongs to");
        reply.complains(match (path.is_empty(), is_theirs) {
            (true, true) => "mv -T",
            (true, false) => "chmod 0700",
            (false, _) => "filterd detach",
        });
        net.expect(ATTACKER).dropped();
    };
    let mode = |path: &str, mode| {
        fs::set_permissions(pins.join(path), Permissions::from_mode(mode)).expect("root may");
    };
    for (path, usual) in [
        ("root-tc", 0o600),
        ("next-tc", 0o600),
        ("counters", 0o600),
        ("links/eth0", 0o600),
        ("links", 0o700),
        ("", 0o700),
    ] {
        mode(path, usual | 0o020);
        refused(&net, path, "other users may access it");
        mode(path, usual);
        chown(pins.join(path), Some(65534), None).expect("root may");
        refused(&net, path, "it belongs to user nobody (uid 65534)");
        chown(pins.join(path), Some(0), None).expect("root may");
    }
    net.start(BLOCKING);
    net.expect(ATTACKER).dropped();
}

#[test]
fn root_program_upgrade_leaves_no_gap() {
    let mut net = Net::with_filterd(BLOCKING);
    let before = net.attached("eth0").expect("attached")["prog"]["id"].clone();
    net.end(Signal::SIGKILL);
    let pins = fs::read_dir(net.home().pins()).expect("pins").flatten().map(|entry| entry.path());
    let is_version = |path: &PathBuf| path.display().to_string().contains("/version-");
    let version = pins.filter(is_version).find(|path| path.display().to_string().ends_with("-tc"));
    let version = version.expect("it says which version it is of");
    fs::rename(&version, net.home().pins().join("version-0-tc")).expect("root may");
    net.start(BLOCKING);
    let after = net.attached("eth0").expect("attached")["prog"]["id"].clone();
    assert_ne!(before, after, "the link has another program now");
    net.wait_for_log("replaced without a gap");
    net.expect(ATTACKER).dropped();
    net.filterd(["add", BYSTANDER]).succeeds();
    net.expect(BYSTANDER).dropped();
    net.end(Signal::SIGKILL);
    net.start(BLOCKING);
    assert_eq!(net.attached("eth0").expect("attached")["prog"]["id"], after, "and it is used as it is");
    net.stop();
    assert_eq!(net.attached("eth0"), None);
}

#[test]
fn counters_of_another_version_restart() {
    let mut net = Net::with_filterd(BLOCKING);
    net.end(Signal::SIGKILL);
    let counters = net.home().pins().join("counters");
    fs::remove_file(&counters).expect("root may");
    let made = net
        .host()
        .command("bpftool")
        .args(["map", "create"])
        .arg(&counters)
        .args(["type", "percpu_array", "key", "4", "value", "8", "entries", "3", "name", "COUNTERS"])
        .limited_status();
    assert!(made.expect("bpftool is there").success());
    net.start(BLOCKING);
    net.expect(ATTACKER).dropped();
    assert_eq!(net.counted("ipv4_address"), 1);
}

#[test]
fn filterd_takes_over_from_another() {
    let mut net = Net::with_filterd(BLOCKING);
    net.filterd(["add", "192.0.2.77"]).succeeds();
    let before = net.attached("eth0").expect("attached");
    let first = net.daemon().id();
    net.succeed(BLOCKING);
    assert_ne!(net.daemon().id(), first);
    assert_eq!(net.attached("eth0").expect("attached"), before, "nobody has touched the interface");
    net.expect_each([ATTACKER, "192.0.2.77"]).dropped();
    net.filterd(["remove", "192.0.2.77"]).succeeds();
    net.expect("192.0.2.77").passes();
}

#[test]
fn without_a_word_it_does_not() {
    let net = Net::with_filterd(BLOCKING);
    let socket = net.home().socket().display().to_string();
    net.another_filterd_with(BLOCKING, &["--socket", &socket]).exits(6).complains("--take-over");
    net.filterd(["ping"]).succeeds();
}

#[test]
pub(super) fn kept_filter_outlives_its_daemon() {
    let keeping = "block: [203.0.113.7]\non_exit: keep";
    let mut net = Net::with_filterd(keeping);
    net.stop();
    net.expect(ATTACKER).dropped();
    net.start(keeping);
    net.expect(ATTACKER).dropped();
}

#[test]
fn detach_removes_what_is_left_behind() {
    let mut net = Net::with_filterd("block: [203.0.113.7]\non_exit: keep");
    let pins = net.home().pins().display().to_string();
    net.filterd(["detach", "--pin-dir", &pins]).exits(5).complains("in use by another filterd");
    net.expect(ATTACKER).dropped();
    net.stop();
    net.filterd(["detach", "--pin-dir", &pins]).succeeds().says("eth0: detached");
    net.expect(ATTACKER).passes();
    assert_eq!(net.attached("eth0"), None);
    assert!(!net.home().pins().exists());
    net.filterd(["detach", "--pin-dir", &pins]).succeeds().says("nothing to detach");
}
