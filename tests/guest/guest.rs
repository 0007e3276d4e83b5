//! A running guest: told what to do a line at a time (the other side is `console` in tests/vm/init.sh).

use harness::limited::LimitedChild;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use crate::card::Card;
use crate::lan::{Lan, NEIGHBOUR, NEIGHBOUR6};

/// Booting takes seconds under emulation, and any command less; this is for machines under load.
const PATIENCE: Duration = Duration::from_secs(120);

/// Unplugged when dropped.
pub struct Guest<'lan> {
    qemu: Child,
    words: ChildStdin,
    lines: Receiver<String>,
    lan: &'lan Lan,
    log: PathBuf,
}

/// How a command ended, and what it printed.
pub struct Told {
    pub code: i32,
    pub text: String,
}

impl<'lan> Guest<'lan> {
    #[track_caller]
    pub(crate) fn boot(qemu: &mut Command, lan: &'lan Lan, log: PathBuf) -> Self {
        let mut qemu = qemu.spawn().unwrap_or_else(|error| panic!("cannot start QEMU: {error}"));
        let words = qemu.stdin.take().expect("it is piped");
        let lines = lines_of(qemu.stdout.take().expect("it is piped"));
        let guest = Self { qemu, words, lines, lan, log };
        while guest.line() != "@@ listening" {}
        guest
    }

    /// Runs a line of shell to its end.
    #[track_caller]
    pub fn run(&mut self, line: &str) -> Told {
        self.begin(line);
        let mut text = String::new();
        loop {
            let told = self.line();
            if let Some(code) = told.strip_prefix("@@ exit ") {
                return Told { code: code.parse().expect("a shell knows how a command ended"), text };
            }
            text.extend([&told, "\n"]);
        }
    }

    /// Runs a line of shell that succeeds, and returns what it prints.
    #[track_caller]
    pub fn sh(&mut self, line: &str) -> String {
        let Told { code, text } = self.run(line);
        assert!(code == 0, "in the guest, `{line}` ended with {code}:\n{text}");
        text
    }

    /// Runs a line of shell without waiting for its end.
    pub fn begin(&mut self, line: &str) {
        writeln!(self.words, "{line}").expect("the guest listens");
    }

    /// The next line that it prints.
    #[track_caller]
    pub fn line(&self) -> String {
        self.lines
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|_| panic!("the guest has fallen silent{}", self.last_words()))
    }

    /// What the kernel said before, if it was its last.
    fn last_words(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log[log.len().saturating_sub(2000)..]).into_owned();
        format!("; its kernel said ({}):\n{log}", self.log.display())
    }

    /// Cuts its power.
    pub fn pull_the_plug(self) {
        drop(self);
    }

    pub fn lan(&self) -> &'lan Lan {
        self.lan
    }
}

/// What stories ask of it.
impl Guest<'_> {
    /// Is it Linux x.y or newer?
    pub fn is_linux(&mut self, major: u32, minor: u32) -> bool {
        let release = self.sh("uname -r");
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().ok());
        (numbers.next().flatten(), numbers.next().flatten()) >= (Some(major), Some(minor))
    }

    /// Gives a card its addresses and raises it.
    #[track_caller]
    pub fn raise(&mut self, card: &Card, mtu: usize) {
        let Card { name, v4, v6, .. } = card;
        self.lan.introduce(card);
        self.sh(&format!("ip link set {name} mtu {mtu} up"));
        self.sh(&format!("ip addr add {v4}/24 dev {name} && ip addr add {v6}/64 dev {name} nodad"));
        self.sh(&format!("ip route add default via {NEIGHBOUR} && ip route add ::/0 via {NEIGHBOUR6}"));
    }

    /// Starts filterd with these words, and waits until it answers.
    #[track_caller]
    pub fn start_filterd(&mut self, words: &str) {
        self.sh(&format!("filterd {words} >/tmp/log 2>&1 &"));
        self.sh("until filterd ping >/dev/null 2>&1; do kill -0 $! || break; done");
        self.sh("filterd ping >/dev/null || { cat /tmp/log; false; }");
    }

    /// Runs a verb that succeeds.
    #[track_caller]
    pub fn filterd(&mut self, words: &str) -> String {
        self.sh(&format!("filterd {words}"))
    }

    /// What filterd has logged.
    pub fn log(&mut self) -> String {
        self.sh("cat /tmp/log")
    }

    /// How many frames one of its cards has taken in, whatever became of them.
    pub fn taken_in(&mut self, card: &Card) -> u64 {
        let count = self.sh(&format!("cat /sys/class/net/{}/statistics/rx_packets", card.name));
        count.trim().parse().expect("a number")
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.limited_wait();
    }
}

/// Its lines, read aside so that waiting for them can end.
fn lines_of(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(output).split(b'\n').map_while(Result::ok);
        let texts = lines.map(|line| String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned());
        let _ = texts.into_iter().try_for_each(|line| sender.send(line));
    });
    receiver
}
