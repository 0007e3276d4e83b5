//! `enforce: false`: what would be dropped is counted, and passes.

use harness::{ATTACKER, ATTACKER6, Frame, Net};
use nix::sys::signal::Signal;
use serde_json::json;

#[test]
fn without_enforce_listed_source_passes_and_counts() {
    let net = Net::with_filterd("enforce: false");
    net.filterd(["add", ATTACKER, ATTACKER6, "198.18.0.0/16", "2001:db8:b::/48"]).succeeds();
    for (source, reason) in [
        (ATTACKER, "ipv4_address"),
        ("198.18.1.1", "ipv4_prefix"),
        (ATTACKER6, "ipv6_other"),
        ("2001:db8:b::1", "ipv6_other"),
    ] {
        let before = net.spared(reason);
        net.expect(source).passes();
        net.expect(Frame::from(source).vlan(3)).passes();
        assert_eq!((net.spared(reason), net.counted(reason)), (before + 2, 0));
    }
}

#[test]
fn test_says_what_would_be_dropped() {
    let net = Net::with_filterd("enforce: false");
    let idle = "not_enforced";
    net.filterd(["add", ATTACKER, "--json"]).succeeds().has(json!({"idle": idle}));
    net.filterd(["test", ATTACKER, "--json"]).exits(1).has(json!({"tested": [{"idle": idle}]}));
    let status = net.filterd(["status", "--json"]).succeeds().json();
    assert_eq!(status["enforce"], false);
}

#[test]
pub(super) fn a_reload_switches_enforcing_on_and_off() {
    let net = Net::with_filterd("enforce: false\nblock: [203.0.113.7]");
    net.expect(ATTACKER).passes();
    net.configure("enforce: true\nblock: [203.0.113.7]");
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).dropped();
    net.configure("enforce: false\nblock: [203.0.113.7]");
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).passes();
}

/// FAULTS T4: what was dropped stays dropped, and what was spared stays spared, whatever is enforced later, by whom.
#[test]
fn later_enforcement_does_not_change_earlier_counts() {
    const ENFORCED: &str = "block: [203.0.113.7]";
    const COUNTED: &str = "enforce: false\nblock: [203.0.113.7]";
    let mut net = Net::with_filterd(ENFORCED);
    let both = |net: &Net| (net.counted("ipv4_address"), net.spared("ipv4_address"));
    net.expect_each([ATTACKER; 3]).dropped();
    net.configure(COUNTED);
    net.filterd(["reload"]).succeeds();
    assert_eq!(both(&net), (3, 0));
    net.expect_each([ATTACKER; 2]).passes();
    net.end(Signal::SIGKILL);
    net.start(ENFORCED);
    assert_eq!(both(&net), (3, 2));
    net.expect(ATTACKER).dropped();
    assert_eq!(both(&net), (4, 2));
}

/// As its help says: nothing is dropped anyway.
#[test]
fn a_pause_changes_nothing_where_nothing_is_enforced() {
    let net = Net::with_filterd("enforce: false\nblock: [203.0.113.7]");
    net.filterd(["pause", "1h"]).succeeds();
    net.filterd(["status", "--json"])
        .succeeds()
        .has(json!({"enforce": false}))
        .says("with `enforce: false` the pause changes nothing");
    // What is enforced during a pause is not dropped, which is another matter.
    net.configure("block: [203.0.113.7]");
    net.filterd(["reload"]).succeeds();
    net.filterd(["status", "--json"])
        .exits(7)
        .says("protection is paused until ")
        .is_silent_about("changes nothing");
}
