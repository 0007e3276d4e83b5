//! Tests the output and the exit code of commands for given answers.

use std::path::Path;

use serde_json::{Value, json};

use super::super::ask::input;
use super::scripted::{Daemon, all_changed, none_changed, run};
use crate::control::wire::Message;
use crate::exit::Exit;

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
fn unchanged_result_fails_only_with_strict() {
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
fn bad_targets_are_all_reported_and_none_sent() {
    let said = run("filterd add 203.0.113.7 10.0.0.1/8 example.org -", Path::new("/nowhere"), b"");
    assert_eq!((said.exit, said.out.as_str()), (Exit::Usage, ""));
    for told in
        ["error: `10.0.0.1/8` has host bits", "`example.org` is a host name", "`-` reads", "nothing was"]
    {
        assert!(said.err.contains(told), "{told}: {}", said.err);
    }
}

#[test]
fn still_blocked_target_is_reported() {
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
fn test_succeeds_only_if_all_drop() {
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
    let said = run("filterd test 192.0.2.300 192.0.2.1-192.0.2.9 nonsense", Path::new("/nowhere"), b"");
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
    let mut input = input::TargetInput::new(said.out.as_bytes());
    for target in ["10.0.0.1", "10.0.0.2", "10.0.0.3"] {
        let read_back = input.next().unwrap();
        assert_eq!(read_back, Some(input::InputLine::Listed(target.parse().unwrap())));
    }
    let again = run("filterd add -", Path::new("/nowhere"), said.out.as_bytes());
    assert_eq!(again.exit, Exit::Unreachable, "asked only once there is somebody to ask");
    let daemon = Daemon::answering(all_changed);
    let again = run("filterd add -", &daemon.socket, said.out.as_bytes());
    assert_eq!(again.exit, Exit::Usage);
    assert!(
        again.err.contains("output of `filterd list`") && again.err.contains("cut -d'#'"),
        "{}",
        again.err
    );
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
            ("filterd reload", None, "error: a\n  b\n"),
            ("filterd reload -q", None, "error: a\n  b\n"),
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
