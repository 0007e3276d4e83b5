//! Prefixes and ranges: everything inside is dropped, the addresses beside it pass.

use harness::{ATTACKER, Net};

/// Each prefix with addresses at its two ends and with the neighbours on either side.
const PREFIXES: &[(&str, [&str; 2], [&str; 2])] = &[
    ("11.0.0.0/8", ["11.0.0.0", "11.255.255.255"], ["10.255.255.255", "12.0.0.0"]),
    ("100.64.0.0/10", ["100.64.0.0", "100.127.255.255"], ["100.63.255.255", "100.128.0.0"]),
    ("198.18.0.0/16", ["198.18.0.0", "198.18.255.255"], ["198.17.255.255", "198.19.0.0"]),
    ("198.51.100.0/24", ["198.51.100.0", "198.51.100.255"], ["198.51.99.255", "198.51.101.0"]),
    ("203.0.112.0/23", ["203.0.112.0", "203.0.113.255"], ["203.0.111.255", "203.0.114.0"]),
    ("203.0.113.128/25", ["203.0.113.128", "203.0.113.255"], ["203.0.113.127", "203.0.114.0"]),
    ("203.0.113.64/28", ["203.0.113.64", "203.0.113.79"], ["203.0.113.63", "203.0.113.80"]),
    ("203.0.113.6/31", ["203.0.113.6", "203.0.113.7"], ["203.0.113.5", "203.0.113.8"]),
    ("203.0.113.7/32", ["203.0.113.7", "203.0.113.7"], ["203.0.113.6", "203.0.113.8"]),
    ("2001:db8::/32", ["2001:db8::9", "2001:db8:ffff::"], ["2001:db7:ffff::", "2001:db9::"]),
    (
        "2001:db8:bad::/48",
        ["2001:db8:bad::", "2001:db8:bad:ffff:ffff::"],
        ["2001:db8:bac:ffff::", "2001:db8:bae::"],
    ),
    (
        "2001:db8:bad:40::/58",
        ["2001:db8:bad:40::", "2001:db8:bad:7f::1"],
        ["2001:db8:bad:3f::", "2001:db8:bad:80::"],
    ),
    (
        "2001:db8:bad:1::/64",
        ["2001:db8:bad:1::", "2001:db8:bad:1:ffff::"],
        ["2001:db8:bad::", "2001:db8:bad:2::"],
    ),
    ("2001:db8:bad::8/125", ["2001:db8:bad::8", "2001:db8:bad::f"], ["2001:db8:bad::7", "2001:db8:bad::10"]),
    ("2001:db8:bad::7/128", ["2001:db8:bad::7", "2001:db8:bad::7"], ["2001:db8:bad::6", "2001:db8:bad::8"]),
];

#[test]
fn prefix_drops_exactly_what_it_contains() {
    let net = Net::with_filterd("");
    for (prefix, inside, beside) in PREFIXES {
        net.filterd(["add", prefix]).succeeds();
        net.expect_each(inside).dropped();
        net.expect_each(beside).passes();
        net.filterd(["remove", prefix]).succeeds();
        net.expect_each(inside).passes();
    }
}

#[test]
fn many_lengths_hold_at_once() {
    let net = Net::with_filterd("");
    for (prefix, ..) in PREFIXES {
        net.filterd(["add", prefix]).succeeds();
    }
    for (_, inside, _) in PREFIXES {
        net.expect_each(inside).dropped();
    }
    net.expect_each(["10.255.255.255", "203.0.111.255", "198.51.99.255", "2001:db7:ffff::", "2001:db9::"])
        .passes();
}

#[test]
fn all_ipv4_can_be_blocked_and_unblocked() {
    let net = Net::with_filterd("");
    net.filterd(["add", "0.0.0.0/0", "--wide"]).succeeds();
    net.expect_each(["1.1.1.1", ATTACKER, "223.255.255.255"]).dropped();
    net.expect("2001:db8:bad::7").passes();
    net.filterd(["remove", "0.0.0.0/0"]).succeeds();
    net.expect_each(["1.1.1.1", ATTACKER, "223.255.255.255"]).passes();
}

#[test]
fn all_ipv6_can_be_blocked_and_unblocked() {
    let net = Net::with_filterd("");
    net.filterd(["add", "::/0", "--wide"]).succeeds();
    net.expect("2001:db8:bad::7").dropped();
    net.expect(ATTACKER).passes();
    net.filterd(["remove", "::/0"]).succeeds();
    net.expect("2001:db8:bad::7").passes();
}

#[test]
fn overlapping_prefixes_hold_until_last_one_leaves() {
    let nested = ["203.0.0.0/16", "203.0.113.0/24", "203.0.113.0/25", "203.0.113.6/31", ATTACKER];
    remove_in_both_orders(&nested, ATTACKER);
}

#[test]
fn the_same_holds_for_overlapping_ipv6_prefixes() {
    let attacker = "2001:db8:bad::7";
    let nested = ["2001:db8::/32", "2001:db8:bad::/48", "2001:db8:bad::/64", "2001:db8:bad::/120", attacker];
    remove_in_both_orders(&nested, attacker);
}

#[test]
fn wider_block_is_reported_with_unblocking_command() {
    let net = Net::with_filterd("");
    net.filterd(["add", "198.51.100.0/24"]).succeeds();
    for held in ["198.51.100.77", "198.51.100.64/26"] {
        let told = net.filterd(["remove", held]).exits(1);
        told.complains("198.51.100.0/24 of list `manual`").complains("`filterd remove 198.51.100.0/24`");
    }
    net.filterd(["remove", "198.51.100.0/24"]).succeeds();
    net.expect("198.51.100.77").passes();
}

#[test]
fn nested_prefix_of_other_list_stays_blocked() {
    let net = Net::with_filterd("block: [203.0.112.0/23]");
    net.filterd(["add", "203.0.113.0/24"]).succeeds();
    net.filterd(["remove", "203.0.113.0/24"]).exits(1).says("203.0.112.0/23 of list `config`").says("reload");
    net.expect(ATTACKER).dropped();
}

#[test]
fn prefix_inside_another_leaves_no_trace() {
    let net = Net::with_filterd("");
    net.filterd(["add", "203.0.113.0/24", "203.0.112.0/23"]).succeeds();
    net.filterd(["remove", "203.0.112.0/23"]).exits(1).says("203.0.113.0/24 of list `manual`");
    net.expect("203.0.112.1").passes();
    net.expect("203.0.113.1").dropped();
    net.filterd(["remove", "203.0.113.0/24"]).succeeds();
    net.expect("203.0.113.1").passes();
}

#[test]
fn range_blocks_first_to_last_address() {
    let net = Net::with_filterd("");
    for (range, inside, beside) in [
        ("203.0.113.3-203.0.113.9", ["203.0.113.3", "203.0.113.9"], ["203.0.113.2", "203.0.113.10"]),
        ("203.0.112.200-203.0.114.5", ["203.0.112.200", "203.0.114.5"], ["203.0.112.199", "203.0.114.6"]),
        ("203.0.113.7-203.0.113.7", ["203.0.113.7", "203.0.113.7"], ["203.0.113.6", "203.0.113.8"]),
        ("2001:db8::3-2001:db8::9", ["2001:db8::3", "2001:db8::9"], ["2001:db8::2", "2001:db8::a"]),
    ] {
        net.filterd(["add", range]).succeeds();
        net.expect_each(inside).dropped();
        net.expect_each(beside).passes();
        net.filterd(["remove", range]).succeeds();
        net.expect_each(inside).passes();
    }
}

/// Adds all, then removes one after the other: the widest first, then the narrowest first.
fn remove_in_both_orders(nested: &[&str; 5], inside_all: &str) {
    let net = Net::with_filterd("");
    let mut order = *nested;
    for _ in 0..2 {
        net.filterd(["add"].iter().chain(nested)).succeeds();
        for (removed, target) in order.iter().enumerate() {
            net.expect(inside_all).dropped();
            // What a wider one still blocks is a no, and so is that of which narrower ones block a part.
            let still_blocked = removed < 4;
            net.filterd(["remove", target]).exits(i32::from(still_blocked));
            assert_eq!(net.filterd(["list", "--json"]).succeeds().json_lines().len(), 4 - removed);
        }
        net.expect(inside_all).passes();
        order.reverse();
    }
}
