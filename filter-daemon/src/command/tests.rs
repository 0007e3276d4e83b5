//! Whole commands, against a daemon that is a thread with a script.

use std::io::{BufRead, BufReader, Cursor, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use clap::Parser;
use serde_json::{Value, json};

use super::ask::batch::TARGETS_A_MESSAGE;
use super::ask::input;
use super::*;
use crate::control::wire::{self, Message};

/// Listens, answers every request of one client by `answer`, and keeps what was asked.
struct Daemon {
    socket: PathBuf,
    thread: JoinHandle<Vec<Message>>,
    _place: tempfile::TempDir,
}

impl Daemon {
    fn answering(answer: impl Fn(&Message) -> Value + Send + 'static) -> Self {
        Self::answering_in_parts(move |request| vec![answer(request)])
    }

    fn answering_in_parts(answer: impl Fn(&Message) -> Vec<Value> + Send + 'static) -> Self {
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("control.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let thread = thread::spawn(move || {
            let (asked, answer, open) = (Mutex::new(Vec::new()), Mutex::new(answer), AtomicUsize::new(0));
            let converse = |stream: UnixStream| {
                for line in BufReader::new(&stream).lines().map_while(Result::ok) {
                    let request = serde_json::from_str(&line).unwrap();
                    let parts = answer.lock().unwrap()(&request);
                    asked.lock().unwrap().push(request);
                    // The client may have heard enough.
                    parts.iter().for_each(|part| drop(writeln!(&stream, "{part}")));
                }
                open.fetch_sub(1, Ordering::Relaxed);
            };
            thread::scope(|scope| {
                let mut came = listener.accept();
                listener.set_nonblocking(true).unwrap();
                loop {
                    match came {
                        Ok((stream, _)) => {
                            open.fetch_add(1, Ordering::Relaxed);
                            scope.spawn(|| converse(stream));
                        }
                        Err(_) if open.load(Ordering::Relaxed) == 0 => break,
                        Err(_) => thread::sleep(Duration::from_millis(1)),
                    }
                    came = listener.accept();
                }
            });
            asked.into_inner().unwrap()
        });
        Self { socket, thread, _place: place }
    }

    fn asked(self) -> Vec<Message> {
        self.thread.join().unwrap()
    }
}

/// Says that every target was changed.
fn all_changed(request: &Message) -> Value {
    let named = named(request);
    json!({"parameters": {"named": named, "changed": named, "entered": named, "left": named}})
}

fn none_changed(request: &Message) -> Value {
    json!({"parameters": {"named": named(request), "changed": 0, "entered": 0, "left": 0}})
}

fn named(request: &Message) -> usize {
    if let Message::Add(wire::Add { targets, .. }) | Message::Remove(wire::Remove { targets, .. }) = request {
        return targets.len();
    }
    panic!("{request:?} names no targets");
}

#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    verb: Verb,
}

/// How a command ended, and what it said.
struct Said {
    exit: Exit,
    out: String,
    err: String,
}

fn run(line: &str, socket: impl Into<Endpoint>, input: &[u8]) -> Said {
    let (json, quiet) = (line.contains(" --json"), line.contains(" -q"));
    let words = line.split_whitespace().filter(|word| !["--json", "-q"].contains(word));
    let Line { verb } = Line::parse_from(words);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut console = Console {
        json,
        quiet,
        input_is_terminal: false,
        input_length: Some(input.len() as u64),
        progress: false,
        input: &mut Cursor::new(input),
        out: &mut out,
        err: &mut err,
    };
    let exit = apply(&verb, &socket.into(), &mut console);
    Said { exit, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

#[test]
fn adding_says_what_it_did() {
    let daemon = Daemon::answering(all_changed);
    let said = run("filterd add 203.0.113.7 --ttl 2h --list ssh --note x", &daemon.socket, b"");
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, "blocked 203.0.113.7 for 2 h\n"));
    let asked = daemon.asked();
    let Message::Add(add) = &asked[0] else { panic!("{asked:?}") };
    assert_eq!((add.ttl, add.list.as_deref(), add.note.as_deref()), (Some(7200), Some("ssh"), Some("x")));
}

#[test]
fn what_changes_nothing_is_an_error_only_if_asked_to_be() {
    for (flag, exit) in [("", Exit::Done), ("--strict", Exit::Unchanged)] {
        let daemon = Daemon::answering(none_changed);
        let said = run(&format!("filterd add 203.0.113.7 {flag}"), &daemon.socket, b"");
        assert_eq!(
            (said.exit, said.out.as_str()),
            (exit, "203.0.113.7 is already blocked: list `manual` holds it permanently\n")
        );
    }
}

#[test]
fn one_bad_target_sends_nothing_and_every_bad_one_is_told() {
    let said = run("filterd add 203.0.113.7 10.0.0.1/8 example.org -", Path::new("/nowhere"), b"");
    assert_eq!((said.exit, said.out.as_str()), (Exit::Usage, ""));
    for told in
        ["filterd: `10.0.0.1/8` has host bits", "`example.org` is a host name", "`-` reads", "nothing was"]
    {
        assert!(said.err.contains(told), "{told}: {}", said.err);
    }
}

#[test]
fn a_removed_target_that_stays_blocked_is_told() {
    let held = |changed: u64| {
        move |_: &Message| {
            let by = json!([{"target": "203.0.113.7", "list": "drop", "origin": "file"}]);
            let held = json!([{"target": "203.0.113.7", "lists": ["drop"], "by": by}]);
            json!({"parameters": {"named": 1, "changed": changed, "entered": 0, "left": 0, "held": held}})
        }
    };
    let daemon = Daemon::answering(held(1));
    let said = run("filterd remove 203.0.113.7", &daemon.socket, b"");
    assert_eq!(said.exit, Exit::No);
    assert!(said.out.contains("still blocked: held by list `drop`"), "{}", said.out);
    for (flag, exit) in [("", Exit::No), ("--strict", Exit::Unchanged)] {
        let daemon = Daemon::answering(held(0));
        let said = run(&format!("filterd remove 203.0.113.7 {flag}"), &daemon.socket, b"");
        assert_eq!((said.exit, said.out.as_str()), (exit, ""));
        assert!(said.err.contains("nothing removed") && said.err.contains("filterd reload"), "{}", said.err);
    }
}

#[test]
fn standard_input_goes_in_messages_of_bounded_size() {
    let daemon = Daemon::answering(all_changed);
    let input: String =
        (0..100_000_u32).map(|number| format!("{}\n", std::net::Ipv4Addr::from_bits(number))).collect();
    let said = run("filterd add - --json", &daemon.socket, input.as_bytes());
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    let answer: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&answer["named"], &answer["rejected"]), (&json!(100_000), &json!(0)));
    let asked = daemon.asked();
    assert_eq!(asked.len(), 100_000_usize.div_ceil(TARGETS_A_MESSAGE));
    assert!(asked.iter().all(|request| named(request) <= TARGETS_A_MESSAGE));
}

#[test]
fn ranges_on_standard_input_count_as_the_prefixes_they_make() {
    let daemon = Daemon::answering(all_changed);
    let input = "0.0.0.1-255.255.255.254\n".repeat(1000);
    assert_eq!(run("filterd add -", &daemon.socket, input.as_bytes()).exit, Exit::Done);
    assert!(daemon.asked().iter().all(|request| named(request) * 62 < 2 * TARGETS_A_MESSAGE));
}

#[test]
fn bad_lines_are_told_and_the_rest_is_applied() {
    let daemon = Daemon::answering(all_changed);
    let said = run("filterd add -", &daemon.socket, b"203.0.113.7\n\nrubbish!\n# fine\n203.0.113.8\n");
    assert_eq!(said.exit, Exit::Partly);
    assert!(said.err.starts_with("stdin:3: error: `rubbish!`"), "{}", said.err);
    assert_eq!(said.out, "2 targets: 2 newly blocked\n");
}

#[test]
fn nothing_but_bad_lines_is_a_usage_error_told_in_few_words() {
    let daemon = Daemon::answering(all_changed);
    let said = run("filterd add -", &daemon.socket, "rubbish!\n".repeat(1000).as_bytes());
    assert_eq!((said.exit, said.out.as_str()), (Exit::Usage, ""));
    assert_eq!(said.err.lines().count(), 11);
    assert!(said.err.contains("1,000 lines in all were not understood"), "{}", said.err);
    assert_eq!(daemon.asked(), []);
}

#[test]
fn what_was_applied_before_a_failure_is_told() {
    let input = "203.0.113.7\n".repeat(3 * TARGETS_A_MESSAGE);
    let calls = std::cell::Cell::new(0);
    let daemon = Daemon::answering(move |request| {
        calls.set(calls.get() + 1);
        if calls.get() == 2 {
            return json!({"error": "io.filterd.Kernel", "parameters": {"message": "out of memory"}});
        }
        all_changed(request)
    });
    let said = run("filterd add -", &daemon.socket, input.as_bytes());
    assert_eq!(said.exit, Exit::Partly);
    assert!(said.err.contains("out of memory") && said.err.contains("targets were applied"), "{}", said.err);
}

#[test]
fn a_test_says_yes_only_if_all_are_dropped() {
    let answer = |dropped: [bool; 2]| {
        move |_: &Message| {
            let tested =
                dropped.map(|dropped| json!({"address": "192.0.2.1", "dropped": dropped, "because": []}));
            json!({"parameters": {"tested": tested}})
        }
    };
    for (dropped, exit) in [([true, true], Exit::Done), ([true, false], Exit::No), ([false, false], Exit::No)]
    {
        let daemon = Daemon::answering(answer(dropped));
        let said = run("filterd test 192.0.2.1 192.0.2.2 -q", &daemon.socket, b"");
        assert_eq!((said.exit, said.out.as_str(), said.err.as_str()), (exit, "", ""));
    }
    let said = run("filterd test 192.0.2.0/24 nonsense", Path::new("/nowhere"), b"");
    assert_eq!(said.exit, Exit::Usage);
    assert_eq!(said.err.lines().count(), 2);
}

#[test]
fn a_list_comes_part_by_part() {
    let entry = |target: &str| json!({"target": target, "list": "manual", "since": 0});
    let answer = move |_: &Message| {
        vec![
            json!({"parameters": {"entries": [entry("10.0.0.1"), entry("10.0.0.2")]}, "continues": true}),
            json!({"parameters": {"entries": [entry("10.0.0.3")]}}),
        ]
    };
    let daemon = Daemon::answering_in_parts(answer);
    let said = run("filterd list --json", &daemon.socket, b"");
    assert_eq!(said.exit, Exit::Done);
    let shown: Vec<Value> = said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let versioned = |target| json!({"version": 1, "target": target, "list": "manual", "since": 0});
    assert_eq!(shown, ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(versioned));
    let daemon = Daemon::answering_in_parts(answer);
    let said = run("filterd list", &daemon.socket, b"");
    let mut input = input::Input::new(said.out.as_bytes());
    for target in ["10.0.0.1", "10.0.0.2", "10.0.0.3"] {
        let read_back = input.next().unwrap();
        assert_eq!(read_back, Some(input::Line::Listed(target.parse().unwrap())));
    }
    let again = run("filterd add -", Path::new("/nowhere"), said.out.as_bytes());
    assert_eq!(again.exit, Exit::Unreachable, "asked only once there is somebody to ask");
    let daemon = Daemon::answering(all_changed);
    let again = run("filterd add -", &daemon.socket, said.out.as_bytes());
    assert_eq!(again.exit, Exit::Usage);
    assert!(again.err.contains("`filterd list` wrote") && again.err.contains("cut -d'#'"), "{}", again.err);
    assert_eq!(daemon.asked(), []);
    let daemon = Daemon::answering(all_changed);
    assert_eq!(run("filterd remove -", &daemon.socket, said.out.as_bytes()).exit, Exit::Done);
}

#[test]
fn refusals_of_the_daemon_become_exit_codes() {
    let codes = [("Refused", Exit::Refused), ("Kernel", Exit::Kernel), ("InvalidConfig", Exit::Config)];
    for (error, exit) in codes {
        let answer = json!({"error": format!("io.filterd.{error}"), "parameters": {"message": "a\nb"}});
        let mut expected = answer.clone();
        expected["version"] = json!(1);
        for (line, out, err) in [
            ("filterd reload", None, "filterd: a\n         b\n"),
            ("filterd reload -q", None, "filterd: a\n         b\n"),
            ("filterd reload --json", Some(&expected), ""),
            ("filterd reload --json -q", Some(&expected), ""),
        ] {
            let answer = answer.clone();
            let daemon = Daemon::answering(move |_| answer.clone());
            let said = run(line, &daemon.socket, b"");
            assert_eq!((said.exit, said.err.as_str()), (exit, err), "{line}");
            assert_eq!(serde_json::from_str(&said.out).ok().as_ref(), out, "{line}");
        }
    }
}

#[test]
fn programs_are_told_of_bad_lines_in_the_answer_and_nowhere_else() {
    let daemon = Daemon::answering(all_changed);
    let said = run("filterd add - --json", &daemon.socket, &b"203.0.113.7\n".repeat(2)[..]);
    assert!(!said.out.contains("errors"), "{}", said.out);
    let daemon = Daemon::answering(all_changed);
    let input = format!("203.0.113.7\n{}", "rubbish!\n".repeat(20));
    let said = run("filterd add - --json", &daemon.socket, input.as_bytes());
    assert_eq!((said.exit, said.err.as_str()), (Exit::Partly, ""));
    let answer: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&answer["rejected"], &answer["version"]), (&json!(20), &json!(1)));
    assert_eq!(answer["errors"].as_array().map(Vec::len), Some(10));
}

/// Takes what it is sent and says nothing, as one that is stopped.
struct Mute {
    socket: PathBuf,
    _listener: UnixListener,
    _place: tempfile::TempDir,
}

impl Mute {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("control.sock");
        Self { _listener: UnixListener::bind(&socket).unwrap(), socket, _place: place }
    }

    fn with_patience(&self, timeout: Duration) -> Endpoint {
        Endpoint { timeout: Some(timeout), ..Endpoint::from(&self.socket) }
    }
}

#[test]
fn no_command_waits_longer_than_it_was_told_for_a_daemon_that_says_nothing() {
    let mute = Mute::new();
    let input = "192.0.2.1\n".repeat(100_000);
    thread::scope(|scope| {
        for verb in [
            "add 192.0.2.1",
            "add -",
            "remove 192.0.2.1",
            "remove -",
            "test 192.0.2.1",
            "list",
            "flush",
            "status",
            "stats",
            "reload",
            "ping",
        ] {
            let (endpoint, input) = (mute.with_patience(Duration::from_millis(200)), &input);
            scope.spawn(move || {
                let said = run(&format!("filterd {verb}"), &endpoint, input.as_bytes());
                assert_eq!((said.exit, said.out.as_str()), (Exit::Unreachable, ""), "{verb}: {}", said.err);
                assert!(
                    said.err.contains("does not answer") && said.err.contains("--timeout"),
                    "{}",
                    said.err
                );
            });
        }
    });
}

#[test]
fn a_daemon_that_is_at_work_is_waited_for() {
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("control.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let pings = AtomicUsize::new(0);
    let timeout = Some(Duration::from_millis(200));
    let said = thread::scope(|scope| {
        scope.spawn(|| {
            let (mut working, _) = listener.accept().unwrap();
            while pings.load(Ordering::Relaxed) < 5 {
                let (mut probe, _) = listener.accept().unwrap();
                let mut asked = String::new();
                BufReader::new(&probe).read_line(&mut asked).unwrap();
                assert!(asked.contains("io.filterd.Ping"), "{asked}");
                writeln!(probe, "{}", json!({"parameters": {"version": 1, "pid": 1}})).unwrap();
                pings.fetch_add(1, Ordering::Relaxed);
            }
            let reloaded =
                json!({"entered": 1, "left": 2, "unchanged": 3, "milliseconds": 4, "warnings": []});
            writeln!(working, "{}", json!({"parameters": reloaded})).unwrap();
        });
        run("filterd reload", &Endpoint { timeout, ..Endpoint::from(&socket) }, b"")
    });
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
}

#[test]
fn without_a_daemon_the_remedy_is_told() {
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("control.sock");
    let said = run("filterd ping", &socket, b"");
    assert_eq!(said.exit, Exit::Unreachable);
    assert!(
        said.err.contains("not running") && said.err.contains("sudo filterd --iface eth0"),
        "{}",
        said.err
    );
    drop(UnixListener::bind(&socket).unwrap());
    assert_eq!(run("filterd ping", &socket, b"").exit, Exit::Unreachable, "a stale socket");
}

#[test]
fn a_daemon_that_hangs_up_or_talks_nonsense_is_told() {
    let daemon = Daemon::answering(|_| json!({"surprise": 1}));
    let said = run("filterd ping", &daemon.socket, b"");
    assert_eq!(said.exit, Exit::Unreachable);
    assert!(said.err.contains("no filterd of this version"), "{}", said.err);
    let daemon = Daemon::answering_in_parts(|_| panic!("killed"));
    let said = run("filterd ping", &daemon.socket, b"");
    assert_eq!(said.exit, Exit::Unreachable);
    assert!(said.err.contains("closed the connection"), "{}", said.err);
}
