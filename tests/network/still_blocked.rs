//! `remove` says "unblocked" only of what the next packet proves: what a wider target still holds is told, and is a no.

use harness::{ATTACKER, ATTACKER6, Net};
use serde_json::json;

#[test]
fn prefix_inside_wider_list_entry_stays_blocked() {
    let net = Net::with_filterd("block: [203.0.112.0/23, \"2001:db8:b00::/40\"]");
    for (prefix, wider, inside) in [
        ("203.0.113.0/24", "203.0.112.0/23", ATTACKER),
        ("2001:db8:bad::/48", "2001:db8:b00::/40", ATTACKER6),
    ] {
        net.filterd(["add", prefix]).succeeds();
        let held = json!({"target": prefix, "lists": ["config"], "by": [{"target": wider}]});
        net.filterd(["remove", prefix, "--json"]).exits(1).has(json!({"held": [held]}));
        net.expect(inside).dropped();
    }
}

#[test]
fn address_inside_prefix_of_list_stays_blocked() {
    let net = Net::with_filterd("block: [203.0.113.0/24]");
    net.filterd(["add", ATTACKER]).succeeds();
    let held = json!({"target": ATTACKER, "lists": ["config"], "by": [{"target": "203.0.113.0/24"}]});
    net.filterd(["remove", ATTACKER, "--json"]).exits(1).has(json!({"held": [held]}));
    net.expect(ATTACKER).dropped();
}

#[test]
fn wider_live_entry_blocks_until_removed() {
    let net = Net::with_filterd("");
    net.filterd(["add", "203.0.112.0/23", "--list", "ssh"]).succeeds();
    net.filterd(["add", "203.0.113.0/24"]).succeeds();
    net.filterd(["remove", "203.0.113.0/24", "--json"]).exits(1).has(json!({"held": [{"lists": ["ssh"]}]}));
    net.expect(ATTACKER).dropped();
    net.filterd(["remove", "203.0.112.0/23"]).exits(0);
    net.expect(ATTACKER).passes();
}

#[test]
fn entries_within_removed_prefix_are_reported_with_command() {
    let net = Net::with_filterd("block: [203.0.113.128/25]");
    net.filterd(["add", "203.0.113.0/24", ATTACKER]).succeeds();
    net.filterd(["remove", "203.0.113.0/24", "-q"]).exits(1);
    net.expect(ATTACKER).dropped();
    let held = json!({"target": "203.0.113.0/24", "within": 2});
    net.filterd(["remove", "203.0.113.0/24", "--json"]).exits(1).has(json!({"held": [held]}));
    let within = net.filterd(["list", "--within", "203.0.113.0/24"]).succeeds().output;
    net.filterd_reading(["remove", "-"], &within).exits(1);
    net.expect(ATTACKER).passes();
}

#[test]
fn target_without_other_list_is_unblocked() {
    let net = Net::with_filterd("block: [198.18.0.0/16]");
    net.filterd(["add", "203.0.113.0/24", ATTACKER6]).succeeds();
    net.filterd(["remove", "203.0.113.0/24", ATTACKER6]).exits(0);
    net.expect_each([ATTACKER, ATTACKER6]).passes();
}
