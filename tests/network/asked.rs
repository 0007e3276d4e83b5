//! `filterd test`: of an address or a prefix, what the wire does, why, and what would have to be removed.

use std::time::Duration;

use harness::{ATTACKER, Net};

/// So long something may take that happens by itself.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_prefix_is_dropped_as_a_whole_in_part_or_not_at_all() {
    let net = Net::with_filterd("block: [203.0.113.0/25, 198.51.100.0/24, '2001:db8:bad::/48']");
    let verdict = |target: &str| {
        let tested = net.filterd(["test", target, "--json"]).json()["tested"][0].clone();
        assert!(tested["disagrees"].is_null(), "{tested}");
        (tested["dropped"] == true, tested["partly"] == true)
    };
    assert_eq!(verdict("203.0.113.0/24"), (false, true));
    assert_eq!(verdict("203.0.113.0/26"), (true, false));
    assert_eq!(verdict("203.0.113.128/25"), (false, false));
    assert_eq!(verdict("2001:db8::/32"), (false, true));
    net.filterd(["add", "203.0.113.128/25"]).succeeds();
    assert_eq!(verdict("203.0.113.0/24"), (true, false), "by two entries together");
    net.filterd(["test", "203.0.113.0/24"]).succeeds().says("DROPPED  by what blocks its parts");
    net.filterd(["allow", "add", "198.51.100.7"]).succeeds();
    assert_eq!(verdict("198.51.100.0/24"), (false, true));
    net.filterd(["test", "198.51.100.0/24"])
        .exits(1)
        .says("PARTLY")
        .says("a part allowed by 198.51.100.7 of");
    assert_eq!(verdict("198.51.100.7/32"), (false, false));
    assert_eq!(verdict("0.0.0.0/0"), (false, true));
}

/// Each line that `test` prints is a command or says what to edit; whoever does all of it has it pass.
#[test]
fn what_test_says_would_have_to_be_removed_unblocks_the_target() {
    let mut net = Net::new();
    net.file("drop.txt", "203.0.113.7\n");
    net.start("lists: [{name: drop, path: $HOME/drop.txt}]");
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    net.filterd(["add", "203.0.113.0/24"]).succeeds();
    let tested = net.filterd(["test", ATTACKER]).succeeds();
    let tested = tested.says(
        "or end what blocks it: `filterd remove 203.0.113.0/24 203.0.113.7`, which unblocks all of 203.0.113.0/24",
    );
    tested.says("take 203.0.113.7 out of ").says("drop.txt (list `drop`), then `filterd reload`");
    net.filterd(["remove", "203.0.113.0/24", ATTACKER]).exits(1);
    net.expect(ATTACKER).dropped();
    net.file("drop.txt", "# nobody\n");
    net.filterd(["reload", "--accept", "drop"]).succeeds();
    net.expect(ATTACKER).passes();
    net.filterd(["test", ATTACKER]).exits(1).says("no list names it").is_silent_about("unblock");
}

#[test]
fn targets_come_from_standard_input_and_a_wrong_line_is_told_beside_the_answers() {
    let net = Net::with_filterd("block: [203.0.113.0/24]");
    let ask = |lines: &str| net.filterd_reading(["test", "-"], lines);
    ask("203.0.113.7\n203.0.113.0-203.0.113.255 # all\n")
        .succeeds()
        .says("203.0.113.7     DROPPED")
        .says("203.0.113.0/24  DROPPED");
    ask("203.0.113.7\n192.0.2.99\n").exits(1);
    ask("").exits(2).complains("standard input names no target");
    ask("nonsense\n").exits(2).complains("stdin:1: error: `nonsense`");
    ask("203.0.113.7\nnonsense\n198.51.100.1\n")
        .exits(7)
        .says("203.0.113.7   DROPPED")
        .says("198.51.100.1  passes")
        .complains("stdin:2: error: `nonsense`");
}

#[test]
fn what_has_expired_of_a_file_that_names_it_still_is_said_to_be_over() {
    let mut net = Net::new();
    net.file("seen.txt", "203.0.113.0/24\n");
    net.start("lists: [{name: seen, path: $HOME/seen.txt, ttl: 1s}]");
    net.expect(ATTACKER).then_within(PATIENCE).passes();
    net.filterd(["test", ATTACKER])
        .exits(1)
        .says("list `seen` names 203.0.113.0/24 still, but its time there is over");
}
