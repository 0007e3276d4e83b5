//! Tests the output of commands with tables of text: a reply of the daemon is given, and the printed text is
//! compared. Needs neither root nor a daemon.
//!
//! Each file of `wording` has cases, with a blank line between them:
//! ```text
//! # the situation in words
//! + drop.txt                         a file, which the command line calls $HOME/drop.txt
//! | 203.0.113.7                      a line of it
//! @ 1795296480                       the time, in seconds since 1970; the zone is UTC
//! $ filterd add - --ttl 1h
//! | 203.0.113.8                      a line of standard input
//! < {"parameters":{"named":1}}       a line that the daemon replies
//! > 1 target: 1 newly blocked        standard output
//! ! error: something is wrong        standard error
//! = 7                                the exit code, unless it is 0
//! ```
//! A case without a reply runs without a daemon. After a change, `WORDING=write cargo xtask test wording` writes the new output
//! into the files, for a review with `git diff`.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;

use super::scripted::{CommandResult, Daemon, run_at};
use crate::cli::places;
use crate::command::render::moment::Clock;

const TABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/command/tests/wording");

/// The time of a case that names none: 2026-11-21 21:28:00 UTC.
const NOW: u64 = 1_795_296_480;

/// Marks of the lines that a case contains as input, and of those that it prints.
const GIVEN: &str = "#+|@$<";
const PRINTED: &str = ">!=";

#[test]
fn sentences_are_as_reviewed() {
    let write = std::env::var_os("WORDING").is_some_and(|what| what == "write");
    let (mut count, mut differences) = (0, Vec::new());
    for path in tables() {
        let reviewed = fs::read_to_string(&path).unwrap();
        let cases: Vec<_> = reviewed.trim_end().split("\n\n").collect();
        count += cases.len();
        let printed = cases.iter().map(|case| rewritten(case)).collect::<Vec<_>>().join("\n\n") + "\n";
        if write {
            fs::write(&path, printed).unwrap();
        } else if printed != reviewed {
            differences.push(first_difference(&path, &reviewed, &printed));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(count >= 250, "there are only {count} cases");
}

fn tables() -> Vec<PathBuf> {
    let files = fs::read_dir(TABLES).unwrap().map(|file| file.unwrap().path());
    let mut tables: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|kind| kind == "txt")).collect();
    tables.sort();
    tables
}

/// The input of a case.
#[derive(Default)]
struct Case {
    now: Option<u64>,
    words: Vec<String>,
    input: String,
    replies: VecDeque<Value>,
}

/// The case with the present output of its command.
fn rewritten(case: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let given: Vec<_> =
        case.lines().filter(|line| !line.starts_with(|mark| PRINTED.contains(mark))).collect();
    let printed = Case::read(&given, home.path()).run(home.path());
    format!("{}\n{printed}", given.join("\n")).trim_end().to_owned()
}

impl Case {
    /// Reads the lines of a case, and writes its files.
    fn read(lines: &[&str], home: &Path) -> Self {
        let (mut case, mut file) = (Self::default(), None);
        for line in lines {
            let (mark, rest) = (line.chars().next(), line.get(2..).unwrap_or_default());
            let rest = rest.replace("$HOME", &home.display().to_string());
            match mark {
                Some('#') => {}
                Some('@') => case.now = Some(rest.parse().unwrap()),
                Some('+') => file = Some((home.join(rest), String::new())),
                Some('|') if case.words.is_empty() => {
                    let (path, text) = file.as_mut().expect("a line of a file stands below its name");
                    text.push_str(&format!("{rest}\n"));
                    fs::write(path, text).unwrap();
                }
                Some('|') => case.input.push_str(&format!("{rest}\n")),
                Some('$') => case.words = words(&rest),
                Some('<') => case.replies.push_back(serde_json::from_str(&rest).unwrap()),
                _ => panic!("a line begins with one of {GIVEN} or {PRINTED}: {line}"),
            }
        }
        case
    }

    /// Runs the command, and returns what it printed as lines of a case.
    fn run(self, home: &Path) -> String {
        let Self { now, words, input, replies } = self;
        let clock = || Clock::standing(now.unwrap_or(NOW));
        let nobody = home.join("control.sock");
        let run = |socket: &Path| run_at(&clock, &words, socket, input.as_bytes());
        let (socket, said) = if replies.is_empty() {
            (nobody.clone(), run(&nobody))
        } else {
            let replies = Mutex::new(replies);
            let daemon = Daemon::answering_in_parts(move |_| one_reply(&mut replies.lock().unwrap()));
            let said = run(&daemon.socket);
            (daemon.socket.clone(), said)
        };
        let socket = socket.display().to_string();
        let home = home.display().to_string();
        marked(&said).replace(&socket, places::SOCKET).replace(&home, "$HOME")
    }
}

/// The words of a command line. Single quotes enclose words with blanks.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (number, part) in line.split('\'').enumerate() {
        let mut parts = if number % 2 == 0 { part.split(' ').collect() } else { vec![part] }.into_iter();
        words.last_mut().unwrap().push_str(parts.next().unwrap_or_default());
        words.extend(parts.map(str::to_owned));
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The next reply with all its parts.
fn one_reply(replies: &mut VecDeque<Value>) -> Vec<Value> {
    let last = replies.iter().position(|part| part["continues"] != true);
    let parts = last.map_or(replies.len(), |last| last + 1);
    replies.drain(..parts).collect()
}

fn marked(said: &CommandResult) -> String {
    let mut text = String::new();
    for (mark, printed) in [('>', &said.out), ('!', &said.err)] {
        for line in printed.lines() {
            writeln!(text, "{}", format!("{mark} {line}").trim_end()).unwrap();
        }
    }
    if said.exit as u8 != 0 {
        writeln!(text, "= {}", said.exit as u8).unwrap();
    }
    text
}

fn first_difference(path: &Path, reviewed: &str, printed: &str) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (mut command, mut reviewed) = ("", reviewed.lines());
    for line in printed.lines() {
        let before = reviewed.next().unwrap_or("nothing");
        command = line.strip_prefix("$ ").unwrap_or(command);
        if before != line {
            return format!("{name}: `{command}` prints\n  {line}\nand printed\n  {before}");
        }
    }
    format!("{name}: `{command}` no longer prints\n  {}", reviewed.next().unwrap_or_default())
}
