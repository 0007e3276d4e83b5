//! Several filterds on one machine.

use std::process::Command;

use harness::home::binary;
use harness::{ATTACKER, Daemon, Home, Net};

#[test]
fn filterds_in_different_namespaces_are_independent() {
    let left = Net::with_filterd("");
    let mut right = Net::with_filterd("");
    left.filterd(["add", ATTACKER]).succeeds();
    left.expect(ATTACKER).dropped();
    right.expect(ATTACKER).passes();
    right.filterd(["add", ATTACKER]).succeeds();
    left.filterd(["remove", ATTACKER]).succeeds();
    left.expect(ATTACKER).passes();
    right.expect(ATTACKER).dropped();
    right.stop();
    left.filterd(["add", ATTACKER]).succeeds();
    left.expect(ATTACKER).dropped();
}

#[test]
fn second_filterd_on_interface_is_refused() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    let there = net.attached("eth0").expect("the first one is there");
    let name = there["prog"]["name"].as_str().expect("programs have names").to_owned();
    let id = there["prog"]["id"].to_string();
    let told = net.another_filterd("").exits(6).complains("eth0").complains(&name).complains(&id);
    assert_eq!(told.complaint.matches("ERROR").count(), 1, "once is enough: {told}");
    assert_eq!(net.attached("eth0"), Some(there));
    net.expect(ATTACKER).dropped();
}

/// What came after it, a filterd may not ask for its name; it is known by its pins.
#[test]
fn reload_reports_owner_of_occupied_interface() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth0]");
    let other = Home::new();
    let mut command = Command::new(binary());
    command.args(other.daemon_arguments()).args(["--no-config", "--iface", "eth1"]);
    let daemon = net.host().entered(|| Daemon::start(&mut command, &other));
    net.configure("interfaces: [eth0, eth1]");
    net.filterd(["reload"])
        .exits(7)
        .complains(&format!("eth1 is already filtered by another filterd (process {}", daemon.id()))
        .complains(&format!("listens at {}", other.socket().display()))
        .complains("leave eth1 to that one, stop it")
        .is_silent_about("xdpdrv");
}
