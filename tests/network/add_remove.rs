//! `filterd add` and `filterd remove`: what is said is so for the very next packet.

use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Net};

#[test]
pub(super) fn add_and_remove_affect_the_next_packet() {
    let net = Net::with_filterd("");
    for _ in 0..20 {
        net.expect(ATTACKER).passes();
        net.filterd(["add", ATTACKER]).succeeds();
        net.expect(ATTACKER).dropped();
        net.filterd(["remove", ATTACKER]).succeeds();
    }
    net.expect(ATTACKER).passes();
}

#[test]
pub(super) fn the_same_holds_for_ipv6() {
    let net = Net::with_filterd("");
    for _ in 0..20 {
        net.expect(ATTACKER6).passes();
        net.filterd(["add", ATTACKER6]).succeeds();
        net.expect(ATTACKER6).dropped();
        net.filterd(["remove", ATTACKER6]).succeeds();
    }
    net.expect(ATTACKER6).passes();
}

#[test]
fn unlisted_sources_pass() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, ATTACKER6]).succeeds();
    net.expect_each(["203.0.113.6", "203.0.113.8", BYSTANDER]).passes();
    net.expect_each(["2001:db8:bad::6", "2001:db8:bad::8", BYSTANDER6]).passes();
}

#[test]
fn second_add_needs_no_second_remove() {
    let net = Net::with_filterd("");
    let first = net.filterd(["add", ATTACKER, "--json"]).succeeds().json();
    let second = net.filterd(["add", ATTACKER, "--json"]).succeeds().json();
    assert_eq!((&first["entered"], &second["entered"]), (&1.into(), &0.into()));
    net.expect(ATTACKER).dropped();
    net.filterd(["remove", ATTACKER]).succeeds();
    net.expect(ATTACKER).passes();
}

#[test]
fn removing_what_is_not_there_is_no_error() {
    let net = Net::with_filterd("");
    let reply = net.filterd(["remove", ATTACKER, "--json"]).succeeds().json();
    assert_eq!(reply["left"], 0);
    net.expect(ATTACKER).passes();
}

#[test]
fn strict_makes_no_change_an_error() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--strict"]).succeeds();
    net.filterd(["add", ATTACKER, "--strict"]).exits(4);
    net.expect(ATTACKER).dropped();
    net.filterd(["remove", ATTACKER, "--strict"]).succeeds();
    net.filterd(["remove", ATTACKER, "--strict"]).exits(4);
    net.expect(ATTACKER).passes();
}

#[test]
fn del_is_another_name_for_remove() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER]).succeeds();
    net.filterd(["del", ATTACKER]).succeeds();
    net.expect(ATTACKER).passes();
}

#[test]
fn several_targets_go_in_one_command() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, ATTACKER6, "192.0.2.64/26"]).succeeds();
    net.expect_each([ATTACKER, ATTACKER6, "192.0.2.100"]).dropped();
    net.filterd(["remove", ATTACKER, "192.0.2.64/26"]).succeeds();
    net.expect(ATTACKER).passes();
    net.expect("192.0.2.100").passes();
    net.expect(ATTACKER6).dropped();
}

#[test]
fn targets_come_from_standard_input() {
    let net = Net::with_filterd("");
    let input = "203.0.113.7\n\n# a comment\n2001:db8:bad::7 ; another\n192.0.2.64/26\n";
    net.filterd_reading(["add", "-"], input).succeeds();
    net.expect_each([ATTACKER, ATTACKER6, "192.0.2.100"]).dropped();
    net.filterd_reading(["remove", "-"], input).succeeds();
    net.expect_each([ATTACKER, ATTACKER6, "192.0.2.100"]).passes();
}

#[test]
fn target_of_two_lists_needs_two_removes() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    net.filterd(["add", ATTACKER, "--list", "web"]).succeeds();
    net.filterd(["remove", ATTACKER, "--list", "ssh"]).succeeds();
    net.expect(ATTACKER).dropped();
    net.filterd(["remove", ATTACKER, "--list", "web"]).succeeds();
    net.expect(ATTACKER).passes();
}

#[test]
fn remove_without_list_affects_every_live_list() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    net.filterd(["add", ATTACKER]).succeeds();
    net.filterd(["remove", ATTACKER]).succeeds();
    net.expect(ATTACKER).passes();
}

#[test]
fn quiet_says_nothing_when_all_is_well() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "-q"]).succeeds().says_nothing();
    net.filterd(["remove", ATTACKER, "-q"]).succeeds().says_nothing();
}
