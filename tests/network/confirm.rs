//! `reload --confirm` and `confirm`: what a reload brings is on trial, and rolled back by itself unless somebody confirms it.

mod killed;
mod limited;
mod nothing;
mod rollback;

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use harness::home::binary;
use harness::{ATTACKER, BYSTANDER, Daemon, Home, Net, SavedGeneration, Site};
use nix::sys::signal::Signal;
use serde_json::json;

/// One file, and an address beside it.
const BEFORE: &str = "block: [198.51.100.9]\nlists: [{name: drop, path: $HOME/drop.txt}]";
/// Another list, and not that address.
const AFTER: &str = "lists: [{name: drop, path: $HOME/drop.txt}, {name: more, path: $HOME/more.txt}]";
/// So long something may take that happens by itself.
const PATIENCE: Duration = Duration::from_secs(30);

/// On no list before; on one of the others then.
const NEW: &str = "192.0.2.77";
/// On the list before, and not then.
const OLD: &str = "192.0.2.78";

#[test]
fn unconfirmed_reload_rolls_back_and_keeps_live_changes() {
    let mut net = before();
    change_files(&net);
    net.filterd(["reload", "--confirm", "1s"]).succeeds();
    net.filterd(["add", ATTACKER]).succeeds();
    wait_until_rolled_back(&net);
    is_before(&net);
    net.expect(ATTACKER).dropped();
    net.filterd(["status"])
        .exits(7)
        .says("the earlier configuration and lists are in force again")
        .says("to see what it would change: filterd diff");
    let confirmed = net.filterd(["confirm", "--json"]).exits(1).json();
    assert!(confirmed["confirmed"] == false && confirmed["rolled_back"].is_u64(), "{confirmed}");
    // It stays so over a restart, until somebody says what is meant.
    net.end(Signal::SIGKILL);
    again(&mut net);
    is_before(&net);
    wait_until_rolled_back(&net);
    net.filterd(["reload"]).succeeds();
    is_after(&net);
    net.filterd(["status"]).succeeds();
    net.end(Signal::SIGKILL);
    again(&mut net);
    is_after(&net);
}

/// Whatever the trial made of the list, and however long it lasted: taken out of the configuration, or with another time.
#[test]
fn rolled_back_entries_keep_their_expiries() {
    let lists = |ttl, soon| {
        format!(
            "lists: [{{name: seen, path: $HOME/seen.txt, ttl: {ttl}}}, \
             {{name: soon, path: $HOME/soon.txt, ttl: {soon}}}]"
        )
    };
    for on_trial in ["block: [192.0.2.77]".to_owned(), lists("2h", "2h")] {
        let mut net = Net::new();
        net.file("seen.txt", ATTACKER);
        net.file("soon.txt", BYSTANDER);
        net.start(&lists("1h", "4s"));
        let entry = |list: &str| net.filterd(["list", "--list", list, "--json"]).succeeds().json();
        let times = || ["since", "until"].map(|time| entry("seen")[time].as_u64().expect("it is told"));
        let before = times();
        net.expect(BYSTANDER).dropped();
        net.configure(&on_trial);
        net.filterd(["reload", "--confirm", "5s"]).succeeds();
        wait_until_rolled_back(&net);
        net.expect(ATTACKER).dropped();
        assert_eq!(times(), before, "{on_trial}");
        let is_over = || {
            net.expect(BYSTANDER).passes();
            let expired = json!({"target": BYSTANDER, "list": "soon"});
            net.filterd(["test", BYSTANDER, "--json"])
                .exits(1)
                .has(json!({"tested": [{"expired": [expired]}]}));
        };
        is_over();
        net.configure(&lists("1h", "4s"));
        net.filterd(["reload"]).succeeds();
        assert_eq!(times(), before, "nothing of it is new");
        is_over();
    }
}

#[test]
fn rollback_includes_allowed_entries() {
    let mut net = Net::with_filterd("block: [198.51.100.9]");
    net.configure("block: [203.0.113.0/24]\nallow: [203.0.113.7, 198.51.100.9]");
    net.filterd(["reload", "--confirm", "1s"]).succeeds();
    wait_until_rolled_back(&net);
    net.expect("198.51.100.9").dropped();
    net.expect(ATTACKER).passes();
    net.filterd(["ping"]).succeeds();
    net.end(Signal::SIGKILL);
}

#[test]
fn confirmed_reload_stays() {
    let mut net = before();
    tries(&net, "1h");
    net.filterd(["confirm"]).succeeds();
    nothing_to_confirm(&net);
    net.filterd(["status"]).succeeds();
    is_after(&net);
    // What is good now is what a start takes where the files are spoilt.
    net.end(Signal::SIGKILL);
    fs::remove_file(net.home().path("more.txt")).expect("it is there");
    again(&mut net);
    is_after(&net);
}

#[test]
fn trial_refuses_reload_and_take_over() {
    let mut net = before();
    tries(&net, "1h");
    let refused = "a reload of root (filterd reload) is on trial until ";
    net.filterd(["status"]).exits(7).says(refused).says("to keep it: filterd confirm");
    net.filterd(["reload"]).exits(5).complains(refused).complains("to keep it: filterd confirm");
    net.filterd(["reload", "--confirm", "60s"]).exits(5);
    net.daemon().signal(Signal::SIGHUP);
    net.wait_for_log("the configuration was not reloaded: a reload of root");
    net.failing_succession(AFTER, &[]).exits(6).complains(refused);
    net.filterd(["diff"]).succeeds();
    net.filterd(["confirm"]).succeeds();
    net.filterd(["reload"]).succeeds();
    is_after(&net);
}

/// It will be there again.
#[test]
fn names_of_previous_lists_are_reserved_during_trial() {
    let net = before();
    net.configure("block: []");
    net.filterd(["reload", "--confirm", "1h"]).succeeds();
    net.expect(OLD).passes();
    net.filterd(["add", "192.0.2.99", "--list", "drop"])
        .exits(5)
        .complains("it is defined in the configuration");
    net.filterd(["confirm"]).succeeds();
    net.filterd(["add", "192.0.2.99", "--list", "drop"]).succeeds();
}

#[test]
fn trial_survives_kill_and_rolls_back_in_time() {
    let mut net = before();
    tries(&net, "1h");
    net.end(Signal::SIGKILL);
    again(&mut net);
    is_after(&net);
    is_on_trial(&net);
    net.filterd(["status"])
        .exits(7)
        .says("so the configuration and lists of that start are on trial")
        .says("to keep the configuration and lists of that start");
    // What is not valid at a start is not on trial: the last good one, of before, is in force.
    net.configure("block: [");
    net.end(Signal::SIGKILL);
    net.start("block: [");
    net.expect("198.51.100.9").dropped();
    // Its lists are what their files say by now.
    net.expect_each([OLD, NEW]).passes();
    net.filterd(["status"]).exits(7).says("the one from before the trial is in force");
    net.end(Signal::SIGKILL);
    again(&mut net);
    is_after(&net);
    net.filterd(["reload"]).exits(5);
    // As if the machine had been booted: that boot's time says nothing any more.
    net.end(Signal::SIGKILL);
    let trial = SavedGeneration::read(net.home(), "trial").expect("there is a trial");
    trial.change(|line| {
        if let Some(head) = line.get_mut("trial") {
            head["boot"] = "another-boot".into();
        }
    });
    again(&mut net);
    net.wait_for_log("was not confirmed in time: the earlier configuration is in force");
    is_before(&net);
    wait_until_rolled_back(&net);
    net.filterd(["reload", "--confirm", "2s"]).succeeds();
    net.end(Signal::SIGKILL);
    again(&mut net);
    wait_until_rolled_back(&net);
    is_before(&net);
}

#[test]
fn a_trial_that_is_refused_leaves_nothing_behind() {
    let net = before();
    net.file("more.txt", "192.0.2.77\n");
    net.file("drop.txt", "203.0.113.200\n");
    net.configure("enforce: perhaps");
    net.filterd(["reload", "--confirm", "1h"]).exits(3);
    nothing_to_confirm(&net);
    assert!(!net.home().path("state/trial").exists());
    net.configure(AFTER);
    net.filterd(["reload", "--confirm", "0"]).exits(2).complains("at least one second");
    net.filterd(["reload"]).succeeds();
    is_after(&net);
}

/// Its record and the copies of what was before are gone; the filterd that tries has all of that in hand.
#[test]
fn rollback_works_without_the_state_directory() {
    let mut net = before();
    change_files(&net);
    net.filterd(["reload", "--confirm", "3s"]).succeeds();
    net.filterd(["add", ATTACKER]).succeeds();
    remove_state(&net);
    wait_until_rolled_back(&net);
    is_before(&net);
    net.expect(ATTACKER).dropped();
    // A start finds nothing of what was before, and says so until somebody decides.
    for _ in 0..2 {
        net.end(Signal::SIGKILL);
        again(&mut net);
        is_after(&net);
        net.filterd(["status"])
            .exits(7)
            .says("a reload of root (filterd reload) ")
            .says("the current configuration and lists are in force");
    }
    net.filterd(["reload"]).succeeds();
    net.filterd(["status"]).is_silent_about("a reload of root");
}

#[test]
fn start_without_trial_record_reports_it() {
    let mut net = before();
    tries(&net, "1h");
    remove_state(&net);
    net.filterd(["status"]).exits(7).says("its record is missing in the state directory");
    net.end(Signal::SIGKILL);
    again(&mut net);
    is_after(&net);
    net.filterd(["status"])
        .exits(7)
        .says("a reload of root (filterd reload) was on trial when filterd last ended")
        .says("to keep it: filterd reload");
    net.filterd(["confirm"]).exits(1);
    net.filterd(["reload"]).succeeds();
    net.end(Signal::SIGKILL);
    again(&mut net);
    net.filterd(["status"]).is_silent_about("on trial");
}

#[test]
fn take_over_after_rollback_keeps_previous_configuration() {
    let mut net = before();
    change_files(&net);
    net.filterd(["reload", "--confirm", "1s"]).succeeds();
    wait_until_rolled_back(&net);
    net.succeed(AFTER);
    is_before(&net);
    wait_until_rolled_back(&net);
    // Another text is a decision, but only of one that gets the place.
    net.failing_succession("interfaces: [eth0, ehh1]\nblock: [192.0.2.77]", &[]).exits(3);
    net.end(Signal::SIGKILL);
    again(&mut net);
    is_before(&net);
    net.succeed("block: [192.0.2.77]");
    net.expect(NEW).dropped();
    net.expect(OLD).passes();
    net.filterd(["status"]).succeeds();
}

#[test]
fn without_a_configuration_there_is_nothing_to_try() {
    let (net, home) = (Net::new(), Home::new());
    let mut command = Command::new(binary());
    command.args(home.daemon_arguments()).args(["--no-config", "--iface", "eth0"]);
    let _daemon = net.host().entered(|| Daemon::start(&mut command, &home));
    home.filterd(["reload", "--confirm", "1s"])
        .exits(5)
        .complains("there is no configuration that a reload could change");
    home.filterd(["status"]).succeeds();
    home.filterd(["reload"]).succeeds();
}

#[track_caller]
fn remove_state(net: &Net) {
    // Copies may just be in the making.
    while fs::remove_dir_all(net.home().path("state")).is_err() {}
}

fn before() -> Net {
    let mut net = Net::new();
    net.file("drop.txt", "192.0.2.78\n203.0.113.200\n");
    net.start(BEFORE);
    is_before(&net);
    net
}

/// The files change, and what they say now comes into force, on trial.
#[track_caller]
fn tries(net: &Net, length: &str) {
    change_files(net);
    let reloaded = net.filterd(["reload", "--confirm", length, "--json"]).succeeds().json();
    assert!(reloaded["confirm_until"].is_u64(), "{reloaded}");
    is_after(net);
}

#[track_caller]
fn is_on_trial(net: &Net) {
    let status = net.filterd(["status", "--json"]).exits(7).json();
    assert!(status["trial"]["until"].is_u64(), "{status}");
}

#[track_caller]
fn is_not_on_trial(net: &Net) {
    let status = net.filterd(["status", "--json"]).json();
    assert!(status["trial"].is_null(), "{status}");
}

/// No reload is on trial, and none was rolled back.
#[track_caller]
fn nothing_to_confirm(net: &Net) {
    let told = net.filterd(["confirm", "--json"]).exits(1).json();
    let is_rolled_back = told["rolled_back"].is_u64() || told["rolling_back"] == true;
    assert!(told["confirmed"] == false && !is_rolled_back && told["at_work"].is_null(), "{told}");
}

fn change_files(net: &Net) {
    net.file("drop.txt", "203.0.113.200\n");
    net.file("more.txt", "192.0.2.77\n");
    net.configure(AFTER);
}

/// The same command line, and the files as they are.
#[track_caller]
fn again(net: &mut Net) {
    net.start(AFTER);
}

/// By this start, or a moment later.
#[track_caller]
pub fn wait_until_rolled_back(net: &Net) {
    let begun = Instant::now();
    while net.filterd(["status", "--json"]).exits(7).json().get("trial").is_some() {
        assert!(begun.elapsed() < PATIENCE, "it stays on trial");
        thread::sleep(Duration::from_millis(20));
    }
    let begun = Instant::now();
    while !net
        .filterd(["status"])
        .exits(7)
        .output
        .contains("the earlier configuration and lists are in force again")
    {
        assert!(begun.elapsed() < PATIENCE, "it is not rolled back");
        thread::sleep(Duration::from_millis(20));
    }
}

#[track_caller]
fn is_before(net: &Net) {
    net.expect_each([OLD, "198.51.100.9"]).dropped();
    net.expect_each([NEW, BYSTANDER]).passes();
}

#[track_caller]
fn is_after(net: &Net) {
    net.expect_each([NEW, "203.0.113.200"]).dropped();
    net.expect_each([OLD, "198.51.100.9", BYSTANDER]).passes();
}
