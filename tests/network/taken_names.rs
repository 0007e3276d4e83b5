//! A list name that live entries had and the configuration takes: what the journal knows survives, under the right name.

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net};
use nix::sys::signal::Signal;

const OWN: &str = "192.0.2.77";
const TAKEN: &str = "lists: [{name: drop, path: $HOME/drop.txt}]";

#[test]
fn after_the_advised_flush_and_a_restart_what_was_added_without_a_list_is_still_blocked() {
    let mut net = with_entries_of_drop();
    net.configure(TAKEN);
    net.filterd(["reload"]).exits(3).complains("filterd flush --list drop");
    net.filterd(["flush", "--list", "drop"]).succeeds();
    net.filterd(["reload"]).succeeds();
    for _ in 0..2 {
        net.end(Signal::SIGKILL);
        net.start(TAKEN);
        net.expect_each([OWN, ATTACKER6]).dropped();
        net.expect_each([ATTACKER, BYSTANDER]).passes();
    }
}

#[test]
fn entries_of_a_name_that_was_taken_while_filterd_was_away_stay_blocked_as_manual() {
    let mut net = with_entries_of_drop();
    net.end(Signal::SIGKILL);
    net.start(TAKEN);
    net.expect_each([OWN, ATTACKER, ATTACKER6]).dropped();
    net.filterd(["test", ATTACKER]).exits(0).says("manual");
}

#[test]
fn what_was_removed_from_a_list_that_had_to_make_way_stays_removed() {
    let mut net = with_entries_of_drop();
    net.end(Signal::SIGKILL);
    net.start(TAKEN);
    net.filterd(["remove", ATTACKER]).succeeds();
    net.expect(ATTACKER).passes();
    for config in [TAKEN, "", TAKEN] {
        net.end(Signal::SIGKILL);
        net.start(config);
        net.expect(ATTACKER).passes();
        net.expect_each([OWN, ATTACKER6]).dropped();
    }
}

#[test]
fn what_was_removed_from_one_of_two_lists_that_became_one_is_still_held_by_the_other() {
    let mut net = Net::new();
    net.file("drop.txt", "");
    net.start("");
    net.filterd(["add", ATTACKER]).succeeds();
    net.filterd(["add", ATTACKER, "--list", "drop"]).succeeds();
    net.filterd(["remove", ATTACKER, "--list", "drop"]);
    net.expect(ATTACKER).dropped();
    net.end(Signal::SIGKILL);
    net.start(TAKEN);
    net.expect(ATTACKER).dropped();
}

#[test]
fn a_flush_of_everything_survives_a_restart_under_any_names() {
    let mut net = with_entries_of_drop();
    net.end(Signal::SIGKILL);
    net.start(TAKEN);
    net.filterd(["flush"]).succeeds();
    for config in ["", TAKEN] {
        net.end(Signal::SIGKILL);
        net.start(config);
        net.expect_each([OWN, ATTACKER, ATTACKER6]).passes();
    }
}

/// Two entries of `manual`, and two of `drop`.
fn with_entries_of_drop() -> Net {
    let mut net = Net::new();
    net.file("drop.txt", "");
    net.start("");
    net.filterd(["add", OWN, ATTACKER6]).succeeds();
    net.filterd(["add", ATTACKER, BYSTANDER, "--list", "drop"]).succeeds();
    net
}
