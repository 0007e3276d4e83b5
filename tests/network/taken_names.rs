//! A list name that live entries had and the configuration takes: what the journal knows survives, under the right name.

use std::fs;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Daemon, Net, home};
use nix::sys::signal::Signal;

const OWN: &str = "192.0.2.77";
const TAKEN: &str = "lists: [{name: drop, path: $HOME/drop.txt}]";

#[test]
fn default_list_survives_advised_flush_and_restart() {
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

/// A start is as strict as the reload that refused it.
#[test]
fn start_refuses_the_name_of_a_live_list() {
    let mut net = with_entries_of_drop();
    net.configure(TAKEN);
    net.filterd(["diff"]).exits(3);
    net.filterd(["reload"]).exits(3);
    net.end(Signal::SIGKILL);
    net.start(TAKEN);
    net.expect_each([OWN, ATTACKER, ATTACKER6, BYSTANDER]).dropped();
    net.filterd(["status"])
        .exits(7)
        .says("its last good copy of 20")
        .says("list \"drop\" has 2 entries that were added live")
        .says("filterd flush --list drop")
        .says("filterd reload");
    // As fail2ban lifts a ban.
    net.filterd(["remove", ATTACKER, "--list", "drop"]).succeeds();
    net.expect(ATTACKER).passes();
    net.filterd(["flush", "--list", "drop"]).succeeds();
    net.filterd(["reload"]).succeeds();
    net.filterd(["status"]).succeeds();
    net.expect_each([OWN, ATTACKER6]).dropped();
    net.expect_each([ATTACKER, BYSTANDER]).passes();
}

#[test]
fn start_refuses_to_leave_nothing_to_filter() {
    let mut net = Net::with_filterd("interfaces: [eth0]\nblock: [203.0.113.7]");
    net.end(Signal::SIGKILL);
    net.start("interfaces: []");
    net.expect(ATTACKER).dropped();
    net.filterd(["status"]).exits(7).says("no interface to filter").says("its last good copy of 20");
}

#[test]
fn newcomer_refuses_the_name_of_a_live_list() {
    let net = with_entries_of_drop();
    net.failing_succession(TAKEN, &[]).exits(3).complains("flush --list drop");
    net.expect_each([OWN, ATTACKER, ATTACKER6, BYSTANDER]).dropped();
    net.filterd(["remove", ATTACKER, "--list", "drop"]).succeeds();
}

/// Without a copy there is nothing else to take.
#[test]
fn start_without_a_copy_refuses_a_taken_name() {
    let mut net = with_entries_of_drop();
    net.stop();
    fs::remove_file(net.home().path("state/current")).expect("it was there");
    let mut command = net.host().command(&home::binary().display().to_string());
    let daemon = Daemon::spawn(command.args(net.arguments(TAKEN)), net.home());
    assert_eq!(daemon.wait().code(), Some(3));
    let log = fs::read_to_string(net.home().path("log")).expect("it has a log");
    assert!(log.contains("list \"drop\" has 2 entries that were added live"), "{log}");
    assert_eq!(net.attached("eth0"), None);
}

/// The configuration was in force; then the journal lost that its name had been given up.
#[test]
fn entries_removed_before_name_conflict_stay_removed() {
    let mut net = with_entries_of_drop();
    net.stop();
    let journal = net.home().path("state/live.redb");
    let before = fs::read(&journal).expect("it was written");
    net.start("");
    net.filterd(["flush", "--list", "drop"]).succeeds();
    net.configure(TAKEN);
    net.filterd(["reload"]).succeeds();
    net.stop();
    fs::write(&journal, before).expect("it was ours");
    net.start(TAKEN);
    net.expect_each([OWN, ATTACKER, ATTACKER6, BYSTANDER]).dropped();
    net.filterd(["test", ATTACKER]).exits(0).says("manual");
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
fn complete_flush_survives_restart_under_any_names() {
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
