//! `rollback`: what is on trial is taken back at once, whenever that is asked for; and what is told to be typed during a trial.

use harness::limited::LimitedChild;
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

use harness::{SmallDisk, until};

use super::*;

/// At once, whole, and with what was added meanwhile; asked for twice it is so already, and with nothing on trial it is a no.
#[test]
fn rollback_command_restores_everything_at_once() {
    let mut net = before();
    nothing_is_on_trial(&net);
    tries(&net, "1h");
    net.filterd(["add", ATTACKER]).succeeds();
    net.filterd(["rollback", "--json"])
        .succeeds()
        .has(json!({"rolled_back": true, "undone": {"entered": 2, "left": 1}}));
    is_before(&net);
    net.expect(ATTACKER).dropped();
    let more = "list more: no longer in the configuration";
    net.wait_for_log(&format!(
        r#"INFO rolled back settings="{more}" changed=3 entered=2 left=1 user="root""#
    ));
    was_rolled_back_before(&net);
    let confirmed = net.filterd(["confirm", "--json"]).exits(1).json();
    assert!(confirmed["rolled_back"].is_u64(), "{confirmed}");
    net.filterd(["status"]).exits(7).says("the earlier configuration and lists are in force again");
    net.end(Signal::SIGKILL);
    again(&mut net);
    is_before(&net);
    was_rolled_back_before(&net);
    net.filterd(["reload"]).succeeds();
    is_after(&net);
    nothing_is_on_trial(&net);
    tries_again(&net);
    net.filterd(["confirm"]).succeeds();
    nothing_is_on_trial(&net);
    net.expect(NEW).passes();
}

/// Whoever edits the file during the trial has not said that it is to be taken: not before the next reload.
#[test]
fn start_after_rollback_ignores_edited_configuration() {
    let block = |source: &str| format!("block: [{source}]");
    for (starts_on_trial, by_itself) in [(true, false), (false, false), (true, true), (false, true)] {
        let mut net = Net::new();
        net.start(&block(ATTACKER));
        net.configure(&block(BYSTANDER));
        net.filterd(["reload", "--confirm", if by_itself { "2s" } else { "1h" }]).succeeds();
        net.configure(&block(NEW));
        if starts_on_trial {
            net.end(Signal::SIGKILL);
            // Where its time is over by then, this start rolls back.
            net.start(&block(NEW));
        }
        if by_itself {
            wait_until_rolled_back(&net);
        } else {
            net.filterd(["rollback"]).succeeds();
        }
        for _ in 0..2 {
            net.expect(ATTACKER).dropped();
            net.expect_each([BYSTANDER, NEW]).passes();
            wait_until_rolled_back(&net);
            net.end(Signal::SIGKILL);
            net.start(&block(NEW));
        }
        net.filterd(["reload"]).succeeds();
        net.expect(NEW).dropped();
        // What is written after a rollback is meant.
        net.configure(&block(BYSTANDER));
        net.filterd(["reload", "--confirm", "1h"]).succeeds();
        net.filterd(["rollback"]).succeeds();
        net.end(Signal::SIGKILL);
        net.start(&block(ATTACKER));
        net.expect(ATTACKER).dropped();
        net.filterd(["status"]).succeeds();
    }
}

/// The filterd that rolls back has all of it in hand, and puts it where the next one looks; after that, what files say is
/// better than nothing.
#[test]
fn rollback_survives_start_with_removed_copies() {
    let config = |block: &str| format!("block: [{block}]\nlists: [{{name: drop, path: $HOME/drop.txt}}]");
    for (removed, is_after) in [("state/blobs", false), ("state/blobs", true), ("state", false)] {
        let mut net = Net::new();
        net.file("drop.txt", ATTACKER);
        net.start(&config(""));
        net.configure(&config(BYSTANDER));
        net.filterd(["reload", "--confirm", "1h"]).succeeds();
        // All that is in it: the directory itself nobody but root could make anew. The next start needs the text of
        // the configuration.
        let remove = |net: &Net| {
            let inside = fs::read_dir(net.home().path(removed)).expect("it is there");
            for one in inside.map(|one| one.expect("it can be read").path()) {
                let is_needed =
                    is_after && fs::read_to_string(&one).is_ok_and(|text| text.contains("lists:"));
                if !is_needed {
                    _ = fs::remove_dir_all(&one).or_else(|_| fs::remove_file(&one));
                }
            }
        };
        if !is_after {
            remove(&net);
        }
        net.filterd(["rollback"]).succeeds();
        if is_after {
            remove(&net);
        }
        for _ in 0..2 {
            net.expect(ATTACKER).dropped();
            net.expect(BYSTANDER).passes();
            wait_until_rolled_back(&net);
            net.end(Signal::SIGKILL);
            net.start(&config(BYSTANDER));
        }
    }
}

/// What is not valid decides nothing: neither that start nor the next one takes what was not confirmed.
#[test]
fn invalid_configuration_does_not_restore_rolled_back_one() {
    let (before, after) = (format!("block: [{ATTACKER}]"), format!("block: [{BYSTANDER}]"));
    let mut net = Net::new();
    net.start(&before);
    net.configure(&after);
    net.filterd(["reload", "--confirm", "1h"]).succeeds();
    net.filterd(["rollback"]).succeeds();
    for text in ["enforce: perhaps", &after] {
        net.end(Signal::SIGKILL);
        net.start(text);
        net.expect(ATTACKER).dropped();
        net.expect(BYSTANDER).passes();
        wait_until_rolled_back(&net);
    }
}

/// There is no room for a note of it, so the one of the trial is written over: nobody who starts then goes on with that.
#[test]
fn start_keeps_rollback_made_on_full_disk() {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let mut net = Net::new();
        let disk = SmallDisk::of_state(net.home());
        let [before, after] = [ATTACKER, BYSTANDER].map(|blocked| format!("block: [{blocked}]"));
        let is_before = |net: &Net| {
            net.expect(ATTACKER).dropped();
            net.expect(BYSTANDER).passes();
        };
        net.start(&before);
        net.configure(&after);
        net.filterd(["reload", "--confirm", "1h"]).succeeds();
        net.expect(BYSTANDER).dropped();
        disk.fill();
        net.filterd(["rollback"]).succeeds();
        is_before(&net);
        disk.make_room();
        net.end(signal);
        net.start(&after);
        is_before(&net);
        wait_until_rolled_back(&net);
        net.end(Signal::SIGKILL);
    }
}

/// Where not even the note of the trial can be written over, it is rolled back all the same, and that the next start will not
/// know is told to whoever asked.
#[test]
fn a_rollback_that_cannot_be_noted_says_so() {
    let net = before();
    tries(&net, "1h");
    let note = net.home().path("state/rejected");
    fs::create_dir_all(note.join("in the way")).expect("a state directory can be written");
    net.filterd(["rollback"])
        .exits(7)
        .complains("cannot store that a reload was rolled back: ")
        .complains("filterd retries every 5 s; a start before then");
    is_before(&net);
    was_rolled_back_before(&net);
    net.filterd(["status"]).exits(7).says("cannot store that a reload was rolled back");
    fs::remove_dir_all(&note).expect("it was made here");
    until(|| !net.filterd(["status"]).output.contains("cannot store that"), "it is noted");
}

/// The next start would go on with the trial, or roll back what was confirmed.
#[test]
fn confirmation_that_cannot_be_recorded_is_reported() {
    let mut net = before();
    tries(&net, "1h");
    let note = net.home().path("state/current");
    fs::remove_file(&note).expect("a generation is saved");
    fs::create_dir_all(note.join("in the way")).expect("a state directory can be written");
    let untold = "cannot store that nothing is on trial any more: ";
    net.filterd(["confirm", "--json"]).exits(7).has(json!({"confirmed": true})).says(untold);
    is_after(&net);
    net.filterd(["status"]).exits(7).says(untold).says("filterd retries every 5 s; a start before then");
    fs::remove_dir_all(&note).expect("it was made here");
    until(|| net.filterd(["status"]).is_success(), "it is noted");
    net.end(Signal::SIGKILL);
    again(&mut net);
    is_after(&net);
    net.filterd(["status"]).succeeds();
}

/// In the very moment in which its time is over, and from many sides: it happens once, and all are told that it is so.
#[test]
fn simultaneous_rollbacks_happen_once() {
    let net = before();
    for _ in 0..3 {
        change_files(&net);
        let begun = Instant::now();
        net.filterd(["reload", "--confirm", "1s"]).succeeds();
        thread::sleep(Duration::from_millis(990).saturating_sub(begun.elapsed()));
        let asked: Vec<_> = (0..8)
            .map(|_| {
                let mut command = Command::new(binary());
                command.arg("--socket").arg(net.home().socket()).arg("rollback").stdout(Stdio::null());
                command.spawn().expect("it can be asked")
            })
            .collect();
        for mut asked in asked {
            assert!(asked.limited_wait().expect("it ends").success());
        }
        is_before(&net);
        was_rolled_back_before(&net);
        net.file("drop.txt", "192.0.2.78\n203.0.113.200\n");
        net.configure(BEFORE);
        net.filterd(["reload"]).succeeds();
    }
}

/// So many that a reload of them takes a while: 11.0.0.7 is among them.
fn many() -> String {
    (0..500_000).map(|host: u32| format!("11.{}.{}.{}\n", host >> 16, host >> 8 & 255, host & 255)).collect()
}

/// The reload has come to its end before it is rolled back, and whoever asked for it is told that it was in force.
#[test]
fn rollback_waits_for_the_running_reload() {
    let net = before();
    let many = many();
    net.file("more.txt", &format!("192.0.2.77\n{many}"));
    // A reload may have ended before it is seen at work. Then it is tried again.
    let reload = (0..10).find_map(|_| {
        net.file("drop.txt", "203.0.113.200\n");
        net.configure(AFTER);
        let mut reload = Command::new(binary());
        reload.arg("--socket").arg(net.home().socket()).args(["reload", "--confirm", "1h"]);
        let mut reload = reload.stdout(Stdio::null()).spawn().expect("it can be asked");
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            // Nobody knows yet what it would keep.
            let confirm = net.filterd(["confirm", "--json"]).json();
            if confirm["at_work"] == true {
                assert_eq!(confirm["confirmed"], false);
                return Some(reload);
            }
            if confirm["confirmed"] == true {
                break;
            }
        }
        assert!(reload.limited_wait().expect("it ends").success());
        net.file("drop.txt", "192.0.2.78\n203.0.113.200\n");
        net.configure(BEFORE);
        net.filterd(["reload"]).succeeds();
        None
    });
    let mut reload = reload.expect("a reload is seen at work");
    net.filterd(["rollback", "--json"]).succeeds().has(json!({"undone": {"left": 500_001}}));
    assert!(reload.limited_wait().expect("it ends").success());
    is_before(&net);
    net.expect("11.0.0.7").passes();
    // One that is refused leaves nothing to be rolled back.
    net.configure("lists: [{name: more, path: $HOME/more.txt}, {name: ssh, path: $HOME/drop.txt}]");
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    net.filterd(["reload", "--confirm", "1h"]).exits(3);
    was_rolled_back_before(&net);
}

/// An outsider's: somebody asks for a list while it is rolled back. The answer comes, and what was rolled back does not
/// return with the next refresh.
#[test]
fn outsiders_refresh_during_rollback_is_answered() {
    let net = before();
    let many = many();
    let is_seen = (0..10).any(|_| {
        net.file("drop.txt", &format!("203.0.113.200\n{many}"));
        net.filterd(["reload", "--confirm", "1h"]).succeeds();
        let mut rollback = Command::new(binary());
        rollback.arg("--socket").arg(net.home().socket()).arg("rollback").stdout(Stdio::null());
        let mut rollback = rollback.spawn().expect("it can be asked");
        // One that comes after the rollback reads the file again.
        let mut is_during = false;
        while !is_during && rollback.try_wait().expect("it can be asked").is_none() {
            let refreshed = net.filterd(["lists", "refresh", "drop", "--json"]).json();
            is_during = refreshed["lists"][0].to_string().contains("is being rolled back");
        }
        assert!(rollback.limited_wait().expect("it ends").success());
        if is_during {
            net.expect("11.0.0.7").passes();
            net.filterd(["lists", "refresh"]).succeeds();
            net.expect("11.0.0.7").passes();
        }
        net.file("drop.txt", "192.0.2.78\n203.0.113.200\n");
        net.filterd(["reload"]).succeeds();
        is_during
    });
    assert!(is_seen, "no refresh was asked for during a rollback");
}

/// A life's: lists that had nothing before the trial have nothing after the next start, whatever their files say by then.
#[test]
fn lifes_start_after_rollback_loads_no_list_that_had_nothing() {
    let mut net = Net::new();
    let config = "block: [198.51.100.9]\nlists: [{name: drop, path: $HOME/drop.txt}, {name: good, path: $HOME/good.txt, allow: true}]";
    net.start(config);
    net.file("drop.txt", "203.0.113.200\n");
    net.file("good.txt", "198.51.100.9\n");
    net.filterd(["reload", "--confirm", "1h"]).succeeds();
    net.expect("203.0.113.200").dropped();
    net.expect("198.51.100.9").passes();
    net.filterd(["rollback"]).succeeds();
    for _ in 0..2 {
        net.expect("203.0.113.200").passes();
        net.expect("198.51.100.9").dropped();
        net.filterd(["status"]).exits(7).says("is not loaded, as before an unconfirmed reload");
        net.end(Signal::SIGKILL);
        net.start(config);
    }
    net.filterd(["reload"]).succeeds();
    net.expect("203.0.113.200").dropped();
    net.expect("198.51.100.9").passes();
}

/// An outsider's: a confirmation that comes too early is not in the log as one.
#[test]
fn outsiders_confirmation_in_vain_is_logged_as_such() {
    let mut net = before();
    net.filterd(["confirm"]).exits(1);
    net.wait_for_log("nothing changed: confirm");
    net.filterd(["rollback"]).exits(1);
    net.wait_for_log("nothing changed: rollback");
    tries(&net, "1h");
    net.filterd(["confirm"]).succeeds();
    net.wait_for_log("INFO confirmed");
}

/// Not by what was fetched meanwhile, and not a moment later: lists are what they were, until they are fetched again.
#[test]
fn download_during_trial_does_not_survive_rollback() {
    let mut net = Net::new();
    let site = Site::up(&net);
    site.has("203.0.113.200\n");
    let config = format!("lists: [{{name: ipsum, {}}}]", Site::keys());
    net.start(&config);
    net.wait_for_log("list updated: ipsum entered=1");
    // When it is answered, copies are on disk.
    net.filterd(["reload"]).succeeds();
    for (ends, new) in [("rollback", "192.0.2.77"), ("confirm", "192.0.2.79")] {
        net.configure(&format!("block: [198.51.100.9]\n{config}"));
        net.filterd(["reload", "--confirm", "1h"]).succeeds();
        site.has(&format!("203.0.113.200\n{new}\n"));
        net.filterd(["lists", "refresh", "ipsum"]).says("ipsum: waits for the reload on trial");
        net.expect(new).passes();
        net.filterd([ends]).succeeds();
        net.expect("203.0.113.200").dropped();
        if ends == "confirm" {
            net.expect(new).then_within(PATIENCE).dropped();
            net.expect("198.51.100.9").dropped();
            continue;
        }
        thread::sleep(Duration::from_millis(500));
        net.expect_each([new, "198.51.100.9"]).passes();
        let lists = net.filterd(["lists", "--json"]).exits(7).json();
        let list = lists["lists"].as_array().into_iter().flatten().find(|list| list["name"] == "ipsum");
        let next = list.and_then(|list| list["fetching"]["next"].as_u64()).expect("it is told");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        assert!(next > now + 600, "{lists}");
    }
    net.filterd(["reload", "--confirm", "1h"]).succeeds();
    site.has("203.0.113.200\n192.0.2.80\n");
    net.filterd(["lists", "refresh", "ipsum"]);
    net.filterd(["rollback"]).succeeds();
    net.filterd(["lists", "refresh", "ipsum"]).succeeds();
    net.expect("192.0.2.80").dropped();
    net.filterd(["lists"]).succeeds();
}

/// What is told to be typed during a trial can be typed then.
#[test]
fn remedies_shown_during_trial_work() {
    let net = before();
    net.configure("block: [198.51.100.9]\nlists: [{name: drop, path: $HOME/drop.txt}, {name: more, path: $HOME/more.txt}]");
    net.filterd(["reload", "--confirm", "1h"]).exits(7).complains("list \"more\" is not loaded");
    let works =
        "then `filterd confirm` or `filterd rollback`, since a reload is on trial, and `filterd reload`";
    net.filterd(["test", "198.51.100.9"]).succeeds().says(works).is_silent_about(", then `filterd reload`");
    net.filterd(["remove", "198.51.100.9"])
        .exits(1)
        .complains(works)
        .is_silent_about(", then `filterd reload`");
    net.filterd(["add", "192.0.2.99", "--list", "drop"]).exits(5).complains(works);
    net.filterd(["status"])
        .exits(7)
        .says("    to keep it: filterd confirm\n    to roll back now: filterd rollback\n    until then other reloads are refused");
    net.filterd(["diff"]).says("a reload is on trial until ").says("other reloads are refused until then");
    net.filterd(["rollback"]).succeeds();
    net.filterd(["test", "198.51.100.9"])
        .succeeds()
        .says(", then `filterd reload`")
        .is_silent_about("on trial");
    net.filterd(["reload"]).exits(7);
    net.filterd(["diff"]).is_silent_about("on trial");
}

#[track_caller]
fn was_rolled_back_before(net: &Net) {
    let told = net.filterd(["rollback", "--json"]).succeeds().json();
    assert!(told["rolled_back"] == false && told["already"].is_u64(), "{told}");
}

#[track_caller]
fn nothing_is_on_trial(net: &Net) {
    let told = net.filterd(["rollback", "--json"]).exits(1).json();
    assert!(told["rolled_back"] == false && told["already"].is_null(), "{told}");
}

/// What was in force in the beginning is what is on trial.
#[track_caller]
fn tries_again(net: &Net) {
    net.file("drop.txt", "192.0.2.78\n203.0.113.200\n");
    net.configure(BEFORE);
    net.filterd(["reload", "--confirm", "1h"]).succeeds();
    is_before(net);
}

/// A list of which everything is over is in force as whole as any other: there is a copy of it.
#[test]
fn trial_works_after_rollback_with_expired_list() {
    let mut net = Net::new();
    net.file("seen.txt", BYSTANDER);
    net.start("lists: [{name: seen, path: $HOME/seen.txt, ttl: 1s}]");
    net.file("seen.txt", ATTACKER);
    net.filterd(["reload", "--confirm", "1h"]).succeeds();
    net.expect(BYSTANDER).then_within(PATIENCE).passes();
    net.expect(ATTACKER).then_within(PATIENCE).passes();
    net.filterd(["rollback"]).succeeds();
    net.filterd(["status"]).exits(7).says("list \"seen\" is as it was before an unconfirmed reload");
    net.file("seen.txt", NEW);
    net.filterd(["reload", "--confirm", "1h"]).succeeds();
    net.filterd(["confirm"]).succeeds();
}

/// What a reload on trial was told to accept is taken back with it: the interface is missed as before.
#[test]
fn interface_accepted_on_trial_is_missed_after_rollback() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.configure("interfaces: [eth0, usb0]\nblock: [203.0.113.7]");
    net.filterd(["reload"]).exits(7).complains("usb0");
    net.filterd(["reload", "--accept", "usb0", "--confirm", "1h"]).succeeds();
    net.filterd(["rollback"]).exits(7).complains("usb0");
    net.filterd(["reload"]).exits(7).complains("usb0");
    net.filterd(["reload", "--accept", "usb0", "--confirm", "1h"]).succeeds();
    net.filterd(["confirm"]).succeeds();
    net.filterd(["reload"]).succeeds();
}

/// Configuration and lists say what is in force: there is nothing that somebody would have to decide, now or after a start.
#[test]
fn trial_without_changes_leaves_no_report() {
    for by_itself in [true, false] {
        let mut net = before();
        // As a job writes it every night, with the same in it.
        for _ in 0..2 {
            net.filterd(["reload", "--confirm", if by_itself { "1s" } else { "1h" }]).succeeds();
            if by_itself {
                until(|| net.filterd(["status"]).is_success(), "it is rolled back, and all is well");
            } else {
                net.filterd(["rollback"]).succeeds();
            }
            net.filterd(["status"]).succeeds();
            let confirmed = net.filterd(["confirm", "--json"]).exits(1).json();
            assert!(confirmed["rolled_back"].is_u64(), "{confirmed}");
            net.file("drop.txt", "192.0.2.78\n203.0.113.200\n");
            net.filterd(["reload"]).succeeds();
        }
        net.filterd(["reload", "--confirm", "1h"]).succeeds();
        net.filterd(["rollback"]).succeeds();
        is_before(&net);
        // What comes after it is no part of it.
        net.file("drop.txt", "192.0.2.78\n203.0.113.200\n192.0.2.77\n");
        net.end(Signal::SIGKILL);
        net.start(BEFORE);
        net.expect_each([OLD, NEW]).dropped();
        net.filterd(["status"]).succeeds();
    }
}

#[test]
fn unchanged_list_reports_nothing_after_rollback() {
    let mut net = before();
    net.file("drop.txt", "192.0.2.78\n203.0.113.200\n");
    net.filterd(["reload"]).succeeds();
    net.configure("lists: [{name: drop, path: $HOME/drop.txt}]");
    net.filterd(["reload", "--confirm", "1h"]).succeeds();
    net.filterd(["rollback"]).succeeds();
    for _ in 0..2 {
        is_before(&net);
        wait_until_rolled_back(&net);
        net.filterd(["status"]).is_silent_about("list \"drop\"").is_silent_about("list drop");
        net.end(Signal::SIGKILL);
        net.start("lists: [{name: drop, path: $HOME/drop.txt}]");
    }
}

#[test]
fn rollback_reports_everything_it_restores() {
    let lists = |one: &str, two: &str| {
        format!("lists: [{{name: one, path: $HOME/one.txt{one}}}, {{name: two, path: $HOME/two.txt{two}}}]")
    };
    for changed in [false, true] {
        let mut net = Net::new();
        net.file("one.txt", ATTACKER);
        net.file("two.txt", BYSTANDER);
        net.start(&lists("", ""));
        if changed {
            net.file("one.txt", &format!("{ATTACKER}\n{NEW}\n"));
            net.file("two.txt", &format!("{BYSTANDER}\n{OLD}\n"));
        }
        net.configure(&lists(", ports: [22], max_entries: 7", ", allow: true"));
        let settings = json!([
            "list one: blocks on port 22 only from now on, other limits",
            "list two: allows from now on"
        ]);
        net.filterd(["reload", "--confirm", "1h", "--json"]).succeeds().has(json!({"settings": settings}));
        let (one, two) =
            ("list one: blocks on all ports from now on, other limits", "list two: blocks from now on");
        net.filterd(["rollback", "--json"]).succeeds().has(json!({"undone": {"settings": [one, two]}}));
        net.expect_each([ATTACKER, BYSTANDER]).dropped();
        net.wait_for_log(&format!(r#"INFO rolled back settings="{one}; {two}""#));
    }
}
