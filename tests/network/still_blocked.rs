//! `remove` says "unblocked" only of what the next packet proves: what a wider target still holds is told, and is a no.

use harness::{ATTACKER, ATTACKER6, Net};

#[test]
fn a_prefix_inside_a_wider_one_of_another_list_is_still_blocked() {
    let net = Net::with_filterd("block: [203.0.112.0/23, \"2001:db8:b00::/40\"]");
    for (prefix, wider, inside) in [
        ("203.0.113.0/24", "203.0.112.0/23", ATTACKER),
        ("2001:db8:bad::/48", "2001:db8:b00::/40", ATTACKER6),
    ] {
        net.filterd(["add", prefix]).succeeds();
        let told = net.filterd(["remove", prefix]).exits(1).says("still blocked").says("config");
        assert!(told.output.contains(wider) || told.complaint.contains(wider), "it names what holds: {told}");
        net.expect(inside).dropped();
        let told = net.filterd(["remove", prefix, "--json"]).exits(1).json();
        assert_eq!(told["held"][0]["target"], prefix);
    }
}

#[test]
fn an_address_inside_a_prefix_of_another_list_is_still_blocked() {
    let net = Net::with_filterd("block: [203.0.113.0/24]");
    net.filterd(["add", ATTACKER]).succeeds();
    let told = net.filterd(["remove", ATTACKER]).exits(1).says("still blocked").says("config");
    assert!(told.output.contains("203.0.113.0/24"), "it names what holds: {told}");
    net.expect(ATTACKER).dropped();
}

#[test]
fn what_a_wider_live_entry_holds_is_still_blocked_until_that_is_removed() {
    let net = Net::with_filterd("");
    net.filterd(["add", "203.0.112.0/23", "--list", "ssh"]).succeeds();
    net.filterd(["add", "203.0.113.0/24"]).succeeds();
    net.filterd(["remove", "203.0.113.0/24"]).exits(1).says("ssh");
    net.expect(ATTACKER).dropped();
    net.filterd(["remove", "203.0.112.0/23"]).exits(0).is_silent_about("still blocked");
    net.expect(ATTACKER).passes();
}

#[test]
fn what_stays_blocked_within_a_removed_prefix_is_told_with_the_command_that_removes_it() {
    let net = Net::with_filterd("block: [203.0.113.128/25]");
    net.filterd(["add", "203.0.113.0/24", ATTACKER]).succeeds();
    net.filterd(["remove", "203.0.113.0/24", "-q"]).exits(1);
    net.expect(ATTACKER).dropped();
    let told = net.filterd(["remove", "203.0.113.0/24"]).exits(1);
    told.complains("2 entries within 203.0.113.0/24 are still blocked")
        .complains(&format!("`filterd remove {ATTACKER}`"))
        .complains("list `config` comes from the configuration");
    let told = net.filterd(["remove", "203.0.113.0/24", "--json"]).exits(1).json();
    assert_eq!(told["held"][0]["within"], 2);
    let within = net.filterd(["list", "--within", "203.0.113.0/24"]).succeeds().output;
    net.filterd_reading(["remove", "-"], &within).exits(1);
    net.expect(ATTACKER).passes();
}

#[test]
fn what_nothing_else_holds_is_unblocked() {
    let net = Net::with_filterd("block: [198.18.0.0/16]");
    net.filterd(["add", "203.0.113.0/24", ATTACKER6]).succeeds();
    net.filterd(["remove", "203.0.113.0/24", ATTACKER6]).exits(0).is_silent_about("still blocked");
    net.expect_each([ATTACKER, ATTACKER6]).passes();
}
