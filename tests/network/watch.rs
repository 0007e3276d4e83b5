//! What happens is told to those who watch, as it happens.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use harness::{ATTACKER, BYSTANDER, Net, binary};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// One line an object, from a client that needs no program of ours.
struct Watcher(BufReader<UnixStream>);

impl Watcher {
    /// Watches from here on: the first line says so.
    fn of(net: &Net, parameters: &str) -> Self {
        let mut stream = UnixStream::connect(net.home().socket()).expect("filterd listens");
        writeln!(stream, r#"{{"method":"io.filterd.Watch","parameters":{parameters}}}"#).expect("it reads");
        let mut watcher = Self(BufReader::new(stream));
        let first = watcher.line();
        assert!(first["continues"] == true && first["parameters"]["event"].is_null(), "{first}");
        watcher
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no object: {line:?}"))
    }

    /// The next event of which this is told.
    fn sees(&mut self, what: &str) -> Value {
        loop {
            let event = self.line()["parameters"]["event"].take();
            assert!(!event.is_null(), "it ended before {what}");
            if event["what"] == what {
                return event;
            }
        }
    }
}

/// `filterd watch --json`, whose lines are read one by one.
struct Program {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Program {
    /// It watches: its first line says so.
    fn of(net: &Net, words: &[&str]) -> Self {
        let mut command = Command::new(binary());
        command.arg("--socket").arg(net.home().socket()).args(["watch", "--json"]).args(words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be run");
        let out = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut program = Self { child, out };
        assert_eq!(program.line(), serde_json::json!({"version": 1}));
        program
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no object: {line:?}"))
    }

    /// The next line of which this is so.
    fn sees(&mut self, what: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.line();
            assert_eq!(line["version"], 1, "{line}");
            if what(&line) {
                return line;
            }
        }
    }

    /// Nobody reads what it says any more; how does it end?
    fn unread(self) -> (ExitStatus, String) {
        drop(self.out);
        ended(self.child)
    }

    /// How it ends, and what it complains of.
    fn end(mut self) -> (ExitStatus, String) {
        self.out.read_to_end(&mut Vec::new()).expect("it ends");
        ended(self.child)
    }
}

fn ended(mut child: Child) -> (ExitStatus, String) {
    let mut complaint = String::new();
    let mut err = child.stderr.take().expect("it is piped");
    err.read_to_string(&mut complaint).expect("it is text");
    (child.wait().expect("it ends"), complaint)
}

#[test]
fn who_watches_is_told_each_change_and_who_asked_for_it() {
    let net = Net::with_filterd("");
    let mut watcher = Watcher::of(&net, "{}");
    net.filterd(["add", ATTACKER, "--ttl", "1s", "--list", "ssh", "--note", "a\u{202e}b"]).exits(2);
    net.filterd(["add", ATTACKER, "--ttl", "1s", "--list", "ssh"]).succeeds();
    let added = watcher.sees(&format!("add {ATTACKER}"));
    assert_eq!(added["fields"]["list"], "ssh", "{added}");
    assert_eq!(
        (&added["verb"], &added["target"], &added["lists"]),
        (&"add".into(), &ATTACKER.into(), &serde_json::json!(["ssh"]))
    );
    assert_eq!(
        (&added["fields"]["user"], &added["fields"]["changed"]),
        (&"root".into(), &1.into()),
        "{added}"
    );
    assert_eq!(watcher.sees("1 expired")["verb"], "expire");
    net.filterd(["pause", "1m"]).succeeds();
    watcher.sees("pause");
    net.filterd(["reload"]).succeeds();
    watcher.sees("reload");
}

#[test]
fn a_list_that_is_read_anew_is_named_and_found_by_its_name() {
    let mut net = Net::new();
    for name in ["drop", "other"] {
        net.home().write(&format!("{name}.txt"), "203.0.113.7\n");
    }
    net.start("lists: [{name: drop, path: $HOME/drop.txt}, {name: other, path: $HOME/other.txt}]");
    let mut watcher = Watcher::of(&net, r#"{"list":"drop"}"#);
    net.home().write("other.txt", "198.51.100.1\n");
    net.home().write("drop.txt", "198.51.100.1\n198.51.100.2\n");
    net.filterd(["reload"]).succeeds();
    let read = watcher.line()["parameters"]["event"].take();
    assert_eq!(
        (&read["verb"], &read["lists"], &read["what"]),
        (&"read".into(), &serde_json::json!(["drop"]), &"list drop: 2 entries".into())
    );
}

#[test]
fn a_filterd_that_stops_ends_it_with_plain_words() {
    let mut net = Net::with_filterd("");
    let mut program = Program::of(&net, &[]);
    net.stop();
    let last = program.sees(|line| line["error"].is_string());
    assert_eq!(last["error"], "io.filterd.Unavailable", "{last}");
    assert_eq!(last["parameters"]["message"], "filterd has stopped: there is nothing more to watch");
    let (ended, complaint) = program.end();
    assert_eq!((ended.code(), complaint.as_str()), (Some(6), ""));
}

#[test]
fn a_filterd_that_takes_the_place_of_another_is_watched_in_its_place() {
    let mut net = Net::with_filterd("");
    let mut program = Program::of(&net, &["--count", "2", "--list", "ssh"]);
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    assert_eq!(program.line()["event"]["target"], ATTACKER);
    net.succeed("");
    assert_eq!(program.line(), serde_json::json!({"version": 1}), "from here on it is told again");
    net.filterd(["add", BYSTANDER, "--list", "ssh"]).succeeds();
    assert_eq!(program.line()["event"]["target"], BYSTANDER);
    assert_eq!(program.line(), serde_json::json!({"version": 1}), "these were two");
    assert_eq!(program.end().0.code(), Some(0));
}

#[test]
fn whoever_reads_no_more_or_presses_control_c_ends_it_without_a_word() {
    let net = Net::with_filterd("");
    // Nothing happens that would have to be written.
    let (ended, complaint) = Program::of(&net, &[]).unread();
    assert_eq!((ended.code(), complaint.as_str()), (Some(0), ""));
    let program = Program::of(&net, &[]);
    let pid = Pid::from_raw(program.child.id().cast_signed());
    kill(pid, Signal::SIGINT).expect("it runs");
    let (ended, complaint) = program.end();
    assert_eq!((ended.signal(), complaint.as_str()), (Some(Signal::SIGINT as i32), ""));
}

#[test]
fn a_watch_ends_after_as_many_events_of_its_list_as_it_was_asked_for() {
    let net = Net::with_filterd("");
    let mut watcher = Watcher::of(&net, r#"{"list":"ssh","count":1}"#);
    net.filterd(["add", BYSTANDER]).succeeds();
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    assert_eq!(
        watcher.line()["parameters"]["event"]["what"],
        format!("add {ATTACKER}"),
        "only what names the list"
    );
    assert!(watcher.line()["continues"].is_null(), "that was all");
    // The command line does the same, and ends by itself.
    let lines = net.filterd(["watch", "--for", "1s", "--json"]).succeeds().json_lines();
    assert_eq!(lines, [serde_json::json!({"version": 1}), serde_json::json!({"version": 1})]);
    net.filterd(["watch", "--for", "0"]).exits(2);
    net.filterd(["watch", "--list", "a b"]).exits(2);
}

#[test]
fn a_watcher_that_reads_nothing_holds_nobody_and_a_ninth_is_refused() {
    let net = Net::with_filterd("");
    let mut watchers: Vec<_> = (0..8).map(|_| Watcher::of(&net, "{}")).collect();
    net.filterd(["watch", "--for", "1s"]).exits(6);
    net.filterd(["add", ATTACKER]).succeeds();
    net.expect(ATTACKER).dropped();
    let mut last = watchers.pop().expect("there are eight");
    last.sees(&format!("add {ATTACKER}"));
    // Whoever says anything else has watched enough.
    writeln!(last.0.get_mut(), "{{}}").expect("it reads");
    last.0.read_to_end(&mut Vec::new()).expect("it is hung up on");
    net.filterd(["watch", "--for", "1s"]).succeeds();
}
