//! What is said is so: of bans that last longer than asked, of what a flush takes, of lists that are read again, and of a
//! daemon that says nothing.

use harness::limited::LimitedChild;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net, fetcher_of, keeper_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

/// Long enough for any machine to notice that two seconds are over.
const SOON: Duration = Duration::from_secs(30);

#[test]
fn a_stopped_daemon_keeps_no_client_waiting() {
    let net = Net::with_filterd("");
    net.daemon().signal(Signal::SIGSTOP);
    let home = net.home();
    thread::scope(|scope| {
        for words in [
            &["add", ATTACKER][..],
            &["remove", ATTACKER],
            &["test", ATTACKER],
            &["list"],
            &["flush"],
            &["status"],
            &["stats"],
            &["reload"],
            &["ping"],
        ] {
            let words = [words, &["--timeout", "1"]].concat();
            scope.spawn(move || {
                home.filterd(words).exits(6).complains("did not answer").complains("kill -CONT")
            });
        }
    });
    net.daemon().signal(Signal::SIGCONT);
    net.filterd(["ping"]).succeeds();
}

/// A filterd that blocks nobody has no table of what is blocked.
#[test]
fn log_names_tables_of_allowed_targets() {
    let net = Net::with_filterd("allow: [198.51.100.7]");
    let log = net.daemon().log();
    let tables: Vec<_> = log.lines().filter(|line| line.contains("new table")).collect();
    assert!(!tables.is_empty() && tables.iter().all(|line| line.contains(" allowed ")), "{log}");
}

/// Any of them may be the one that is stopped.
#[test]
fn documented_wait_finds_each_filterd_process() {
    let net = Net::with_filterd("");
    let daemon = net.daemon().id();
    for process in [keeper_of(daemon), fetcher_of(daemon)] {
        let words = fs::read(format!("/proc/{process}/cmdline")).expect("it runs");
        let program = words.split(|byte| *byte == 0).next().expect("it has a name");
        assert_eq!(program, b"filterd", "as `ps -eo pid,stat,args | grep filterd` shows it");
    }
}

#[test]
fn shorter_ttl_applies_only_with_shorten() {
    let mut net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, ATTACKER6, "--ttl", "1h"]).succeeds();
    let longer = json!({"changed": 0, "longer": [{"target": ATTACKER, "list": "manual"}]});
    net.filterd(["add", ATTACKER, "--ttl", "2s", "--json"]).succeeds().has(longer).says("--shorten");
    net.filterd(["add", ATTACKER, ATTACKER6, "--ttl", "3s", "--shorten", "--json"])
        .succeeds()
        .has(json!({"changed": 2, "entered": 0}));
    // What the journal keeps is shortened, too.
    net.stop();
    net.start("");
    net.expect(ATTACKER).then_within(SOON).passes();
    net.expect(ATTACKER6).then_within(SOON).passes();
}

#[test]
fn longer_block_of_another_list_is_named() {
    let net = Net::with_filterd("block: [203.0.113.0/24]");
    net.filterd(["add", ATTACKER, "--list", "web"]).succeeds();
    let added = net.filterd(["add", ATTACKER, "--ttl", "1h", "--list", "ssh", "--json"]).succeeds();
    let told = added.json();
    assert_eq!((&told["changed"], &told["entered"]), (&1.into(), &0.into()), "{told}");
    let web = json!({"target": ATTACKER, "list": "web"});
    let config = json!({"target": "203.0.113.0/24", "list": "config"});
    added.has(json!({"longer": [web, config]}));
}

#[test]
fn add_does_not_claim_already_blocked_targets() {
    let net = Net::with_filterd("block: [203.0.113.0/24]\nallow: [192.0.2.0/24]");
    let covered = |by: &str| json!({"covered": 1, "covered_by": [{"target": by}]});
    net.filterd(["add", ATTACKER, "--json"]).succeeds().has(covered("203.0.113.0/24"));
    net.filterd(["allow", "add", "192.0.2.7", "--json"]).succeeds().has(covered("192.0.2.0/24"));
    net.filterd_reading(["add", "-", "--json"], "203.0.113.8\n198.18.0.1\n")
        .has(json!({"named": 2, "changed": 2, "covered": 1}));
}

#[test]
fn new_note_does_not_shorten_entry() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--ttl", "1h"]).succeeds();
    let ends =
        || net.filterd(["test", ATTACKER, "--json"]).exits(0).json()["tested"][0]["because"][0].clone();
    let before = ends();
    net.filterd(["add", ATTACKER, "--ttl", "3s", "--note", "rude", "--json"])
        .succeeds()
        .has(json!({"changed": 1, "longer": [{"target": ATTACKER}]}));
    assert_eq!((&ends()["note"], &ends()["until"]), (&"rude".into(), &before["until"]));
    net.filterd(["add", ATTACKER, "--ttl", "10m", "--shorten"]).succeeds();
    assert!(ends()["until"].as_u64() < before["until"].as_u64());
}

#[test]
fn without_drops_nothing_is_called_blocked() {
    let net = Net::with_filterd("enforce: false\nblock: [198.51.100.0/24]");
    let idle = json!({"idle": "not_enforced"});
    net.filterd(["add", ATTACKER, BYSTANDER]).succeeds();
    net.filterd(["remove", BYSTANDER, "--json"]).exits(1).has(idle.clone());
    net.filterd(["remove", ATTACKER, "--json"]).exits(0).has(idle.clone());
    net.filterd(["add", ATTACKER]).succeeds();
    net.filterd(["flush", "--json"]).succeeds().has(idle);
}

#[test]
fn inactive_settings_are_not_reported_as_configured() {
    let one_target = json!({"targets": 1});
    let status = |net: &Net| net.filterd(["status", "--json"]);
    let mut net = Net::new();
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    let config = "lists: [{name: drop, path: $HOME/drop.txt}, {name: never, path: $HOME/never.txt}]";
    net.start(config);
    // Nothing of one list is blocked.
    status(&net).exits(7).has(one_target.clone()).says(r#"list \"never\" is not loaded"#);
    net.file("never.txt", "# nobody\n");
    net.filterd(["reload"]).succeeds();
    status(&net).succeeds().has(one_target.clone());
    // What another list has is no target more.
    net.file("never.txt", &format!("{ATTACKER}\n"));
    net.filterd(["reload"]).succeeds();
    status(&net).succeeds().has(one_target.clone());
    net.configure("block: [203.0.113.777]");
    net.filterd(["reload"]).exits(3);
    status(&net).exits(7).has(one_target).says("the configuration is not in force");
}

#[test]
fn missing_live_list_counts_as_empty() {
    let net = Net::with_filterd("");
    for verb in ["list", "flush"] {
        net.filterd([verb, "--list", "nosuch"]).succeeds();
    }
    net.filterd(["add", ATTACKER, "--list", "nosuch"]).succeeds();
    net.filterd(["flush", "--list", "nosuch"]).succeeds();
}

#[test]
fn flush_does_not_claim_to_unblock_covered_targets() {
    let net = Net::with_filterd("block: [203.0.113.0/24]");
    net.filterd(["add", ATTACKER]).succeeds();
    net.filterd(["flush", "--json"]).succeeds().has(json!({"left": 0, "still": 1}));
    net.expect(ATTACKER).dropped();
}

#[test]
fn a_flush_tells_whose_entries_it_took() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, BYSTANDER, "--list", "ssh"]).succeeds();
    net.filterd(["add", ATTACKER, "--list", "web"]).succeeds();
    let lists = json!([{"name": "web", "entries": 1}, {"name": "ssh", "entries": 2}]);
    net.filterd(["flush", "--json"]).succeeds().has(json!({"lists": lists}));
}

#[test]
fn output_of_list_is_not_accepted_as_targets() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--ttl", "1h", "--list", "ssh", "--note", "rude"]).succeeds();
    let saved = net.filterd(["list"]).succeeds().output;
    net.filterd(["flush"]).succeeds();
    net.filterd_reading(["add", "-"], &saved).exits(2);
    net.expect(ATTACKER).passes();
}

#[test]
fn unknown_since_time_is_not_invented() {
    let net = Net::with_filterd("block: [203.0.113.0/24]");
    net.filterd(["add", ATTACKER]).succeeds();
    let listed = net.filterd(["list", "--json"]).succeeds().json_lines();
    let tested = net.filterd(["test", ATTACKER, "--json"]).exits(0).json()["tested"][0]["because"].clone();
    for entries in [listed, tested.as_array().expect("both block it").clone()] {
        let or_before = |list: &str| {
            let entry = entries.iter().find(|entry| entry["list"] == list).expect("it is listed");
            entry["or_before"] == true
        };
        assert_eq!((or_before("config"), or_before("manual")), (true, false), "{entries:?}");
    }
}

#[test]
fn interrupt_reports_what_was_done() {
    let net = Net::with_filterd("");
    let mut command = Command::new(harness::home::binary());
    command.args(["add", "-"]).env("FILTERD_SOCKET", net.home().socket());
    let mut adding = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("filterd starts");
    let mut lines = adding.stdin.take().expect("it is piped");
    lines.write_all(b"203.0.113.7\n198.51.100.7\n").expect("it reads");
    while !net.filterd(["test", ATTACKER, BYSTANDER]).is_success() {}
    let id = i32::try_from(adding.id()).expect("process ids are small");
    kill(Pid::from_raw(id), Signal::SIGINT).expect("it is our child and not yet waited for");
    let ended = adding.limited_wait_with_output().expect("it is our child");
    drop(lines);
    let told = String::from_utf8_lossy(&ended.stderr);
    // An answer is read when the next lines come.
    let told_of = ["after 0 lines of standard input; 2 more", "after 1 line of standard input; 1 more"];
    assert!(told_of.iter().any(|words| told.contains(words)), "{told}");
    assert_eq!(ended.status.signal(), Some(Signal::SIGINT as i32), "its shell learns what ended it");
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
}

#[test]
fn list_path_cannot_control_terminal() {
    let net = Net::with_filterd("");
    let config = "lists: [{name: evil, path: \"/nowhere/\\e[2J\\a\\nerror: all is lost\\u202E.txt\"}]";
    let file = net.home().write("evil.yaml", config);
    let told = net.filterd(["check", file.to_str().expect("plain")]);
    let said = format!("{}{}", told.output, told.complaint);
    assert!(said.contains("\\u{1b}[2J\\u{7}\\nerror"), "{told}");
    assert!(
        !said.chars().any(|letter| letter != '\n' && (letter.is_control() || letter == '\u{202e}')),
        "{told}"
    );
    net.configure(config);
    for verb in ["reload", "status"] {
        let told = net.filterd([verb]);
        let said = format!("{}{}", told.output, told.complaint);
        assert!(
            !said.chars().any(|letter| letter != '\n' && (letter.is_control() || letter == '\u{202e}')),
            "{told}"
        );
        assert!(!said.lines().any(|line| line.starts_with("error: all")), "{told}");
    }
}

#[test]
fn still_dropped_target_is_reported_blocked() {
    let net = Net::with_filterd("block: [203.0.113.7, 198.51.100.0/24]");
    net.filterd(["allow", "add", BYSTANDER]).succeeds();
    let held = |target: &str, by: &str| json!({"target": target, "by": [{"target": by, "list": "config"}]});
    let (attacker, mut bystander) = (held(ATTACKER, ATTACKER), held(BYSTANDER, "198.51.100.0/24"));
    bystander["allowed"] = true.into();
    net.filterd(["remove", ATTACKER, BYSTANDER, "--json"])
        .exits(1)
        .has(json!({"held": [attacker, bystander]}));
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
}

#[test]
fn allowed_target_gets_no_unblocking_advice() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.filterd(["allow", "add", ATTACKER]).succeeds();
    let test = |partly: bool| {
        let tested = net.filterd(["test", "203.0.113.0/24", "--json"]).exits(1).json()["tested"][0].clone();
        assert_eq!((tested["partly"] == true, &tested["within"][0]["target"]), (partly, &ATTACKER.into()));
        tested
    };
    assert_eq!(test(false)["allowed_within"][0]["target"], ATTACKER);
    net.filterd(["allow", "remove", ATTACKER]).succeeds();
    test(true);
}

#[test]
fn guarded_part_of_range_is_reported_in_line() {
    let net = Net::with_filterd("");
    let guarded = json!({"address": "198.19.255.1", "why": "this host's own address on eth0"});
    net.filterd(["add", "198.19.255.1-198.19.255.3", "--json"])
        .exits(7)
        .has(json!({"entered": 1, "refused": 1, "guarded": [guarded]}));
    net.expect("198.19.255.2").dropped();
    // A range is asked for as it is added.
    let one = json!({"address": "198.19.255.1", "dropped": false});
    let two = json!({"address": "198.19.255.2/31", "dropped": true});
    net.filterd(["test", "198.19.255.1-198.19.255.3", "--json"]).exits(1).has(json!({"tested": [one, two]}));
    net.filterd(["test", "198.19.255.2-198.19.255.3"]).succeeds();
}

#[test]
fn forgotten_allow_verb_is_reported() {
    let net = Net::with_filterd("");
    net.filterd(["allow", "--json"]).exits(2).says("requires a subcommand").is_silent_about("--json");
    net.filterd(["allow", "add", ATTACKER]).succeeds();
    let told = net.filterd(["allow", "--json", "list", "--list", "manual-allow"]).succeeds().json();
    assert_eq!(told["target"], ATTACKER);
}
