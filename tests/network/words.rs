//! What is said is so: of bans that last longer than asked, of what a flush takes, of lists that are read again, and of a
//! daemon that says nothing.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net, fetcher_of, keeper_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

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
                home.filterd(words).exits(6).complains("does not answer").complains("kill -CONT")
            });
        }
    });
    net.daemon().signal(Signal::SIGCONT);
    net.filterd(["ping"]).succeeds();
}

/// A filterd that blocks nobody has no table of what is blocked.
#[test]
fn the_log_calls_a_table_of_what_is_allowed_so() {
    let net = Net::with_filterd("allow: [198.51.100.7]");
    let log = net.daemon().log();
    let tables: Vec<_> = log.lines().filter(|line| line.contains("new table")).collect();
    assert!(!tables.is_empty() && tables.iter().all(|line| line.contains(" allowed ")), "{log}");
}

/// Any of them may be the one that is stopped.
#[test]
fn whoever_waits_finds_each_process_of_filterd_as_he_is_told_to() {
    let net = Net::with_filterd("");
    let daemon = net.daemon().id();
    for process in [keeper_of(daemon), fetcher_of(daemon)] {
        let words = fs::read(format!("/proc/{process}/cmdline")).expect("it runs");
        let program = words.split(|byte| *byte == 0).next().expect("it has a name");
        assert_eq!(program, b"filterd", "as `ps -eo pid,stat,args | grep filterd` shows it");
    }
}

#[test]
fn a_shorter_ttl_is_told_and_shortens_only_when_that_is_meant() {
    let mut net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, ATTACKER6, "--ttl", "1h"]).succeeds();
    net.filterd(["add", ATTACKER, "--ttl", "2s"]).succeeds().says("for longer").complains("--shorten");
    let told = net.filterd(["add", ATTACKER, "--ttl", "2s", "--json"]).succeeds().json();
    assert_eq!((&told["changed"], &told["longer"][0]["list"]), (&0.into(), &"manual".into()));
    net.filterd(["add", ATTACKER, ATTACKER6, "--ttl", "3s", "--shorten"])
        .succeeds()
        .says("2 blocked already that list `manual` now holds for 3 s");
    // What the journal keeps is shortened, too.
    net.stop();
    net.start("");
    net.expect(ATTACKER).then_within(SOON).passes();
    net.expect(ATTACKER6).then_within(SOON).passes();
}

#[test]
fn what_another_list_blocks_for_longer_is_told_with_its_name() {
    let net = Net::with_filterd("block: [203.0.113.0/24]");
    net.filterd(["add", ATTACKER, "--list", "web"]).succeeds();
    let told = net.filterd(["add", ATTACKER, "--ttl", "1h", "--list", "ssh"]).succeeds();
    told.says("now holds it for 1 h")
        .says("list `web`: permanent")
        .says("203.0.113.0/24 of list `config`: permanent");
}

#[test]
fn what_a_wider_entry_blocked_already_is_not_said_to_be_blocked_by_the_add() {
    let net = Net::with_filterd("block: [203.0.113.0/24]\nallow: [192.0.2.0/24]");
    let told = net.filterd(["add", ATTACKER]).succeeds();
    told.says("it was blocked already").says("by 203.0.113.0/24 of list `config`, too: permanent");
    let told = net.filterd(["add", ATTACKER, "--list", "ssh", "--json"]).succeeds().json();
    assert_eq!((&told["covered"], &told["covered_by"][0]["list"]), (&1.into(), &"config".into()));
    net.filterd(["allow", "add", "192.0.2.7"]).succeeds().says("it was allowed already");
    net.filterd_reading(["add", "-"], "203.0.113.8\n198.18.0.1\n")
        .says("2 targets: 2 added\n1 of them blocked");
}

#[test]
fn a_new_note_does_not_shorten_what_lasts_longer() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--ttl", "1h"]).succeeds();
    let told = net.filterd(["add", ATTACKER, "--ttl", "3s", "--note", "rude"]).succeeds();
    told.says("only its note was changed").is_silent_about("expires in 3 s");
    net.filterd(["test", ATTACKER]).exits(0).says("rude").says("expires ").is_silent_about(" s)");
    net.filterd(["add", ATTACKER, "--ttl", "10m", "--shorten"]).succeeds().says("now expires in 10 min");
}

#[test]
fn a_wider_entry_is_not_said_to_be_shortened_by_a_flag_that_leaves_it_alone() {
    let net = Net::with_filterd("");
    net.filterd(["add", "203.0.113.0/24"]).succeeds();
    let told = net.filterd(["add", ATTACKER, "--ttl", "1h"]).succeeds();
    told.is_silent_about("--shorten").complains("`filterd remove 203.0.113.0/24 --list manual`");
    net.filterd(["remove", "203.0.113.0/24", "--list", "manual", "-q"]).exits(1);
    net.filterd(["test", ATTACKER]).exits(0).says("expires ").is_silent_about("permanent");
}

#[test]
fn where_nothing_is_dropped_nothing_is_said_to_be_blocked_or_unblocked() {
    let net = Net::with_filterd("enforce: false\nblock: [198.51.100.0/24]");
    net.filterd(["add", ATTACKER, BYSTANDER]).succeeds();
    net.filterd(["remove", BYSTANDER]).exits(1).says("still listed").is_silent_about("blocked");
    net.filterd(["remove", ATTACKER]).exits(0).is_silent_about("unblocked");
    net.filterd(["add", ATTACKER]).succeeds();
    net.filterd(["flush"]).succeeds().says("no longer listed").is_silent_about("blocked");
}

#[test]
fn what_is_not_in_force_is_not_said_to_be_as_configured() {
    const NOT_ALL: &str = "Protected, BUT NOT ALL AS CONFIGURED: packets from 1 target on eth0 are dropped; what is not is told below";
    let mut net = Net::new();
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    let config = "lists: [{name: drop, path: $HOME/drop.txt}, {name: never, path: $HOME/never.txt}]";
    net.start(config);
    // Nothing of one list is blocked.
    net.filterd(["status"]).exits(7).says(NOT_ALL).says("list never is not loaded");
    net.file("never.txt", "# nobody\n");
    net.filterd(["reload"]).succeeds();
    net.filterd(["status"])
        .succeeds()
        .says("Protected as configured: packets from 1 target on eth0 are dropped\n");
    // What another list has is no target more.
    net.file("never.txt", &format!("{ATTACKER}\n"));
    net.filterd(["reload"]).succeeds();
    net.filterd(["status"])
        .succeeds()
        .says("Protected as configured: packets from 1 target on eth0 are dropped\n");
    net.configure("block: [203.0.113.777]");
    net.filterd(["reload"]).exits(3);
    net.filterd(["status"]).exits(7).says(NOT_ALL).says("the configuration is not in force");
}

#[test]
fn a_live_list_that_is_not_there_is_an_empty_one() {
    let net = Net::with_filterd("");
    for verb in ["list", "flush"] {
        net.filterd([verb, "--list", "nosuch"]).succeeds();
    }
    net.filterd(["list", "--list", "nosuch"]).complains("`filterd status` names all lists");
    net.filterd(["add", ATTACKER, "--list", "nosuch"]).succeeds();
    net.filterd(["flush", "--list", "nosuch"]).succeeds();
}

#[test]
fn a_flush_does_not_say_unblocked_of_what_a_wider_entry_covers() {
    let net = Net::with_filterd("block: [203.0.113.0/24]");
    net.filterd(["add", ATTACKER]).succeeds();
    net.filterd(["flush"]).succeeds().says("what wider entries cover is still blocked");
    net.expect(ATTACKER).dropped();
}

#[test]
fn a_flush_tells_whose_entries_it_took() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, BYSTANDER, "--list", "ssh"]).succeeds();
    net.filterd(["add", ATTACKER, "--list", "web"]).succeeds();
    let told = net.filterd(["flush", "--json"]).succeeds().json();
    let mut lists: Vec<_> =
        told["lists"].as_array().expect("lists").iter().map(ToString::to_string).collect();
    lists.sort();
    assert_eq!(lists, [r#"{"entries":1,"name":"web"}"#, r#"{"entries":2,"name":"ssh"}"#]);
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    net.filterd(["flush"]).succeeds().says("1 entry of list `ssh`");
}

#[test]
fn what_list_wrote_is_not_taken_for_a_list_of_targets() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--ttl", "1h", "--list", "ssh", "--note", "rude"]).succeeds();
    let saved = net.filterd(["list"]).succeeds().output;
    net.filterd(["flush"]).succeeds();
    net.filterd_reading(["add", "-"], &saved).exits(2).complains("would forget");
    net.expect(ATTACKER).passes();
}

#[test]
fn since_when_a_file_blocks_an_address_is_not_made_up() {
    let net = Net::with_filterd("block: [203.0.113.0/24]");
    net.filterd(["add", ATTACKER]).succeeds();
    net.filterd(["list"]).succeeds().says("or before, permanent").says("# manual, since ");
    net.filterd(["test", ATTACKER])
        .exits(0)
        .says("list `config`, since ")
        .says(" or before, ")
        .says("list `manual`, since ");
}

#[test]
fn whoever_interrupts_is_told_how_much_was_done() {
    let net = Net::with_filterd("");
    let mut command = Command::new(harness::home::binary());
    command.args(["add", "-"]).env("FILTERD_SOCKET", net.home().socket());
    let mut adding = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("filterd starts");
    let mut lines = adding.stdin.take().expect("it is piped");
    lines.write_all(b"203.0.113.7\n198.51.100.7\n").expect("it reads");
    while !net.filterd(["test", ATTACKER, BYSTANDER]).is_success() {}
    let id = i32::try_from(adding.id()).expect("process ids are small");
    kill(Pid::from_raw(id), Signal::SIGINT).expect("it is our child and not yet waited for");
    let ended = adding.wait_with_output().expect("it is our child");
    drop(lines);
    let told = String::from_utf8_lossy(&ended.stderr);
    // An answer is read when the next lines come.
    let told_of = [
        "0 lines of standard input had been done, and 2 more",
        "1 line of standard input had been done, and 1 more",
    ];
    assert!(told_of.iter().any(|words| told.contains(words)), "{told}");
    assert_eq!(ended.status.signal(), Some(Signal::SIGINT as i32), "its shell learns what ended it");
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
}

#[test]
fn the_path_of_a_list_does_nothing_to_a_terminal() {
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
fn what_is_dropped_still_is_called_blocked_though_something_else_that_was_removed_is_allowed() {
    let net = Net::with_filterd("block: [203.0.113.7, 198.51.100.0/24]");
    net.filterd(["allow", "add", BYSTANDER]).succeeds();
    net.filterd(["remove", ATTACKER, BYSTANDER])
        .exits(1)
        .complains("203.0.113.7 is still blocked: held by list `config`")
        .complains("198.51.100.7 is still listed, and allowed: held by 198.51.100.0/24 of list `config`");
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
}

#[test]
fn what_passes_as_allowed_is_not_told_how_to_unblock_it() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.filterd(["allow", "add", ATTACKER]).succeeds();
    net.filterd(["test", "203.0.113.0/24"])
        .exits(1)
        .says("passes   what is listed of it is allowed")
        .says("`filterd allow remove 203.0.113.7` would have what is listed of it dropped again")
        .is_silent_about("unblock");
    net.filterd(["allow", "remove", ATTACKER]).succeeds();
    net.filterd(["test", "203.0.113.0/24"]).exits(1).says("PARTLY").says("to unblock it: ");
}

#[test]
fn what_is_left_out_of_a_range_as_guarded_is_told_in_the_same_line() {
    let net = Net::with_filterd("");
    net.filterd(["add", "198.19.255.1-198.19.255.3"])
        .exits(7)
        .says("198.19.255.1-198.19.255.3 (2 prefixes): 1 newly blocked, 1 guarded, and left out\n")
        .complains("198.19.255.1 (this host's own address");
    net.expect("198.19.255.2").dropped();
    // A range is asked for as it is added.
    let told = net.filterd(["test", "198.19.255.1-198.19.255.3"]).exits(1);
    told.says("198.19.255.1     passes").says("198.19.255.2/31  DROPPED");
    net.filterd(["test", "198.19.255.2-198.19.255.3"]).succeeds();
}

#[test]
fn who_forgets_the_second_word_of_allow_is_told_so_whatever_else_is_said() {
    let net = Net::with_filterd("");
    net.filterd(["allow", "--json"]).exits(2).says("requires a subcommand").is_silent_about("--json");
    net.filterd(["allow", "add", ATTACKER]).succeeds();
    let told = net.filterd(["allow", "--json", "list", "--list", "manual-allow"]).succeeds().json();
    assert_eq!(told["target"], ATTACKER);
}
