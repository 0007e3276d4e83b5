//! Tests targets on standard input.

use serde_json::{Value, json};

use super::super::ask::batch::TARGETS_A_MESSAGE;
use super::scripted::{Daemon, all_changed, named, run};
use crate::exit::Exit;

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
fn ranges_count_as_their_prefixes() {
    let daemon = Daemon::answering(all_changed);
    let input = "0.0.0.1-255.255.255.254\n".repeat(1000);
    assert_eq!(run("filterd add -", &daemon.socket, input.as_bytes()).exit, Exit::Done);
    assert!(daemon.asked().iter().all(|request| named(request) * 62 < 2 * TARGETS_A_MESSAGE));
}

#[test]
fn bad_lines_are_reported_and_others_applied() {
    let daemon = Daemon::answering(all_changed);
    let said = run("filterd add -", &daemon.socket, b"203.0.113.7\n\nrubbish!\n# fine\n203.0.113.8\n");
    assert_eq!(said.exit, Exit::Partly);
    assert!(said.err.starts_with("error: stdin:3: `rubbish!`"), "{}", said.err);
    assert_eq!(said.out, "2 targets: 2 newly blocked\n");
}

#[test]
fn only_bad_lines_is_a_short_usage_error() {
    let daemon = Daemon::answering(all_changed);
    let said = run("filterd add -", &daemon.socket, "rubbish!\n".repeat(1000).as_bytes());
    assert_eq!((said.exit, said.out.as_str()), (Exit::Usage, ""));
    assert_eq!(said.err.lines().count(), 11);
    assert!(said.err.contains("1,000 lines were not understood in total"), "{}", said.err);
    assert_eq!(daemon.asked(), []);
}

#[test]
fn work_before_a_failure_is_reported() {
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
    assert!(said.err.contains("out of memory") && said.err.contains("before that: "), "{}", said.err);
}

#[test]
fn json_answer_contains_the_bad_lines() {
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
