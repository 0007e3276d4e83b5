//! A list that blocked is to allow, or the reverse, and what its file says is not believed, or was not fetched yet: it goes on as
//! it was, and says so, over restarts and under other names, until there is something that is believed. What was blocked is not
//! allowed because a file is missing.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net, SavedGeneration, Site};

use crate::confirm::wait_until_rolled_back;

/// Blocked whatever lists say.
const INLINE: &str = "203.0.113.0/24";

fn config(list: &str) -> String {
    format!("block: [{INLINE}, \"2001:db8:bad::/48\"]\nlists: [{list}]")
}

fn partners(file: &str, allow: bool) -> String {
    format!("{{name: partners, path: $HOME/{file}, allow: {allow}}}")
}

/// Waits until the record of a saved list says this.
pub(super) fn wait_for_copies(net: &Net, said: &str) {
    let begun = Instant::now();
    let is_said = || {
        let saved = |name| SavedGeneration::read(net.home(), name);
        let mut saved = [saved("current"), saved("trial")].into_iter().flatten();
        saved.any(|saved| saved.lists().any(|list| list["means"] == said))
    };
    while !is_said() {
        assert!(begun.elapsed() < Duration::from_secs(30), "no copy says {said}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[track_caller]
fn blocks(net: &Net) {
    net.expect_each([ATTACKER, ATTACKER6, BYSTANDER]).dropped();
    net.filterd(["allow", "list"]).is_silent_about(BYSTANDER);
}

#[test]
fn missing_file_allows_no_blocked_address() {
    let mut net = Net::new();
    let said = format!("{ATTACKER}\n{ATTACKER6}\n{BYSTANDER}\n");
    let file = net.file("partners.txt", &said);
    net.start(&config(&partners("partners.txt", false)));
    net.expect_each([ATTACKER, ATTACKER6, BYSTANDER]).dropped();
    wait_for_copies(&net, "block");

    fs::remove_file(&file).expect("it was there");
    let turned = config(&partners("partners.txt", true));
    net.configure(&turned);
    net.filterd(["diff"])
        .exits(7)
        .complains("its entries would still be blocked: it allows only once its file is accepted")
        .is_silent_about("would allow");
    net.filterd(["reload"])
        .exits(7)
        .complains("its entries are still blocked: it allows only once its file is accepted");
    blocks(&net);

    // Another reload, a restart, another name: nothing makes of it what it is not.
    net.filterd(["reload"]).exits(7).complains("are still blocked");
    blocks(&net);
    net.end(Signal::SIGKILL);
    net.start(&turned);
    blocks(&net);
    net.end(Signal::SIGKILL);
    let renamed = turned.replace("name: partners", "name: friends");
    net.start(&renamed);
    blocks(&net);
    net.configure(&turned);
    net.filterd(["reload"]).exits(7);
    blocks(&net);

    // What is there then is not believed either.
    net.file("partners.txt", "<!DOCTYPE html>\n");
    net.filterd(["lists", "refresh", "partners"]).exits(7);
    blocks(&net);
    net.end(Signal::SIGKILL);
    net.start(&turned);
    blocks(&net);

    net.file("partners.txt", &said);
    net.filterd(["lists", "refresh", "partners"]).succeeds();
    net.expect_each([ATTACKER, ATTACKER6, BYSTANDER]).passes();
    net.filterd(["status"]).succeeds();
    wait_for_copies(&net, "allow");
    net.end(Signal::SIGKILL);
    fs::remove_file(&file).expect("it was there");
    net.start(&turned);
    net.expect_each([ATTACKER, ATTACKER6, BYSTANDER]).passes();
}

#[test]
fn missing_file_blocks_no_allowed_address() {
    let mut net = Net::new();
    let said = format!("{ATTACKER}\n{BYSTANDER}\n");
    let file = net.file("partners.txt", &said);
    net.start(&config(&partners("partners.txt", true)));
    net.expect_each([ATTACKER, BYSTANDER]).passes();
    wait_for_copies(&net, "allow");
    fs::remove_file(&file).expect("it was there");
    let turned = config(&partners("partners.txt", false));
    net.configure(&turned);
    let allows = |net: &Net| {
        net.expect_each([ATTACKER, BYSTANDER]).passes();
        net.expect("203.0.113.99").dropped();
        net.filterd(["status"])
            .exits(7)
            .says("its entries are still allowed: it blocks only once its file is accepted");
    };
    net.filterd(["reload"]).exits(7).complains("are still allowed");
    allows(&net);
    net.end(Signal::SIGKILL);
    net.start(&turned);
    allows(&net);
    // The operator means it: the file is not there, and nothing is on the list any more.
    net.filterd(["reload", "--accept", "partners"]).succeeds();
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
    net.file("partners.txt", &said);
    net.filterd(["reload"]).succeeds();
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
}

/// Two lists of both kinds, each with the other one's file from now on, and no file there.
#[test]
fn swapped_names_keep_the_kind_of_lists() {
    let mut net = Net::new();
    let [bad, good] = [("bad.txt", BYSTANDER), ("good.txt", ATTACKER)];
    let files = [bad, good].map(|(file, said)| net.file(file, said));
    let lists = |one: &str, other: &str| {
        config(&format!("{{name: bad, path: $HOME/{one}}}, {{name: good, path: $HOME/{other}, allow: true}}"))
    };
    net.start(&lists("bad.txt", "good.txt"));
    let is_as_before = |net: &Net| {
        net.expect(BYSTANDER).dropped();
        net.expect(ATTACKER).passes();
        net.expect("203.0.113.99").dropped();
    };
    is_as_before(&net);
    wait_for_copies(&net, "allow");
    wait_for_copies(&net, "block");
    for file in &files {
        fs::remove_file(file).expect("it was there");
    }
    let swapped = lists("good.txt", "bad.txt");
    net.configure(&swapped);
    net.filterd(["reload"]).exits(7).complains("are still blocked").complains("are still allowed");
    is_as_before(&net);
    net.end(Signal::SIGKILL);
    net.start(&swapped);
    is_as_before(&net);
    net.file("bad.txt", BYSTANDER);
    net.file("good.txt", ATTACKER);
    net.filterd(["reload"]).succeeds();
    net.expect(BYSTANDER).passes();
    net.expect(ATTACKER).dropped();
}

#[test]
fn feed_changed_to_allow_blocks_until_downloaded() {
    let mut net = Net::new();
    let site = Site::up(&net);
    site.has(&format!("{ATTACKER}\n"));
    let list = |file: &str, allow: bool| {
        let keys = Site::keys().replace("list.txt", file);
        config(&format!("{{name: partners, {keys}, allow: {allow}}}")).replace(INLINE, "192.0.2.0/24")
    };
    net.start(&list("list.txt", false));
    net.filterd(["lists", "refresh", "partners"]).succeeds();
    net.expect(ATTACKER).dropped();
    wait_for_copies(&net, "block");

    site.fails("503 Service Unavailable");
    let turned = list("other.txt", true);
    net.configure(&turned);
    net.filterd(["reload"])
        .exits(7)
        .complains(
            "nothing has been fetched from http://198.19.255.254/other.txt?… yet\n  the 1 target read on",
        )
        .complains("its entries are still blocked");
    net.expect(ATTACKER).dropped();
    for _ in 0..2 {
        net.filterd(["lists", "refresh", "partners"]).exits(7);
        net.expect(ATTACKER).dropped();
        net.filterd(["status"]).exits(7).says("partners");
        net.end(Signal::SIGKILL);
        net.start(&turned);
        net.expect(ATTACKER).dropped();
    }
    // What has come is what the list allows: not what it blocked.
    site.has(&format!("{ATTACKER}\n"));
    let refreshed = net.filterd(["lists", "--json", "refresh", "partners"]).succeeds().json();
    assert_eq!(
        refreshed["lists"][0]["outcome"], "changed",
        "the same words, which do the reverse: {refreshed}"
    );
    net.expect(ATTACKER).passes();
    let unchanged = json!({"list": "partners", "outcome": "unchanged"});
    net.filterd(["lists", "refresh", "partners", "--json"]).succeeds().has(json!({"lists": [unchanged]}));
    site.has(&format!("{BYSTANDER}\n"));
    net.filterd(["lists", "refresh", "partners"]).succeeds();
    net.filterd(["add", BYSTANDER, ATTACKER, "--json"]).exits(1).has(json!({"allowed": 1}));
    net.expect(BYSTANDER).passes();
    net.expect(ATTACKER).dropped();
    net.filterd(["status"]).succeeds();
}

#[test]
fn rollback_restores_the_kind_of_a_list() {
    let mut net = Net::new();
    let file = net.file("partners.txt", BYSTANDER);
    net.start(&config(&partners("partners.txt", false)));
    net.expect(BYSTANDER).dropped();
    wait_for_copies(&net, "block");
    let turned = config(&partners("partners.txt", true));
    net.configure(&turned);
    net.filterd(["reload", "--confirm", "1s"]).succeeds();
    net.expect(BYSTANDER).passes();
    wait_until_rolled_back(&net);
    net.expect(BYSTANDER).dropped();

    // The same with one that waits for its file when the trial begins, and is believed in it.
    fs::remove_file(&file).expect("it was there");
    net.filterd(["reload"]).exits(7).complains("are still blocked");
    net.file("partners.txt", BYSTANDER);
    net.filterd(["reload", "--confirm", "1s"]).succeeds();
    net.expect(BYSTANDER).passes();
    net.end(Signal::SIGKILL);
    thread::sleep(Duration::from_secs(2));
    net.start(&turned);
    net.expect(BYSTANDER).dropped();
    net.filterd(["reload"]).succeeds();
    net.expect(BYSTANDER).passes();
}

/// What is read then is judged by what is in force, whatever it is to do from now on: a file that is broken, or much shorter,
/// takes nobody's place.
#[test]
fn change_of_kind_does_not_accept_bad_file() {
    let many = |beside: &str| -> String {
        let hosts = (0..200).map(|host| format!("192.0.2.{host}\n"));
        hosts.chain([format!("{beside}\n")]).collect()
    };
    let rubbish = format!("{ATTACKER}\n{}{BYSTANDER}\n", "x x x\n".repeat(50));
    let short = format!("{ATTACKER}\n{BYSTANDER}\n");
    for allow in [true, false] {
        let mut net = Net::new();
        net.file("partners.txt", &many(BYSTANDER));
        net.start(&config(&partners("partners.txt", !allow)));
        wait_for_copies(&net, if allow { "block" } else { "allow" });
        let is_as_before = |net: &Net| {
            net.expect(ATTACKER).dropped();
            if allow {
                net.expect(BYSTANDER).dropped()
            } else {
                net.expect(BYSTANDER).passes()
            };
        };
        is_as_before(&net);
        net.configure(&config(&partners("partners.txt", allow)));
        for spoilt in [rubbish.as_str(), short.as_str(), "", "# nothing\n"] {
            net.file("partners.txt", spoilt);
            let held_back = json!({"held_back": [{"list": "partners"}]});
            net.filterd(["diff", "--json"]).exits(7).has(&held_back);
            net.filterd(["reload", "--json"]).exits(7).has(held_back).says("201 targets read on");
            is_as_before(&net);
        }
        net.end(Signal::SIGKILL);
        net.start(&config(&partners("partners.txt", allow)));
        is_as_before(&net);
        net.filterd(["status"]).exits(7).says("201 targets read on");
        net.file("partners.txt", &many(ATTACKER));
        net.filterd(["reload"]).succeeds();
        if allow {
            net.expect_each([ATTACKER, BYSTANDER]).passes();
        } else {
            net.expect(ATTACKER).dropped();
            net.expect("192.0.2.9").dropped();
        }
    }
}

/// It counts anew, whether filterd runs meanwhile or not.
#[test]
fn expired_allow_entries_block_after_change_of_kind() {
    for runs in [true, false] {
        let mut net = Net::new();
        net.file("partners.txt", ATTACKER);
        let list = |allow: bool| {
            format!("lists: [{{name: partners, path: $HOME/partners.txt, allow: {allow}, ttl: 8s}}]")
        };
        net.start(&format!("block: [{INLINE}]\n{}", list(true)));
        wait_for_copies(&net, "allow");
        net.expect(ATTACKER).then_within(Duration::from_secs(30)).dropped();
        net.configure(&list(false));
        if runs {
            net.filterd(["reload"]).succeeds();
        } else {
            net.end(Signal::SIGKILL);
            net.start(&list(false));
        }
        net.expect(ATTACKER).dropped();
        net.expect(ATTACKER).then_within(Duration::from_secs(30)).passes();
    }
}
