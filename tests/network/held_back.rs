//! What a list file says is not believed when it is missing, empty, spoilt or suddenly much shorter: what was good before
//! stays, in a running filterd and at the next start, and is told, until somebody says that it is meant.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use harness::{ATTACKER, BYSTANDER, Net, Reply, SavedGeneration, until};
use serde_json::json;

const CONFIG: &str = "lists: [{name: drop, path: $HOME/drop.txt}]";

/// Waits until every list is saved and no other. Returns their blobs.
#[track_caller]
fn wait_for_copies(net: &Net, names: &[&str]) -> Vec<PathBuf> {
    let begun = Instant::now();
    loop {
        let saved = SavedGeneration::read(net.home(), "current").filter(|saved| saved.names() == names);
        if let Some(saved) = saved {
            return saved.blobs();
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{names:?} are not saved");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// It says, in JSON, that this list is not what its file says.
#[track_caller]
fn held_back(reply: &Reply, list: &str) {
    reply.clone().exits(7).has(json!({"held_back": [{"list": list}]}));
}

fn many(count: u32) -> String {
    (0..count)
        .fold(format!("{ATTACKER}\n"), |text, host| text + &format!("11.0.{}.{}\n", host >> 8, host & 255))
}

#[test]
fn spoilt_list_is_held_back_until_accepted() {
    let mut net = Net::new();
    let whole = many(300);
    let file = net.file("drop.txt", &whole);
    net.start(CONFIG);
    wait_for_copies(&net, &["drop"]);
    let half = many(100);
    let rubbish = format!("{}{}", "no target\n".repeat(200), whole);
    for (spoilt, why) in [
        ("", "is empty, but had 301 targets before"),
        (half.as_str(), "has 101 targets, but had 301 before"),
        ("<!DOCTYPE html>\n", "it looks like HTML"),
        (rubbish.as_str(), "200 of which were not understood"),
    ] {
        net.file("drop.txt", spoilt);
        net.filterd(
            ["check", net.home().path("filterd.yaml").to_str().unwrap(), "--state-dir"]
                .into_iter()
                .chain([net.home().path("state").to_str().unwrap()]),
        )
        .exits(7)
        .complains(why);
        // A web page is never meant.
        let remedy = if why.ends_with("HTML") {
            "after replacing the file with the list"
        } else {
            "reload --accept drop"
        };
        net.filterd(["-q", "reload"]).exits(7).complains(why).complains(remedy);
        net.filterd(["status"]).exits(7).says("list \"drop\" was not updated").says("remain in force");
        net.expect(ATTACKER).dropped();
        net.expect("11.0.0.250").dropped();
        net.wait_for_log(why);
    }
    fs::remove_file(&file).expect("it was there");
    let told = net.filterd(["reload", "--json"]).exits(7).json();
    assert_eq!(told["held_back"][0]["list"], "drop");
    net.expect(ATTACKER).dropped();
    net.file("drop.txt", &whole);
    net.filterd(["reload"]).succeeds();
    net.filterd(["status"]).succeeds();
    // Now it is meant.
    net.file("drop.txt", &half);
    net.filterd(["reload", "--accept", "dorp"]).exits(2).complains("dorp").complains("drop");
    net.expect("11.0.0.250").dropped();
    net.filterd(["reload", "--accept", "drop"]).succeeds();
    net.expect("11.0.0.250").passes();
    net.expect(ATTACKER).dropped();
    net.file("drop.txt", "");
    net.filterd(["reload", "--accept", "all"]).succeeds();
    net.expect(ATTACKER).passes();
    // What was accepted as empty stays so quietly, after a death too.
    net.file("drop.txt", "# nothing\n");
    net.filterd(["reload"]).succeeds();
    net.end(Signal::SIGKILL);
    net.start(CONFIG);
    net.filterd(["status"]).succeeds();
}

#[test]
fn list_without_file_survives_a_crash() {
    let mut net = Net::new();
    let file = net.file("drop.txt", &format!("{ATTACKER}\n"));
    net.file("other.txt", &format!("{BYSTANDER}\n"));
    let both = "lists: [{name: drop, path: $HOME/drop.txt}, {name: other, path: $HOME/other.txt}]";
    net.start(both);
    let copies = wait_for_copies(&net, &["drop", "other"]);
    // A list that is renamed keeps its copy, one that is removed loses it.
    net.configure("lists: [{name: spamhaus, path: $HOME/drop.txt}]");
    net.filterd(["reload"]).succeeds();
    let renamed = wait_for_copies(&net, &["spamhaus"]);
    assert_eq!(renamed, copies[..1]);
    until(|| !copies[1].exists(), "the copy of the removed list goes");
    net.end(Signal::SIGKILL);
    fs::remove_file(&file).expect("it was there");
    net.start("lists: [{name: spamhaus, path: $HOME/drop.txt}]");
    net.expect(ATTACKER).dropped();
    net.filterd(["reload"]).exits(7).complains("there is no such file");
    net.expect(ATTACKER).dropped();
    // Renamed while nobody ran, and still without its file.
    net.end(Signal::SIGKILL);
    net.start("lists: [{name: again, path: $HOME/drop.txt}]");
    net.expect(ATTACKER).dropped();
    let again = wait_for_copies(&net, &["again"]);
    // A damaged copy is none.
    net.end(Signal::SIGKILL);
    let mut bytes = fs::read(&again[0]).expect("a copy");
    *bytes.last_mut().expect("bytes") ^= 1;
    *bytes.iter_mut().rev().nth(2).expect("bytes") ^= 1;
    fs::write(&again[0], bytes).expect("it can be damaged");
    net.start("block: [198.51.100.7]\nlists: [{name: again, path: $HOME/drop.txt}]");
    net.filterd(["status"]).exits(7).says("list \"again\" is not loaded").says("its copy is damaged");
    net.wait_for_log("damaged");
    net.expect(BYSTANDER).dropped();
    net.filterd(["reload"]).exits(7);
    // Nor is one of which nobody can tell what it was of.
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    net.filterd(["reload"]).succeeds();
    wait_for_copies(&net, &["again"]);
    net.end(Signal::SIGKILL);
    let current = net.home().path("state/current");
    let text = fs::read_to_string(&current).expect("it is saved");
    fs::write(&current, text.replace("\"again\"", "\"agaim\"")).expect("it can be damaged");
    fs::remove_file(&file).expect("it was there");
    net.start("block: [198.51.100.7]\nlists: [{name: again, path: $HOME/drop.txt}]");
    let told = net.filterd(["status"]).exits(7);
    told.says("a damaged copy, which may be of this list");
    net.wait_for_log(&current.display().to_string());
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).dropped();
}

#[test]
fn acceptance_of_missing_list_follows_its_path() {
    let mut net = Net::new();
    let file = net.file("drop.txt", &format!("{ATTACKER}\n"));
    net.start(CONFIG);
    fs::remove_file(file).expect("it was there");
    net.filterd(["reload", "--accept", "drop"]).succeeds();
    net.filterd(["reload"]).succeeds();
    // Renamed, it is the same file that is missing.
    net.configure("lists: [{name: spamhaus, path: $HOME/drop.txt}]");
    net.filterd(["reload"]).succeeds();
    let moved = "lists: [{name: spamhaus, path: $HOME/dorp.txt}]";
    net.configure(moved);
    for _ in 0..2 {
        held_back(&net.filterd(["reload", "--json"]), "spamhaus");
    }
    net.end(Signal::SIGKILL);
    net.start(moved);
    net.filterd(["status"]).exits(7).says("dorp.txt: there is no such file");
    net.filterd(["reload", "--accept", "spamhaus"]).succeeds();
    net.filterd(["reload"]).succeeds();
}

#[test]
fn reload_reports_copy_that_cannot_be_written() {
    let mut net = Net::new();
    net.file("drop.txt", "");
    net.start(CONFIG);
    wait_for_copies(&net, &["drop"]);
    let blobs = net.home().path("state/blobs");
    fs::remove_dir_all(&blobs).expect("it is ours");
    fs::write(&blobs, "").expect("it is ours");
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    net.configure(&format!("block: [{BYSTANDER}]\n{CONFIG}"));
    let told = net.filterd(["reload"]).exits(7);
    told.complains(&format!("there is no copy of list \"drop\": {}: ", blobs.display()))
        .complains("no copy of the configuration in force");
    // It is in force all the same, and told as long as it is so.
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    net.filterd(["status"]).exits(7).says("no copy of list \"drop\"").says("no copy of the configuration");
    let told = net.filterd(["reload", "--json"]).exits(7).json();
    assert_eq!(told["not_kept"].as_array().map(Vec::len), Some(2), "{told}");
    fs::remove_file(&blobs).expect("it is ours");
    net.filterd(["reload"]).succeeds();
    net.filterd(["status"]).succeeds();
    wait_for_copies(&net, &["drop"]);
}

#[test]
fn check_predicts_each_list() {
    let mut net = Net::new();
    net.file("drop.txt", &many(300));
    net.start(CONFIG);
    wait_for_copies(&net, &["drop"]);
    let check = |config: &str, state: &str| {
        let home = net.home().path("").display().to_string();
        let file = net.file("new.yaml", &config.replace("$HOME", home.trim_end_matches('/')));
        net.filterd(["check", file.to_str().expect("plain"), "--state-dir"].into_iter().chain([state]))
    };
    let state = net.home().path("state").display().to_string();
    net.file("drop.txt", "");
    net.file("part.txt", &format!("{ATTACKER}\n<p>\n<p>\n"));
    let both = "lists: [{name: drop, path: $HOME/drop.txt}, {name: never, path: $HOME/never.txt}]";
    // Without its copies, what the running one has is known.
    for state in [state.as_str(), "/nowhere"] {
        check(both, state)
            .exits(7)
            .complains("list \"drop\" would not be updated")
            .complains("301 targets read on ")
            .complains("list \"never\" would not be loaded");
    }
    // Whoever may see neither is told no more than that.
    net.readable_by_all();
    let file = net.home().path("new.yaml").display().to_string();
    let told = net.home().filterd_as(65534, ["check", &file, "--state-dir", &state]).exits(7);
    told.complains("its last good version, if there is one, would remain in force")
        .complains("cannot check whether a live list has the same name");
    check("lists: [{name: part, path: $HOME/part.txt}]", &state).exits(7).says("WOULD BE 1 target ONLY");
    // A name that a live list has.
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    let live = format!("lists: [{{name: ssh, path: {}}}]", net.file("good.txt", ATTACKER).display());
    check(&live, &state)
        .exits(3)
        .complains("the name of a live list: ssh (1 added live)")
        .complains("flush --list ssh");
    net.configure(&live);
    net.filterd(["reload"]).exits(3);
    net.filterd(["flush", "--list", "ssh"]).succeeds();
    check(&live, &state).succeeds();
    net.filterd(["reload"]).succeeds();
}

#[test]
fn limits_say_how_much_a_list_may_change() {
    let mut net = Net::new();
    net.file("drop.txt", &many(300));
    net.file("bomb.txt", "2001:db8::1-2001:db8:0:ffff::\n");
    net.file("free.txt", &many(300));
    let config = "lists:\n- {name: drop, path: $HOME/drop.txt, max_entries: 350}\n\
                  - {name: bomb, path: $HOME/bomb.txt, max_entries: 1000}\n\
                  - {name: free, path: $HOME/free.txt, max_shrink: 100%}\n";
    net.start(config);
    net.filterd(["status"]).succeeds();
    // Ranges make many targets out of few bytes: what is there stays.
    let ranges = |block: u32| format!("2001:db8:{block:x}::1-2001:db8:{block:x}:ffff:ffff:ffff:ffff:fffe\n");
    net.file("bomb.txt", &(0..3000).map(ranges).collect::<String>());
    net.file("drop.txt", &many(400));
    net.file("free.txt", "");
    let told = net.filterd(["reload"]).exits(7).complains("has more than 1000 targets");
    told.complains("has more than 350 targets").complains("max_entries").is_silent_about("list \"free\"");
    net.filterd(["reload", "--accept", "all"]).exits(7);
    net.expect(ATTACKER).dropped();
    net.expect("2001:db8::77").dropped();
    net.expect("2001:db8:1::77").passes();
    // A file without end is not read to its end.
    let endless = fs::File::create(net.home().path("drop.txt")).expect("a home can be written");
    endless.set_len(1 << 42).expect("most of it is a hole");
    net.filterd(["reload"]).exits(7).complains("has more than 1048576 bytes");
    net.expect(ATTACKER).dropped();
    // The first time, what can be read is better than nothing.
    net.file("first.txt", &format!("{ATTACKER}\n<p>\n<p>\n"));
    net.configure(&format!("{config}- {{name: first, path: $HOME/first.txt}}\n"));
    net.filterd(["reload"]).exits(7).complains("list \"first\" is only partly in force");
}

#[test]
fn reload_reveals_no_content_of_private_files() {
    let mut net = Net::new();
    let secret = "root:$6$hidden$words";
    net.file("secret", &format!("{ATTACKER}\n11.0.0.1\n11.0.0.2\n11.0.0.3\n{secret}\n"));
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    net.start(CONFIG);
    let drop = net.home().path("drop.txt");
    fs::remove_file(&drop).expect("it was there");
    std::os::unix::fs::symlink(net.home().path("secret"), &drop).expect("a link can be made");
    let told =
        net.filterd(["reload"]).succeeds().is_silent_about("hidden").complains("1 line was not understood");
    told.complains("filterd check");
    net.filterd(["status"]).succeeds().is_silent_about("hidden");
    assert!(!net.daemon().log().contains("hidden"));
    // Whoever may read the file is shown it.
    net.filterd(["check", net.home().path("filterd.yaml").to_str().unwrap()]).succeeds().complains("hidden");
}

/// Whoever finds a list empty may try to have it read otherwise: that is no reason to believe it.
#[test]
fn empty_list_is_held_back_under_changed_format() {
    let mut net = Net::new();
    let whole: String = (0..200).map(|last| format!("11.0.0.{last}\n")).collect();
    let list = |more: &str| format!("lists: [{{name: drop, path: $HOME/drop.txt{more}}}]");
    net.file("drop.txt", &whole);
    net.start(&list(""));
    for spoilt in ["", "# nothing\n", "11.0.0.7\n"] {
        for otherwise in ["format: plain", "include_special: true", "include_wide: true"] {
            net.file("drop.txt", spoilt);
            net.configure(&list(&format!(", {otherwise}")));
            held_back(&net.filterd(["diff", "--json"]), "drop");
            for _ in 0..2 {
                held_back(&net.filterd(["reload", "--json"]), "drop");
                net.expect("11.0.0.100").dropped();
            }
            net.configure(&list(""));
            net.file("drop.txt", &whole);
            net.filterd(["reload"]).succeeds();
        }
    }
    // Less of the same file is no spoilt one.
    net.file("ipsum.txt", "11.0.0.1\t9\n11.0.0.2\t1\n11.0.0.3\t1\n11.0.0.4\t1\n");
    net.configure("lists: [{name: ipsum, path: $HOME/ipsum.txt, format: ipsum}]");
    net.filterd(["reload"]).succeeds();
    net.expect("11.0.0.2").dropped();
    net.configure("lists: [{name: ipsum, path: $HOME/ipsum.txt, format: ipsum, min_score: 5}]");
    net.filterd(["reload"]).succeeds();
    net.expect("11.0.0.1").dropped();
    net.expect("11.0.0.2").passes();
}

/// What is asked of a list may change without its file: what is in force stays as it does where the file has changed, in the
/// same reload and in the next one.
#[test]
fn stricter_limits_hold_back_an_unchanged_file() {
    let mut net = Net::new();
    let list = |more: &str| format!("lists: [{{name: drop, path: $HOME/drop.txt{more}}}]");
    let lines: String = (0..200).map(|last| format!("11.0.0.{last}\n")).collect();
    net.file("drop.txt", &(lines + &"no target\n".repeat(20)));
    net.start(&list(""));
    for asked in ["max_entries: 100", "max_rejected: 5%", "min_entries: 1000"] {
        for more in ["", ", include_special: true"] {
            net.configure(&list(&format!(", {asked}{more}")));
            held_back(&net.filterd(["diff", "--json"]), "drop");
            for _ in 0..2 {
                held_back(&net.filterd(["reload", "--json"]), "drop");
                net.expect("11.0.0.199").dropped();
            }
            net.filterd(["status"]).exits(7);
            net.configure(&list(""));
            net.filterd(["reload"]).succeeds();
        }
    }
    net.filterd(["reload", "--json"]).succeeds().has(json!({"unchanged": 1}));
}

#[test]
fn start_reports_held_back_list_with_changed_format() {
    let mut net = Net::new();
    let list = |more: &str| format!("lists: [{{name: drop, path: $HOME/drop.txt{more}}}]");
    let wide: String = (20..40).map(|number| format!("{}.0.0.0/7\n", number * 2)).collect();
    net.file("drop.txt", &format!("{wide}11.0.0.1\n"));
    net.start(&list(", include_wide: true"));
    wait_for_copies(&net, &["drop"]);
    net.configure(&list(""));
    net.filterd(["reload"]).exits(7).complains("21 targets read on");
    net.expect("40.1.1.1").dropped();
    net.end(Signal::SIGKILL);
    net.start(&list(""));
    net.filterd(["status"]).exits(7).says("of the 21 targets read on").says(", 1 remains in force");
    net.expect("40.1.1.1").passes();
    net.expect("11.0.0.1").dropped();
}
