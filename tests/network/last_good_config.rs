//! A filterd that starts and finds its configuration broken protects as it did last, and says so.

use std::fs;
use std::path::Path;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Daemon, Net, home};
use nix::sys::signal::Signal;

const BLOCKING: &str = "interfaces: [eth0]\nblock: [203.0.113.7]\nlists: [{name: drop, path: drop.txt}]\n";

#[test]
fn broken_configuration_is_replaced_by_last_good_copy() {
    let mut net = Net::new();
    net.file("drop.txt", "2001:db8:bad::7\n");
    net.start("interfaces: [eth0]");
    net.configure(BLOCKING);
    net.filterd(["reload"]).succeeds();
    net.end(Signal::SIGKILL);
    net.start("interfaces: [eth0]\nblock: [203.0.113.777]");
    // The list's path begins at the folder of the file, not at that of the copy.
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.expect(BYSTANDER).passes();
    // Whoever reads that at night learns how old it is.
    net.wait_for_log("its last good copy of 20");
    net.filterd(["status"])
        .exits(7)
        .says("its last good copy of 20")
        .says(" UTC is in force instead")
        .says("filterd.yaml:2:9")
        .says("filterd reload");
    // Of something broken no copy is made, however often it is read.
    net.filterd(["reload"]).exits(3);
    net.end(Signal::SIGKILL);
    net.start("");
    net.expect_each([ATTACKER, ATTACKER6]).passes();
    net.filterd(["status"]).succeeds();
}

#[test]
fn missing_configuration_is_replaced_by_last_good_copy() {
    let mut net = Net::with_filterd("block: [203.0.113.7]");
    let mut command = net.host().command(&home::binary().display().to_string());
    command.args(net.arguments("block: [203.0.113.7]"));
    net.end(Signal::SIGKILL);
    fs::remove_file(net.home().path("filterd.yaml")).expect("it is ours");
    let daemon = Daemon::start(&mut command, net.home());
    net.expect(ATTACKER).dropped();
    net.filterd(["status"]).exits(7).says("there is no such file");
    net.filterd(["reload"]).exits(3);
    net.expect(ATTACKER).dropped();
    drop(daemon);
}

#[test]
fn failed_start_prints_one_json_object() {
    let net = Net::new();
    let told = net.another_filterd_with("block: [203.0.113.777]", &["--json"]).exits(3);
    let told = told.complains("{\"time\":").json();
    assert_eq!((&told["version"], &told["error"]), (&1.into(), &"io.filterd.InvalidConfig".into()));
    let message = told["parameters"]["message"].as_str().expect("a message");
    assert!(message.contains("filterd.yaml:1:9"), "{message}");
}

#[test]
fn copy_of_another_configuration_is_not_used() {
    let mut net = Net::with_filterd("block: [203.0.113.7]");
    net.stop();
    let other = net.file("other.yaml", "block: [203.0.113.777]");
    let mut command = net.host().command(&home::binary().display().to_string());
    command.args(net.home().daemon_arguments()).args(["--iface", "eth0", "--config"]).arg(other);
    let mut daemon = Daemon::spawn(&mut command, net.home());
    daemon.forget_log();
    daemon.wait_for_log("of another file");
    assert_eq!(daemon.wait().code(), Some(3));
    assert_eq!(net.attached("eth0"), None);
}

#[test]
fn interface_argument_keeps_usual_configuration() {
    let net = Net::new();
    let etc = net.home().path("etc");
    fs::create_dir_all(etc.join("filterd")).expect("a home can be written");
    fs::write(etc.join("filterd/filterd.yaml"), "block: [203.0.113.7]").expect("a home can be written");
    fs::copy("/etc/passwd", etc.join("passwd")).expect("a home can be written");
    fs::copy("/etc/group", etc.join("group")).expect("a home can be written");
    let daemon = with_etc(&net, &etc, &["--iface", "eth0"]);
    net.expect(ATTACKER).dropped();
    net.filterd(["status"]).succeeds().says("config /etc/filterd/filterd.yaml");
    let log = daemon.log();
    let told = |line: &str| line.contains("/etc/filterd/filterd.yaml") && line.contains("eth0");
    assert!(log.lines().take(2).any(told), "{log}");
    daemon.end(Signal::SIGTERM);
    let _daemon = with_etc(&net, &etc, &["--iface", "eth0", "--no-config"]);
    net.expect(ATTACKER).passes();
    net.filterd(["status"]).succeeds().says("config none");
}

/// A filterd for which this is /etc, and for nobody else.
fn with_etc(net: &Net, etc: &Path, words: &[&str]) -> Daemon {
    let mut command = net.host().command("unshare");
    command
        .args(["--mount", "sh", "-c", "mount --bind \"$0\" /etc && exec \"$@\""])
        .arg(etc)
        .arg(home::binary());
    Daemon::start(command.args(net.home().daemon_arguments()).args(words), net.home())
}
