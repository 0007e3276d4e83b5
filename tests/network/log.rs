//! The log: who had what changed, a line each; and whatever becomes of it, filterd goes on.

use harness::limited::LimitedChild;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write, pipe};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use harness::{ATTACKER, BYSTANDER, Net, Watcher, home};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const SOON: Duration = Duration::from_secs(30);

#[test]
fn every_change_is_logged_with_its_user() {
    let mut net = Net::with_filterd("block: [198.51.100.0/24]");
    net.filterd(["add", ATTACKER, "--ttl", "2h", "--list", "ssh", "--note", "a\" user=\"nobody"]).succeeds();
    net.filterd(["remove", ATTACKER]).succeeds();
    net.filterd(["flush"]).succeeds();
    net.filterd(["reload"]).succeeds();
    net.filterd(["add", ATTACKER, "--list", "config"]).exits(5);
    net.configure("block: 7");
    net.filterd(["reload"]).exits(3);
    net.wait_for_log("refused: reload: ");
    let log = net.daemon().log();
    for (told, more) in [
        ("INFO blocked 203.0.113.7", r#"list="ssh" ttl=7200 note="a\" user=\"nobody" changed=1"#),
        ("INFO removed 203.0.113.7", "changed=1"),
        ("INFO flushed", "changed=0"),
        ("INFO reloaded", "changed=0"),
        ("WARN refused: add 203.0.113.7: ", "it is defined in the configuration"),
        ("WARN refused: reload: ", "filterd.yaml:1:8: "),
    ] {
        let lines: Vec<_> = log.lines().filter(|line| line.contains(told)).collect();
        assert!(lines.len() == 1 && lines[0].contains(more), "{told:?} {more:?} in\n{log}");
        assert!(lines[0].contains(r#"user="root" uid=0 "#), "{log}");
        assert!(lines[0].contains(r#"process="filterd" pid="#), "{log}");
        // 2026-11-22T05:00:00.123Z
        assert_eq!((&lines[0][10..11], &lines[0][23..24]), ("T", "Z"), "{log}");
    }
}

/// Whether somebody waits for it or not, and to whom watches as to whom reads: what the reply says.
#[test]
fn reload_without_entry_changes_reports_settings() {
    let mut net = Net::with_filterd("block: [203.0.113.7]");
    let mut watcher = Watcher::of(&net, "{}");
    let off = "enforce: false now, packets are only counted, NONE IS DROPPED";
    let new = "match: new now, replies to connections this host started pass";
    net.configure("enforce: false\nmatch: new\nblock: [203.0.113.7]\nallow: [192.0.2.1, 192.0.2.2]");
    net.filterd(["reload"]).succeeds().says("; 2 targets newly allowed\n").says(off).says(new);
    let told = watcher.sees("reloaded")["fields"].clone();
    assert_eq!((&told["settings"], &told["allowed"]), (&format!("{off}; {new}").into(), &2.into()), "{told}");
    net.wait_for_log(&format!(
        r#"INFO reloaded settings="{off}; {new}" changed=2 entered=0 left=0 allowed=2 user="#
    ));
    net.expect(ATTACKER).passes();
    let on = "enforce: true now, packets are dropped";
    let all = "match: all now, every packet of a blocked source is dropped, also replies to this host";
    net.configure("block: [203.0.113.7]\nallow: [192.0.2.1]\nmetrics: {sources: true}");
    net.daemon().signal(Signal::SIGHUP);
    net.wait_for_log(&format!(
        r#"reloaded settings="{on}; {all}; metrics.sources: 10 now" entered=0 left=0 allowed=0 disallowed=1 "#
    ));
    net.expect(ATTACKER).dropped();
    net.filterd(["reload"]).succeeds();
    // Nothing has changed.
    net.wait_for_log("INFO reloaded changed=0 entered=0 left=0 user=");
}

#[test]
fn bulk_add_is_one_log_line() {
    let mut net = Net::with_filterd("");
    let many: String = (0..20_000).map(|host: u32| format!("10.0.{}.{}\n", host >> 8, host & 255)).collect();
    net.filterd_reading(["add", "-"], &many).succeeds();
    // Its messages are under way at once, and which of them comes first says nothing.
    net.wait_for_log(" and others requests=10 changed=20000");
    net.wait_for_log("blocked 20000 targets, 10.0.");
    assert_eq!(net.daemon().log().matches(" blocked ").count(), 1, "{}", net.daemon().log());
}

#[test]
fn a_log_that_cannot_be_written_ends_nothing() {
    let (reader, left) = pipe().expect("a pipe");
    drop(reader);
    let (_sleeps, full) = pipe().expect("a pipe");
    // What is left of a page is not written to by others.
    (&full).write_all(&[b'x'; 65_536]).expect("as much as a pipe takes");
    let no_space = OpenOptions::new().write(true).open("/dev/full").expect("every Linux has it");
    for log in [OwnedFd::from(left), full.into(), no_space.into()] {
        let net = Net::new();
        let filterd = Bare::start(&net, &[], log.into());
        net.filterd(["add", ATTACKER, "--ttl", "1s"]).succeeds();
        net.filterd(["add", BYSTANDER]).succeeds();
        // As from a terminal that is closed.
        filterd.signal(Signal::SIGHUP);
        net.expect(ATTACKER).then_within(SOON).passes();
        net.expect(BYSTANDER).dropped();
        filterd.signal(Signal::SIGTERM);
        assert_eq!(filterd.end().code(), Some(0));
        net.expect(BYSTANDER).passes();
    }
}

#[test]
fn journald_is_given_priorities_and_programs_json() {
    let net = Net::new();
    let (mut journal, log) = UnixStream::pair().expect("a pair");
    let file = File::from(OwnedFd::from(log.try_clone().expect("a copy"))).metadata().expect("it is open");
    let stream = format!("{}:{}", file.dev(), file.ino());
    let words = ["--iface", "eth1"];
    let filterd = Bare::start_as(&net, &words, OwnedFd::from(log).into(), &[("JOURNAL_STREAM", &stream)]);
    filterd.signal(Signal::SIGTERM);
    filterd.end();
    let mut told = String::new();
    journal.read_to_string(&mut told).expect("it is text");
    assert!(told.lines().all(|line| line.starts_with("<6>") || line.starts_with("<4>")), "{told}");
    assert!(
        told.contains("<6>ready: ") && told.contains("<6>eth0 attached") && told.contains("<4>eth1"),
        "{told}"
    );

    let (mut reader, log) = pipe().expect("a pipe");
    let words = ["--log-format", "json", "-q", "--iface", "eth1"];
    let filterd = Bare::start_as(&net, &words, OwnedFd::from(log).into(), &[("JOURNAL_STREAM", &stream)]);
    filterd.signal(Signal::SIGTERM);
    filterd.end();
    let mut told = String::new();
    reader.read_to_string(&mut told).expect("it is text");
    let lines: Vec<serde_json::Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {told}")))
        .collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| line["level"] == "warn"), "{told}");
    assert!(lines[0]["message"].as_str().is_some_and(|message| message.starts_with("eth1")), "{told}");
}

/// The processes that filterd starts have the same environment.
#[test]
fn invalid_log_level_is_reported_once() {
    let net = Net::new();
    let (mut reader, log) = pipe().expect("a pipe");
    let filterd = Bare::start_as(&net, &[], OwnedFd::from(log).into(), &[("FILTERD_LOG", "loud")]);
    filterd.signal(Signal::SIGTERM);
    filterd.end();
    let mut told = String::new();
    reader.read_to_string(&mut told).expect("it is text");
    assert_eq!(
        told.matches("FILTERD_LOG cannot be `loud`: it is one of off, error, warn").count(),
        1,
        "{told}"
    );
}

/// A filterd whose log goes where a story wants it.
struct Bare(Option<Child>);

impl Bare {
    fn start(net: &Net, words: &[&str], log: Stdio) -> Self {
        Self::start_as(net, words, log, &[])
    }

    fn start_as(net: &Net, words: &[&str], log: Stdio, environment: &[(&str, &str)]) -> Self {
        let mut command = net.host().command(&home::binary().display().to_string());
        command.args(net.arguments("")).args(words).envs(environment.iter().copied());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        let this = Self(Some(child.expect("filterd can be started")));
        let begun = Instant::now();
        while !net.filterd(["ping"]).is_success() {
            assert!(begun.elapsed() < SOON, "it does not answer");
        }
        this
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.0.as_ref().expect("it runs").id()).expect("process ids are small");
        kill(Pid::from_raw(id), signal).expect("it is our child");
    }

    fn end(mut self) -> std::process::ExitStatus {
        let mut child = self.0.take().expect("it runs");
        child.limited_wait().expect("it is our child")
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.limited_wait();
        }
    }
}
