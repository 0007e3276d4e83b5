//! Those who watch filterd: what they are told is waited for, and never for ever.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::{Net, SOON, binary, end_of};

/// What somebody is told, a JSON object a line.
#[derive(Debug)]
struct Lines<R>(BufReader<R>);

impl<R: Read + AsFd> Lines<R> {
    #[track_caller]
    fn next(&mut self) -> Value {
        let mut line = Vec::new();
        while !line.ends_with(b"\n") && self.has_more() {
            let told = self.0.fill_buf().expect("it can be read");
            let end = told.iter().position(|byte| *byte == b'\n').map_or(told.len(), |at| at + 1);
            line.extend_from_slice(&told[..end]);
            self.0.consume(end);
        }
        serde_json::from_slice(&line)
            .unwrap_or_else(|_| panic!("no object: {:?}", String::from_utf8_lossy(&line)))
    }

    /// All the rest is of no interest.
    #[track_caller]
    fn end(&mut self) {
        while self.has_more() {
            let told = self.0.buffer().len();
            self.0.consume(told);
        }
    }

    /// It is told more, or that this was the end: soon.
    #[track_caller]
    fn has_more(&mut self) -> bool {
        if self.0.buffer().is_empty() {
            let soon = PollTimeout::try_from(SOON).expect("a minute is a time");
            let mut told = [PollFd::new(self.0.get_ref().as_fd(), PollFlags::POLLIN)];
            assert_ne!(poll(&mut told, soon).expect("it can be waited for"), 0, "nothing is told");
        }
        !self.0.fill_buf().expect("it can be read").is_empty()
    }
}

/// A client that needs no program of ours.
#[derive(Debug)]
pub struct Watcher(Lines<UnixStream>);

impl Watcher {
    /// Watches from here on: the first line says so.
    #[track_caller]
    pub fn of(net: &Net, parameters: &str) -> Self {
        let stream = UnixStream::connect(net.home().socket()).expect("filterd listens");
        let mut watcher = Self(Lines(BufReader::new(stream)));
        watcher.says(&format!(r#"{{"method":"io.filterd.Watch","parameters":{parameters}}}"#));
        let first = watcher.line();
        assert!(first["continues"] == true && first["parameters"]["event"].is_null(), "{first}");
        watcher
    }

    /// Says this itself.
    pub fn says(&mut self, line: &str) {
        writeln!(self.0.0.get_mut(), "{line}").expect("it reads");
    }

    /// The next line.
    #[track_caller]
    pub fn line(&mut self) -> Value {
        self.0.next()
    }

    /// The next event of which this is told.
    #[track_caller]
    pub fn sees(&mut self, what: &str) -> Value {
        loop {
            let event = self.line()["parameters"]["event"].take();
            assert!(!event.is_null(), "it ended before {what}");
            if event["what"] == what {
                return event;
            }
        }
    }

    /// It is hung up on.
    #[track_caller]
    pub fn ends(mut self) {
        self.0.end();
    }
}

/// `filterd watch --json`.
#[derive(Debug)]
pub struct Watching {
    child: Child,
    out: Lines<ChildStdout>,
}

impl Watching {
    /// It watches: its first line says so.
    #[track_caller]
    pub fn of(net: &Net, words: &[&str]) -> Self {
        let mut command = Command::new(binary());
        command.arg("--socket").arg(net.home().socket()).args(["watch", "--json"]).args(words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be run");
        let out = Lines(BufReader::new(child.stdout.take().expect("it is piped")));
        let mut watching = Self { child, out };
        assert_eq!(watching.line(), serde_json::json!({"version": 1}));
        watching
    }

    /// The next line.
    #[track_caller]
    pub fn line(&mut self) -> Value {
        self.out.next()
    }

    /// The next line of which this is so.
    #[track_caller]
    pub fn sees(&mut self, what: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.line();
            assert_eq!(line["version"], 1, "{line}");
            if what(&line) {
                return line;
            }
        }
    }

    /// The next drop that it tells.
    #[track_caller]
    pub fn sees_a_drop(&mut self) -> Value {
        self.sees(|line| line["drop"].is_object())["drop"].take()
    }

    /// All lines from here on, until it ends.
    #[track_caller]
    pub fn rest(mut self) -> Vec<Value> {
        let mut lines = Vec::new();
        while self.out.has_more() {
            lines.push(self.out.next());
        }
        ended(self.child);
        lines
    }

    /// Its process.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("it runs");
    }

    /// Nobody reads what it says any more; how does it end?
    #[track_caller]
    pub fn unread(self) -> (ExitStatus, String) {
        drop(self.out);
        ended(self.child)
    }

    /// How it ends, and what it complains of.
    #[track_caller]
    pub fn end(mut self) -> (ExitStatus, String) {
        self.out.end();
        ended(self.child)
    }
}

#[track_caller]
fn ended(mut child: Child) -> (ExitStatus, String) {
    let status = end_of(&mut child);
    let mut complaint = String::new();
    let mut err = child.stderr.take().expect("it is piped");
    err.read_to_string(&mut complaint).expect("it is text");
    (status, complaint)
}
