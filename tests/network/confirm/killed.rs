//! filterd is killed while something is on trial, and files of it are gone or spoilt when it starts again: what is on trial is
//! what it was, what was before is put back as it was, and whoever confirms is told what is not as the files say.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use harness::{ATTACKER, BYSTANDER, Net, SavedGeneration};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::changed_kind::wait_for_copies;

use super::{
    PATIENCE, again, before, is_after, is_before, is_not_on_trial, is_on_trial, nothing_to_confirm, tries,
};

#[test]
fn trial_continues_after_kill_without_files() {
    let mut net = before();
    tries(&net, "1h");
    wait_for_tried(&net, &["drop", "more"]);
    kill_without(&mut net, &["more.txt", "drop.txt"]);
    again(&mut net);
    is_after(&net);
    is_on_trial(&net);
    // Once more: the start has read nothing that it could have kept anew.
    net.end(Signal::SIGKILL);
    again(&mut net);
    is_after(&net);
    net.filterd(["confirm", "--json"])
        .exits(7)
        .has(json!({"confirmed": true, "held_back": [{"list": "more"}, {"list": "drop"}]}));
    assert_eq!(tried(&net), 0, "what has stood its trial is a copy as any other");
    net.end(Signal::SIGKILL);
    again(&mut net);
    is_after(&net);
    nothing_to_confirm(&net);
}

#[test]
fn rollback_after_kill_needs_no_files() {
    for killed_again in [false, true] {
        let mut net = before();
        tries(&net, "1h");
        wait_for_tried(&net, &["drop", "more"]);
        kill_without(&mut net, &["more.txt", "drop.txt"]);
        again(&mut net);
        is_after(&net);
        net.filterd(["rollback"]).succeeds();
        is_before(&net);
        if killed_again {
            net.end(Signal::SIGKILL);
            again(&mut net);
            is_before(&net);
        }
        wait_until_nothing_is_tried(&net);
        net.filterd(["confirm"]).exits(1);
        is_before(&net);
    }
}

/// Whatever becomes of its file meanwhile, and over as many starts as one likes.
#[test]
fn list_moved_during_trial_has_copy_once_confirmed() {
    let list = |file: &str| format!("lists: [{{name: drop, path: $HOME/{file}}}]");
    for moves in [true, false] {
        for starts in 1..4 {
            let mut net = Net::new();
            net.file("a.txt", ATTACKER);
            net.start(&list("a.txt"));
            let path = |name| net.home().path(name);
            let (after, dropped) = match moves {
                true => ("b.txt", ATTACKER),
                false => ("a.txt", BYSTANDER),
            };
            if moves {
                fs::rename(path("a.txt"), path("b.txt")).expect("it is there");
            } else {
                net.file("a.txt", BYSTANDER);
            }
            net.configure(&list(after));
            net.filterd(["reload", "--confirm", "1h"]).succeeds();
            wait_for_tried(&net, &["drop"]);
            let (file, aside) = (net.home().path(after), net.home().path("aside"));
            for start in 0..starts {
                net.end(Signal::SIGKILL);
                // At every second start it is not there.
                let (from, to) = if start % 2 == 1 { (&file, &aside) } else { (&aside, &file) };
                if from.exists() {
                    fs::rename(from, to).expect("it is there");
                }
                net.start(&list(after));
                net.expect(dropped).dropped();
            }
            net.filterd(["confirm"]).exits(if file.exists() { 0 } else { 7 });
            wait_until_nothing_is_tried(&net);
            net.filterd(["reload", "--confirm", "1h"]);
            net.filterd(["rollback"]);
            _ = fs::remove_file(&file);
            net.end(Signal::SIGKILL);
            net.start(&list(after));
            net.expect(dropped).dropped();
        }
    }
}

/// Its copy of before and that on trial have the same bytes, and mean the reverse.
#[test]
fn change_to_allow_survives_kill_until_rollback() {
    for confirmed in [false, true] {
        let list = |allow: bool| {
            format!(
                "block: [203.0.113.0/24]\nlists: [{{name: friends, path: $HOME/friends.txt, allow: {allow}}}]"
            )
        };
        let mut net = Net::new();
        net.file("friends.txt", &format!("{ATTACKER}\n{BYSTANDER}\n"));
        net.start(&list(false));
        net.expect_each([ATTACKER, BYSTANDER]).dropped();
        net.configure(&list(true));
        net.filterd(["reload", "--confirm", "1h"]).succeeds();
        net.expect_each([ATTACKER, BYSTANDER]).passes();
        wait_for_copies(&net, "allow");

        kill_without(&mut net, &["friends.txt"]);
        net.start(&list(true));
        net.expect_each([ATTACKER, BYSTANDER]).passes();
        is_on_trial(&net);
        if confirmed {
            net.filterd(["confirm", "--json"]).exits(7).has(json!({"held_back": [{"list": "friends"}]}));
        } else {
            net.filterd(["rollback"]).succeeds();
        }
        for _ in 0..2 {
            let expected = net.expect_each([ATTACKER, BYSTANDER]);
            if confirmed {
                expected.passes()
            } else {
                expected.dropped()
            };
            wait_until_nothing_is_tried(&net);
            net.end(Signal::SIGKILL);
            net.start(&list(true));
        }
    }
}

/// Its copy of before stays, to be put back. Whoever names a list so meanwhile, with another file, has another list.
#[test]
fn list_removed_on_trial_stays_removed_after_restart() {
    let (stays, seen) = ("203.0.113.8", ATTACKER);
    let friends =
        |name: &str, file: &str, allow: bool| format!("{{name: {name}, path: $HOME/{file}, allow: {allow}}}");
    let config = |allow: bool, lists: &[String]| {
        let block = if allow { "203.0.113.0/24" } else { "198.51.100.9" };
        format!("block: [{block}]\nlists: [{}]", lists.join(", "))
    };
    for (allow, renamed, confirmed) in [
        (true, false, true),
        (true, true, true),
        (false, true, false),
        (false, false, true),
        (true, true, false),
    ] {
        let mut net = Net::new();
        net.file("friends.txt", &format!("{seen}\n{stays}\n"));
        net.start(&config(allow, &[friends("friends", "friends.txt", allow)]));
        let passes = |net: &Net, it_does: bool| {
            let expected = net.expect(seen);
            if it_does {
                expected.passes()
            } else {
                expected.dropped()
            };
        };
        let (is_on_it, is_not) = (|net: &Net| passes(net, allow), |net: &Net| passes(net, !allow));
        is_on_it(&net);
        let mut lists: Vec<_> = renamed.then(|| friends("staff", "friends.txt", allow)).into_iter().collect();
        net.configure(&config(allow, &lists));
        net.filterd(["reload", "--confirm", "1h"]).succeeds();
        net.file("friends.txt", &format!("{stays}\n"));
        lists.push(friends("friends", "elsewhere.txt", allow));
        for _ in 0..2 {
            net.end(Signal::SIGKILL);
            net.start(&config(allow, &lists));
            is_not(&net);
            is_on_trial(&net);
        }
        if confirmed {
            net.filterd(["confirm"]).exits(7).complains("list \"friends\" is not loaded");
            net.filterd(["reload", "--json"]).exits(7).has(json!({"held_back": [{"list": "friends"}]}));
            is_not(&net);
        } else {
            net.filterd(["rollback"]).succeeds();
            is_on_it(&net);
        }
    }
}

/// What is on trial is what that start has read; one that comes after it takes no list for one that was not there.
#[test]
fn list_removed_by_restart_within_trial_stays_removed() {
    let list = |file: &str| format!("block: [198.51.100.9]\nlists: [{{name: drop, path: $HOME/{file}}}]");
    let mut net = before();
    net.configure(&list("drop.txt"));
    net.file("more.txt", "192.0.2.77\n");
    net.filterd(["reload", "--confirm", "1h"]).succeeds();
    net.end(Signal::SIGKILL);
    net.start("block: [198.51.100.9]");
    net.expect("203.0.113.200").passes();
    net.end(Signal::SIGKILL);
    net.start(&list("elsewhere.txt"));
    net.expect("203.0.113.200").passes();
    net.filterd(["status"]).exits(7).says("list \"drop\" is not loaded");
    // A configuration that is not valid is that of before, with all it had.
    fs::remove_file(net.home().path("drop.txt")).expect("it is there");
    net.end(Signal::SIGKILL);
    net.start("block: [");
    is_before(&net);
    net.filterd(["rollback"]).succeeds();
    is_before(&net);
}

#[test]
fn confirm_reports_held_back_lists() {
    let net = before();
    net.file("more.txt", "192.0.2.77\n");
    fs::remove_file(net.home().path("drop.txt")).expect("it was there");
    net.configure(super::AFTER);
    let held_back = json!({"held_back": [{"list": "drop"}]});
    net.filterd(["reload", "--confirm", "1h", "--json"]).exits(7).has(&held_back);
    net.filterd(["confirm", "--json"]).exits(7).has(held_back).has(json!({"confirmed": true}));
    net.filterd(["status"]).exits(7).says("list \"drop\" was not updated").is_silent_about("on trial");
}

/// What is not valid at a start is not on trial: who confirms keeps what is in force, and is told that it is another.
#[test]
fn confirm_after_bad_configuration_reports_what_stays() {
    let mut net = before();
    tries(&net, "1h");
    net.configure("block: [");
    net.end(Signal::SIGKILL);
    net.start("block: [");
    net.filterd(["status"]).exits(7).says("the one from before the trial is in force");
    net.filterd(["confirm", "--json"])
        .exits(7)
        .has(json!({"confirmed": true}))
        .says("the configuration is not in force, its last good copy");
    net.filterd(["status"]).exits(7).says("the configuration is not in force");
    is_not_on_trial(&net);
}

/// As after a kill in the middle of `confirm`: the generation has its name, and nothing else has changed.
#[test]
fn kill_during_confirm_leaves_it_confirmed() {
    let mut net = before();
    tries(&net, "1h");
    wait_for_tried(&net, &["drop", "more"]);
    kill_without(&mut net, &["more.txt", "drop.txt"]);
    let [trial, current] = ["state/trial", "state/current"].map(|path| net.home().path(path));
    fs::rename(&trial, current).expect("there is a trial");
    for _ in 0..2 {
        again(&mut net);
        is_after(&net);
        nothing_to_confirm(&net);
        is_not_on_trial(&net);
        assert!(tried(&net) == 0 && !trial.exists());
        net.end(Signal::SIGKILL);
    }
    // The configuration's copy, too.
    net.start("enforce: perhaps");
    is_after(&net);
}

/// Somebody has removed them, or they were lost: the next reload says that all is well, and makes it so.
#[test]
fn next_reload_replaces_missing_copies() {
    let mut net = before();
    let copies = net.home().path("state/blobs");
    let begun = Instant::now();
    while SavedGeneration::read(net.home(), "current").is_none() {
        assert!(begun.elapsed() < PATIENCE, "there are no copies");
        thread::sleep(Duration::from_millis(10));
    }
    let unchanged = json!({"entered": 0, "left": 0, "unchanged": 1});
    net.filterd(["reload", "--json"]).succeeds().has(unchanged.clone());
    fs::remove_dir_all(&copies).expect("it is there");
    net.filterd(["reload", "--json"]).succeeds().has(unchanged);
    // Where its file is gone as well, nothing is left to make one of.
    fs::remove_dir_all(&copies).expect("it is there");
    let (file, aside) = (net.home().path("drop.txt"), net.home().path("aside"));
    fs::rename(&file, &aside).expect("it is there");
    // What is edited is not to come into force for want of a copy.
    net.configure(super::AFTER);
    net.filterd(["reload", "--confirm", "1h"])
        .exits(5)
        .complains("there is no copy of list \"drop\"")
        .complains("undo your edits, which would take effect without a trial\n  restore its file\n  to make a copy: filterd reload")
        .complains("then edit again and try it");
    net.configure(super::BEFORE);
    net.filterd(["reload"])
        .exits(7)
        .complains("there is no copy of list \"drop\"")
        .complains("restore its file\n  to make a copy: filterd reload");
    fs::rename(&aside, &file).expect("it is there");
    net.filterd(["reload"]).succeeds();
    kill_without(&mut net, &["drop.txt"]);
    net.start(super::BEFORE);
    is_before(&net);
}

/// Ends it at once, and then these files are gone.
fn kill_without(net: &mut Net, files: &[&str]) {
    net.end(Signal::SIGKILL);
    for file in files {
        fs::remove_file(net.home().path(file)).expect("it was there");
    }
}

fn tried(net: &Net) -> usize {
    SavedGeneration::read(net.home(), "trial").map_or(0, |trial| trial.lists().count())
}

/// Waits until what is on trial is saved as its files say, with lists of these names.
#[track_caller]
fn wait_for_tried(net: &Net, names: &[&str]) {
    let begun = Instant::now();
    let is_saved = |trial: SavedGeneration| trial.names() == names && trial.is_of_files();
    while !SavedGeneration::read(net.home(), "trial").is_some_and(is_saved) {
        assert!(begun.elapsed() < PATIENCE, "{names:?} are not saved");
        thread::sleep(Duration::from_millis(10));
    }
}

#[track_caller]
fn wait_until_nothing_is_tried(net: &Net) {
    let begun = Instant::now();
    while tried(net) > 0 {
        assert!(begun.elapsed() < PATIENCE, "copies of what was on trial stay");
        thread::sleep(Duration::from_millis(10));
    }
}
