//! What was added live is there again after a restart, however filterd ended.

use std::fs;
use std::thread;
use std::time::Duration;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net, Refusal, SmallDisk, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// tests/fixtures/README.md tells how it came about.
const OF_A_NEWER: &[u8] = include_bytes!("../fixtures/journal-of-a-newer.redb");

#[test]
fn live_entries_survive_a_kill() {
    let mut net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, ATTACKER6, "192.0.2.64/26", "--note", "23 doors", "--list", "ssh"])
        .succeeds();
    net.end(Signal::SIGKILL);
    net.start("");
    net.expect_each([ATTACKER, ATTACKER6, "192.0.2.100"]).dropped();
    net.expect(BYSTANDER).passes();
    net.filterd(["test", ATTACKER]).exits(0).says("ssh").says("23 doors");
}

#[test]
fn live_entries_survive_a_stop() {
    let mut net = Net::with_filterd("");
    net.filterd(["add", ATTACKER]).succeeds();
    net.stop();
    net.expect(ATTACKER).passes();
    net.start("");
    net.expect(ATTACKER).dropped();
}

#[test]
fn removed_entries_stay_removed() {
    let mut net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, ATTACKER6, BYSTANDER]).succeeds();
    net.filterd(["remove", BYSTANDER]).succeeds();
    net.filterd(["add", "192.0.2.77", "--list", "short"]).succeeds();
    net.filterd(["flush", "--list", "short"]).succeeds();
    net.end(Signal::SIGKILL);
    net.start("");
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.expect_each([BYSTANDER, "192.0.2.77"]).passes();
}

/// Two clients say the same, and the disk is slow: the second changes nothing, but what it is told must last as well.
#[test]
fn unchanged_request_waits_for_disk() {
    const SAID: [[&str; 2]; 2] = [["add", ATTACKER], ["remove", BYSTANDER]];
    let mut net = Net::with_filterd("");
    net.filterd(["add", BYSTANDER]).succeeds();
    let slow = Refusal::of(net.daemon().id(), "fsync,fdatasync:delay_enter=3000000");
    let (home, daemon) = (net.home(), Pid::from_raw(net.daemon().id().cast_signed()));
    let is_in_force = |said: &str, is_listed: bool| {
        until(|| home.filterd(["list"]).output.contains(said) == is_listed, "it is in force");
    };
    let answered = thread::scope(|scope| {
        let ask = |said: [&'static str; 2]| scope.spawn(move || home.filterd(said).code());
        ask(["add", "192.0.2.77"]);
        is_in_force("192.0.2.77", true);
        SAID.into_iter().for_each(|said| _ = ask(said));
        is_in_force(ATTACKER, true);
        is_in_force(BYSTANDER, false);
        let again = SAID.map(ask);
        thread::sleep(Duration::from_millis(500));
        kill(daemon, Signal::SIGKILL).expect("it is our child");
        again.map(|asked| asked.join().expect("it only asks"))
    });
    drop(slow);
    net.end(Signal::SIGKILL);
    net.start("");
    let listed = net.filterd(["list"]).succeeds().output;
    for ([what, target], code) in SAID.into_iter().zip(answered) {
        let is_so = listed.contains(target) == (what == "add");
        assert!(is_so || code == Some(6), "{what} {target} was answered with {code:?}: {listed}");
    }
}

#[test]
fn ban_that_expired_meanwhile_does_not_return() {
    let mut net = Net::with_filterd("");
    net.filterd(["add", BYSTANDER, "--ttl", "1s"]).succeeds();
    net.filterd(["add", ATTACKER, "--ttl", "1h"]).succeeds();
    let until = |net: &Net| {
        net.filterd(["test", ATTACKER, "--json"]).exits(0).json()["tested"][0]["because"][0].clone()
    };
    let before = until(&net);
    net.end(Signal::SIGKILL);
    thread::sleep(Duration::from_secs(2));
    net.start("");
    net.expect(BYSTANDER).passes();
    net.filterd(["list"]).succeeds().is_silent_about(BYSTANDER);
    assert_eq!(until(&net), before, "the other one ends when it was to end");
}

#[test]
fn many_adds_and_removes_are_carried_forward() {
    let mut net = Net::with_filterd("");
    let many = neighbours(60_000);
    net.filterd(["add", ATTACKER]).succeeds();
    for _ in 0..3 {
        net.filterd_reading(["add", "-", "--list", "many"], &many).succeeds();
        net.filterd_reading(["remove", "-"], &many).succeeds();
    }
    net.filterd(["add", "192.0.2.77"]).succeeds();
    net.end(Signal::SIGKILL);
    net.start("");
    net.expect_each([ATTACKER, "192.0.2.77"]).dropped();
    let status = net.filterd(["status", "--json"]).succeeds().json();
    assert_eq!(status["tables"][0]["entries"], 2, "{status}");
    let written = fs::metadata(net.home().path("state/live.redb")).expect("the journal").len();
    assert!(written < 4 << 20, "{written} bytes for two entries");
}

#[test]
fn damaged_journal_is_set_aside_and_reported() {
    let mut net = Net::with_filterd("block: [203.0.113.7]");
    net.filterd(["add", BYSTANDER]).succeeds();
    net.end(Signal::SIGKILL);
    // Whoever is quick ends it before it has made its copy.
    _ = fs::remove_file(net.home().path("state/live.redb.old"));
    fs::write(net.home().path("state/live.redb"), "what a disk makes of it ".repeat(10_000)).expect("ours");
    net.start("block: [203.0.113.7]");
    net.expect(ATTACKER).dropped();
    net.wait_for_log("the journal is damaged and has no copy");
    let kept = fs::read_dir(net.home().path("state")).expect("there").flatten();
    assert!(kept.into_iter().any(|file| file.file_name().to_string_lossy().contains("damaged")));
    net.filterd(["status"]).exits(7).says("there was no copy").says("live.redb.damaged-");
    net.filterd(["add", BYSTANDER]).succeeds();
    net.expect(BYSTANDER).dropped();
    // A good start does not bring back what is lost.
    net.end(Signal::SIGKILL);
    net.start("block: [203.0.113.7]");
    net.filterd(["status"]).exits(7).says("there was no copy").says("filterd ack ");
    net.filterd(["ack"]).succeeds().says("there was no copy");
    net.filterd(["status"]).succeeds();
    net.filterd(["ack"]).succeeds().says("nothing to acknowledge");
}

/// As after a downgrade to one that came before a journal's format.
#[test]
fn newer_journal_is_refused_and_filter_stays() {
    let mut net = Net::with_filterd("");
    net.filterd(["add", ATTACKER]).succeeds();
    net.end(Signal::SIGKILL);
    let [state, pins] = [net.home().path("state"), net.home().pins().to_owned()];
    let journal = state.join("live.redb");
    fs::write(&journal, OF_A_NEWER).expect("ours");
    let places = ["--state-dir", &state.display().to_string(), "--pin-dir", &pins.display().to_string()];
    net.another_filterd_with("", &places)
        .exits(6)
        .complains("live.redb has format 1000, but this filterd knows only ")
        .complains("a newer one wrote it")
        .complains("start the newer one, or move this file and live.redb.old away and lose the live entries");
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
    // What it says to do.
    fs::rename(&journal, net.home().path("moved")).expect("ours");
    // A copy is made aside, and may not have been.
    _ = fs::rename(state.join("live.redb.old"), net.home().path("moved.old"));
    net.start("");
    net.expect(ATTACKER).passes();
    net.filterd(["add", ATTACKER]).succeeds();
    net.expect(ATTACKER).dropped();
}

/// The filter that was left at work tells that there had been one.
#[test]
fn missing_state_directory_is_reported_at_start() {
    let mut net = Net::with_filterd("");
    net.filterd(["add", ATTACKER]).succeeds();
    net.end(Signal::SIGKILL);
    fs::remove_dir_all(net.home().path("state")).expect("it was there");
    net.expect(ATTACKER).dropped();
    net.start("");
    net.filterd(["status"]).exits(7).says("had no journal").says("filterd ack ");
    net.wait_for_log("there was no journal");
    net.filterd(["ack"]).succeeds();
    net.filterd(["status"]).succeeds();
    // One that has never blocked anything has nothing to lose.
    net.end(Signal::SIGKILL);
    net.start("");
    fs::remove_dir_all(net.home().path("state")).expect("it was there");
    net.end(Signal::SIGKILL);
    net.start("");
    net.filterd(["status"]).succeeds();
}

#[test]
fn full_disk_is_reported_and_repaired_later() {
    let (mut net, disk) = with_a_full_disk();
    net.filterd_reading(["add", "-"], &neighbours(100_000))
        .exits(7)
        .says("100,000 targets: 100,000 added")
        .complains("would be lost in a restart");
    net.expect_each(["10.0.0.9", "10.1.134.159"]).dropped();
    net.filterd(["status"]).exits(7).says("would be lost in a restart").says("free some space there");
    disk.make_room();
    net.filterd(["add", ATTACKER]).succeeds();
    let patience = std::time::Instant::now();
    while !net.daemon().log().contains("live entries are on disk again") {
        assert!(patience.elapsed() < Duration::from_secs(60), "{}", net.daemon().log());
        thread::sleep(Duration::from_millis(20));
    }
    net.filterd(["status"]).succeeds();
    net.end(Signal::SIGKILL);
    net.start("");
    net.expect_each([ATTACKER, BYSTANDER, "10.0.0.9", "10.1.134.159"]).dropped();
}

/// The first start of all, where the journal itself cannot be made.
#[test]
fn journal_is_created_once_disk_has_room() {
    let mut net = Net::new();
    let disk = SmallDisk::of_state(net.home());
    disk.fill();
    net.start("");
    net.wait_for_log("would be lost in a restart");
    net.filterd(["status"]).exits(7).says("would be lost in a restart").says("free some space there");
    net.filterd(["add", ATTACKER]).exits(7).complains("filterd writes it as soon as it can");
    // Nothing half made lies there, which the next start would take for a damaged one.
    net.end(Signal::SIGKILL);
    net.start("");
    net.wait_for_log("would be lost in a restart");
    net.filterd(["status"]).exits(7).is_silent_about("damaged");
    net.filterd(["add", ATTACKER]).exits(7);
    disk.make_room();
    net.wait_for_log("live entries are on disk again");
    net.filterd(["status"]).is_silent_about("would be lost in a restart");
    net.end(Signal::SIGKILL);
    net.start("");
    net.expect(ATTACKER).dropped();
    net.filterd(["status"]).is_silent_about("damaged").is_silent_about("would be lost in a restart");
}

/// Where Landlock or its user keeps the daemon from making it anew, that is for the operator to do.
#[test]
fn removed_state_directory_is_reported_with_remedy() {
    let mut net = Net::with_filterd("");
    net.filterd(["add", ATTACKER]).succeeds();
    // Its copy may just be in the making.
    while fs::remove_dir_all(net.home().path("state")).is_err() {}
    // Nothing was added since: it is found by looking.
    net.wait_for_log("would be lost in a restart");
    let status = net.filterd(["status"]);
    if !status.output.contains("no Landlock") {
        status.exits(7).says("restart filterd");
        net.filterd(["reload"]).exits(7).complains("restart filterd");
    }
    net.expect(ATTACKER).dropped();
    net.stop();
    net.start("");
    // Where nothing was left to write in, the file beside the socket says it.
    net.filterd(["status"]).exits(7).says("were not all on disk when filterd ended").says("filterd ack ");
    net.filterd(["add", ATTACKER]).succeeds();
    net.end(Signal::SIGKILL);
    net.start("");
    net.filterd(["status"]).exits(7).says("were not all on disk when filterd ended");
    fs::remove_file(net.home().path("state/live.redb.lost")).expect("it is named");
    net.stop();
    net.start("");
    net.filterd(["status"]).succeeds();
}

#[test]
fn removed_journal_is_reported_and_rewritten() {
    let mut net = Net::with_filterd("");
    net.filterd(["add", ATTACKER]).succeeds();
    fs::remove_file(net.home().path("state/live.redb")).expect("it was there");
    net.wait_for_log("would be lost in a restart");
    net.wait_for_log("live entries are on disk again");
    net.filterd(["status"]).succeeds();
    net.end(Signal::SIGKILL);
    net.start("");
    net.expect(ATTACKER).dropped();
}

/// SIGTERM comes before the disk has been tried again.
#[test]
fn stop_saves_entries_once_disk_has_room() {
    let (mut net, disk) = with_a_full_disk();
    net.filterd_reading(["add", "-"], &neighbours(100_000)).exits(7);
    net.filterd(["remove", BYSTANDER]).exits(7);
    disk.make_room();
    net.stop();
    net.start("");
    net.expect("10.0.0.9").dropped();
    net.expect(BYSTANDER).passes();
}

/// Killed, or stopped while the disk is still full: what the disk never had is not passed over in silence.
#[test]
fn next_start_reports_entries_lost_to_full_disk() {
    let (mut net, disk) = with_a_full_disk();
    // Whoever asks again is told the same, although nothing is left to change.
    for _ in 0..2 {
        net.filterd(["add", ATTACKER]).exits(7);
        net.filterd(["remove", BYSTANDER]).exits(7);
        net.filterd(["remove", BYSTANDER, "--list", "none"]).exits(7);
    }
    net.end(Signal::SIGKILL);
    disk.make_room();
    net.start("");
    net.expect(BYSTANDER).dropped();
    net.expect(ATTACKER).passes();
    net.wait_for_log("were not all on disk when filterd ended");
    let status = net.filterd(["status", "--json"]).exits(7).says("entries may be missing or back");
    let id = status.json()["faults"][0]["id"].as_str().expect("it has an id").to_owned();
    net.filterd(["status"]).exits(7).says(&format!("end this notice: filterd ack {id}"));
    net.filterd(["ack", &id, "none"]).exits(2).complains("there is no problem with the id none");
    net.filterd(["status"]).exits(7).says(&id);
    net.filterd(["ack", &id]).succeeds().says("entries may be missing");
    net.wait_for_log(&format!("acknowledged note=\"{id}\" troubles="));
    net.filterd(["status"]).succeeds();
    net.end(Signal::SIGKILL);
    net.start("");
    net.filterd(["status"]).succeeds();
    net.succeed("");
    net.filterd(["status"]).succeeds();

    disk.fill();
    net.filterd(["add", ATTACKER]).exits(7);
    net.stop();
    // Not even a note of it can be written, so the start after that tells it once more.
    net.start("");
    net.wait_for_log("not all live changes were on disk at the end");
    net.filterd(["status"]).exits(7).says("were not all on disk when filterd ended");
    disk.make_room();
    net.stop();
    net.start("");
    net.filterd(["status"]).exits(7).says("were not all on disk when filterd ended").says("filterd ack ");
}

/// Nothing can be noted, and so nothing need be: the next start does not tell it again.
#[test]
fn acknowledged_loss_stays_so_on_a_full_disk() {
    let (mut net, disk) = with_a_full_disk();
    net.filterd(["remove", BYSTANDER]).exits(7);
    net.end(Signal::SIGKILL);
    net.start("");
    net.filterd(["status"]).exits(7).says("were not all on disk when filterd ended");
    net.filterd(["ack"]).succeeds().says("were not all on disk");
    net.filterd(["status"]).is_silent_about("were not all on disk");
    net.end(Signal::SIGKILL);
    net.start("");
    net.filterd(["status"]).is_silent_about("were not all on disk");
    disk.make_room();
}

#[test]
fn daemon_with_unsaved_entries_refuses_take_over() {
    let (mut net, disk) = with_a_full_disk();
    net.filterd_reading(["add", "-"], &neighbours(100_000)).exits(7);
    net.failing_succession("", &[])
        .exits(6)
        .complains("not all on disk")
        .complains("the running filterd continues");
    net.expect("10.0.0.9").dropped();
    disk.make_room();
    net.wait_for_log("live entries are on disk again");
    net.succeed("");
    net.expect_each(["10.0.0.9", BYSTANDER]).dropped();
}

#[test]
fn a_second_filterd_does_not_share_the_journal() {
    let net = Net::with_filterd("");
    let state = net.home().path("state").display().to_string();
    net.another_filterd_with("", &["--state-dir", &state])
        .exits(6)
        .complains("in use")
        .complains("--state-dir");
}

#[test]
fn file_cannot_take_name_of_live_list() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    net.file("list.txt", "192.0.2.77\n");
    net.configure("lists: [{name: ssh, path: $HOME/list.txt}]");
    net.filterd(["reload"]).exits(3).complains("flush --list ssh");
    net.expect(ATTACKER).dropped();
    net.expect("192.0.2.77").passes();
}

#[test]
fn entries_return_without_durability() {
    let mut net = Net::with_filterd("durable: false");
    net.filterd(["add", ATTACKER]).succeeds();
    net.stop();
    net.start("durable: false");
    net.expect(ATTACKER).dropped();
}

/// On whose disk one address is and nothing more fits.
/// Whoever asks for what is so already has nothing done, and is told that it may not be on disk.
#[test]
fn unchanged_request_fails_on_full_disk() {
    let (net, disk) = with_a_full_disk();
    let many = neighbours(30_000);
    net.filterd_reading(["add", "-", "--list", "ssh"], &many)
        .exits(7)
        .complains("done, but the change would be lost");
    net.filterd(["flush", "--list", "ssh"])
        .exits(7)
        .says("removed 30,000 entries")
        .complains("done, but the change would");
    for words in [&["flush", "--list", "ssh"][..], &["add", BYSTANDER], &["remove", ATTACKER]] {
        net.filterd(words)
            .exits(7)
            .complains("nothing to change, but earlier changes are not all on disk")
            .is_silent_about("done, but");
    }
    disk.make_room();
}

fn with_a_full_disk() -> (Net, SmallDisk) {
    let mut net = Net::new();
    let disk = SmallDisk::of_state(net.home());
    net.start("");
    net.filterd(["add", BYSTANDER]).succeeds();
    disk.fill();
    (net, disk)
}

/// A line each: 10.0.0.0 and what follows it.
fn neighbours(count: u32) -> String {
    (0..count).map(|host| format!("10.{}.{}.{}\n", host >> 16, host >> 8 & 255, host & 255)).collect()
}
