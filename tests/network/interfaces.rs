//! Several interfaces under one filterd.

use harness::{ATTACKER, BYSTANDER, Net};

#[test]
fn one_block_holds_on_every_interface() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth0, eth1]");
    net.filterd(["add", ATTACKER]).succeeds();
    for interface in ["eth0", "eth1"] {
        net.expect(ATTACKER).on(interface).dropped();
        net.expect(BYSTANDER).on(interface).passes();
    }
    net.filterd(["remove", ATTACKER]).succeeds();
    for interface in ["eth0", "eth1"] {
        net.expect(ATTACKER).on(interface).passes();
    }
}

#[test]
fn interfaces_can_be_named_on_the_command_line() {
    let mut net = Net::with_links(2);
    net.start_with("block: [203.0.113.7]", &["--iface", "eth1"]);
    net.expect(ATTACKER).on("eth0").dropped();
    net.expect(ATTACKER).on("eth1").dropped();
}

#[test]
fn an_interface_that_was_not_named_is_left_alone() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth1]\nblock: [203.0.113.7]");
    net.expect(ATTACKER).on("eth0").passes();
    net.expect(ATTACKER).on("eth1").dropped();
    assert_eq!(net.attached("eth0"), None);
}

#[test]
fn both_are_let_go_at_the_end() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth0, eth1]\nblock: [203.0.113.7]");
    net.stop();
    for interface in ["eth0", "eth1"] {
        assert_eq!(net.attached(interface), None);
        net.expect(ATTACKER).on(interface).passes();
    }
}

#[test]
fn status_names_each_with_its_mode() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth0, eth1]");
    let status = net.filterd(["status", "--json"]).succeeds().json();
    let interfaces = status["interfaces"].as_array().expect("a list");
    let named: Vec<_> = interfaces.iter().map(|one| one["name"].as_str().expect("a name")).collect();
    assert_eq!(named, ["eth0", "eth1"]);
    assert!(interfaces.iter().all(|one| one["mode"] == "native"), "{status}");
}

#[test]
fn an_interface_that_does_not_exist_is_told_by_name() {
    let net = Net::new();
    net.another_filterd("interfaces: [eth9]").exits(8).complains("eth9");
}

#[test]
fn an_interface_that_goes_down_and_up_is_still_filtered() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.host().ip("link set eth0 down");
    net.host().ip("link set eth0 up");
    net.expect(BYSTANDER).passes();
    net.expect(ATTACKER).dropped();
}
