//! A state directory to which nobody can write any more: what is in it counts, and what it did not take is told.

use std::fs;

use harness::{ATTACKER, BYSTANDER, Net, SmallDisk};
use nix::sys::signal::Signal;

/// A disk that has failed is made read-only by the system, and a supervisor starts filterd on it.
#[test]
fn live_entries_survive_read_only_state_directory() {
    let mut net = Net::new();
    let disk = SmallDisk::of_state(net.home());
    net.start("block: [203.0.113.64/26]");
    net.filterd(["add", ATTACKER]).succeeds();
    net.filterd(["allow", "add", "203.0.113.70"]).succeeds();
    net.end(Signal::SIGKILL);
    disk.is_read_only(true);
    net.start("block: [203.0.113.64/26]");
    net.expect(ATTACKER).dropped();
    net.expect("203.0.113.70").passes();
    net.filterd(["status"]).exits(7).says("would be lost in a restart").is_silent_about("is not blocked");
    net.filterd(["add", BYSTANDER]).exits(7).complains("filterd writes it as soon as it can");
    disk.is_read_only(false);
    net.wait_for_log("live entries are on disk again");
    net.filterd(["status"]).succeeds();
    net.end(Signal::SIGKILL);
    net.start("block: [203.0.113.64/26]");
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    net.expect("203.0.113.70").passes();
    net.filterd(["status"]).succeeds();
}

/// Nothing in the state directory could tell the next start of it.
#[test]
fn losses_on_read_only_directory_are_reported_later() {
    let mut net = Net::new();
    let disk = SmallDisk::of_state(net.home());
    disk.is_read_only(true);
    net.start("");
    net.filterd(["add", ATTACKER]).exits(7).complains("would be lost in a restart");
    net.expect(ATTACKER).dropped();
    net.end(Signal::SIGKILL);
    disk.is_read_only(false);
    net.start("");
    net.filterd(["status"]).exits(7).says("were not all on disk when filterd ended");
    net.filterd(["add", ATTACKER]).succeeds();
    fs::remove_file(net.home().path("state/live.redb.lost")).expect("it is named");
    net.end(Signal::SIGKILL);
    net.start("");
    net.filterd(["status"]).succeeds();
    net.expect(ATTACKER).dropped();
}
