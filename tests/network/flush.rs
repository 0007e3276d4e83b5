//! `filterd flush`: everything that was added live is let go, what the configuration wants stays.

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net};

#[test]
fn after_a_flush_everybody_added_live_passes() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, ATTACKER6, "192.0.2.64/26", "198.18.0.0/16"]).succeeds();
    net.filterd(["flush"]).succeeds();
    net.expect_each([ATTACKER, ATTACKER6, "192.0.2.100", "198.18.1.1"]).passes();
    net.filterd(["list"]).succeeds().is_silent_about(ATTACKER);
}

#[test]
fn flush_keeps_configured_entries() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.filterd(["add", ATTACKER, BYSTANDER]).succeeds();
    net.filterd(["flush"]).succeeds();
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
}

#[test]
fn flush_can_empty_one_list() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    net.filterd(["add", BYSTANDER, "--list", "web"]).succeeds();
    net.filterd(["flush", "--list", "ssh"]).succeeds();
    net.expect(ATTACKER).passes();
    net.expect(BYSTANDER).dropped();
}

#[test]
fn flushing_nothing_is_no_error() {
    let net = Net::with_filterd("");
    let reply = net.filterd(["flush", "--json"]).succeeds().json();
    assert_eq!(reply["left"], 0);
}
