//! Clocks that are set, and machines that are off for a while.

use std::fs;
use std::time::Duration;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net, OtherTime};

const HOUR: Duration = Duration::from_secs(3600);

/// What a filterd wrote in the year 2100, in another boot: `ATTACKER` had 3 s left when the last of it was written, `ATTACKER6`
/// 30 min, and `BYSTANDER` is permanent.
const OF_2100: &[u8] = include_bytes!("../fixtures/journal-of-2100.redb");

/// Long enough for any machine to notice that some seconds are over.
const SOON: Duration = Duration::from_secs(30);

/// `ATTACKER` is added for half an hour, and `BYSTANDER` for one hour more.
fn with_two() -> Net {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--ttl", "30m"]).succeeds();
    net.filterd(["add", BYSTANDER, "--ttl", "90m"]).succeeds();
    net
}

#[test]
fn boot_time_expires_entries_added_before_restart() {
    let mut net = with_two();
    net.stop();
    net.lives_in(OtherTime::later(HOUR));
    net.start("");
    net.expect(ATTACKER).passes();
    net.expect(BYSTANDER).dropped();
    net.filterd(["list", "--expiring", "31m"]).succeeds().says(BYSTANDER);
    net.filterd(["list", "--expiring", "20m"]).succeeds().is_silent_about(BYSTANDER);
    net.filterd(["status"]).succeeds();
}

/// A list whose entries stay for half an hour, and one whose stay for one hour more.
const TWO_LISTS: &str = "lists:\n  - {name: soon, path: $HOME/soon.txt, ttl: 30m}\n  - {name: later, path: $HOME/later.txt, ttl: 90m}\n";

/// The first of them names `ATTACKER`, the other `BYSTANDER`, and another filterd of the same boot has begun an hour later.
fn with_two_lists_an_hour_later() -> Net {
    let mut net = Net::new();
    net.home().write("soon.txt", ATTACKER);
    net.home().write("later.txt", BYSTANDER);
    net.start(TWO_LISTS);
    net.expect(ATTACKER).dropped();
    net.stop();
    net.lives_in(OtherTime::later(HOUR));
    net.start(TWO_LISTS);
    net.expect(ATTACKER).passes();
    net
}

#[track_caller]
fn half_an_hour_is_left(net: &Net) {
    net.expect(BYSTANDER).dropped();
    net.filterd(["list", "--expiring", "31m"]).succeeds().says(BYSTANDER);
    net.filterd(["list", "--expiring", "20m"]).succeeds().is_silent_about(BYSTANDER);
}

#[test]
fn boot_time_expires_list_entries_despite_clock_changes() {
    half_an_hour_is_left(&with_two_lists_an_hour_later());
}

#[test]
fn list_entry_expired_before_reboot_stays_expired() {
    let mut net = with_two_lists_an_hour_later();
    net.stop();
    // By the clock on the wall hardly any time has passed since the first one.
    net.lives_in(OtherTime::of(net.home(), 1, Duration::ZERO));
    net.start(TWO_LISTS);
    net.expect(ATTACKER).passes();
    half_an_hour_is_left(&net);
}

/// The file is another one each time: what tells when its entries end is its copy, and that was written in another time.
#[test]
fn changed_file_keeps_expiries_across_clock_changes() {
    let later = "lists: [{name: later, path: $HOME/later.txt, ttl: 90m}]";
    let mut net = Net::new();
    net.file("later.txt", BYSTANDER);
    net.start(later);
    net.expect(BYSTANDER).dropped();
    net.stop();
    net.file("later.txt", &format!("{BYSTANDER}\n{ATTACKER}\n"));
    net.lives_in(OtherTime::later(HOUR));
    net.start(later);
    half_an_hour_is_left(&net);
    net.stop();
    net.file("later.txt", &format!("{BYSTANDER}\n{ATTACKER}\n{ATTACKER6}\n"));
    net.lives_in(OtherTime::of(net.home(), 1, Duration::ZERO));
    net.start(later);
    half_an_hour_is_left(&net);
    net.stop();
    // Another hour of that boot has gone by.
    net.file("later.txt", &format!("{ATTACKER6}\n{ATTACKER}\n{BYSTANDER}\n192.0.2.9\n"));
    net.lives_in(OtherTime::of(net.home(), 1, HOUR));
    net.start(later);
    net.expect(BYSTANDER).passes();
    net.expect_each([ATTACKER, ATTACKER6, "192.0.2.9"]).dropped();
    let soon = net.filterd(["list", "--expiring", "31m"]).succeeds();
    soon.says(ATTACKER).says(ATTACKER6).is_silent_about("192.0.2.9");
}

#[test]
fn new_daemon_with_changed_clock_knows_expiries() {
    let mut net = with_two();
    net.lives_in(OtherTime::later(HOUR));
    net.succeed("");
    net.expect(ATTACKER).passes();
    net.expect(BYSTANDER).dropped();
}

#[test]
fn clock_behind_after_reboot_keeps_remaining_times() {
    let mut net = Net::new();
    let state = net.home().path("state");
    fs::create_dir(&state).expect("a home can be written");
    fs::write(state.join("live.redb"), OF_2100).expect("a home can be written");
    net.start("");
    net.expect(BYSTANDER).dropped();
    net.expect(ATTACKER6).dropped();
    net.filterd(["status"]).exits(7).says("before the journal's last record").says("set the clock");
    net.filterd(["list", "--expiring", "31m"]).succeeds().says(ATTACKER6).is_silent_about(BYSTANDER);
    net.expect(ATTACKER).then_within(SOON).passes();
    net.filterd(["ack"]).succeeds().says("before the journal's last record");
    net.filterd(["status"]).succeeds().is_silent_about("record");
}

#[test]
fn wall_clock_expires_entries_after_reboot() {
    let mut net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--ttl", "3s"]).succeeds();
    net.filterd(["add", BYSTANDER, "--ttl", "90m"]).succeeds();
    net.stop();
    let rebooted = OtherTime::after_a_reboot(net.home());
    net.lives_in(rebooted);
    net.start("");
    net.expect(ATTACKER).then_within(SOON).passes();
    net.expect(BYSTANDER).dropped();
    net.filterd(["status"]).succeeds();
}

#[test]
fn boot_time_counts_when_nothing_was_added() {
    let mut net = with_two();
    net.stop();
    net.lives_in(OtherTime::of(net.home(), 1, Duration::ZERO));
    net.start("");
    net.expect(ATTACKER).dropped();
    net.stop();
    net.lives_in(OtherTime::of(net.home(), 1, HOUR));
    net.start("");
    net.expect(ATTACKER).passes();
    net.expect(BYSTANDER).dropped();
}

#[test]
fn entry_expired_before_reboot_stays_expired() {
    let mut net = with_two();
    net.stop();
    net.lives_in(OtherTime::later(HOUR));
    net.start("");
    net.expect(ATTACKER).passes();
    net.stop();
    net.lives_in(OtherTime::of(net.home(), 1, Duration::ZERO));
    net.start("");
    net.expect(ATTACKER).passes();
    net.expect(BYSTANDER).dropped();
    net.filterd(["list", "--expiring", "31m"]).succeeds().says(BYSTANDER);
}
