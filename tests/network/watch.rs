//! What happens is told to those who watch, as it happens.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use harness::{ATTACKER, BYSTANDER, Frame, Net, Reply, binary, keeper_of};
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

/// Without its broker filterd ends, too; its filter stays.
#[test]
fn whoever_watches_is_told_when_the_broker_dies_and_that_the_filter_is_left() {
    let mut net = Net::with_filterd("block: [203.0.113.7]");
    let mut program = Program::of(&net, &[]);
    let broker = i32::try_from(keeper_of(net.daemon().id())).expect("process ids are small");
    kill(Pid::from_raw(broker), Signal::SIGKILL).expect("it runs");
    let told = program.sees(|line| line["event"]["level"] == "error");
    let what = told["event"]["what"].as_str().expect("it is told in words");
    assert!(
        what.contains("without the broker filterd can change nothing") && what.contains("left as it is"),
        "{told}"
    );
    let last = program.sees(|line| line["error"].is_string());
    assert_eq!(last["error"], "io.filterd.Unavailable", "{last}");
    assert_eq!(last["parameters"]["message"], "filterd has stopped: there is nothing more to watch");
    let remedy = last["parameters"]["remedy"].as_str().expect("it says what to do");
    assert!(remedy.contains("filter"), "{remedy}");
    assert_eq!(program.end().0.code(), Some(6));
    let (status, _) = net.wait_for_the_end();
    assert_eq!(status.code(), Some(8));
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
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
    let mut watcher = Watcher::of(&net, r#"{"list":"ssh","count":1,"changes":true}"#);
    net.filterd(["add", BYSTANDER]).succeeds();
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    assert_eq!(
        watcher.line()["parameters"]["event"]["what"],
        format!("add {ATTACKER}"),
        "only what names the list"
    );
    assert!(watcher.line()["continues"].is_null(), "that was all");
    // The command line does the same, and ends by itself.
    let lines = net.filterd(["watch", "--changes", "--for", "1s", "--json"]).succeeds().json_lines();
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

/// What becomes of a drop that is told.
fn drop_of(program: &mut Program) -> Value {
    program.sees(|line| line["drop"].is_object())["drop"].take()
}

#[test]
fn who_watches_sees_each_of_few_drops_with_all_that_is_known_of_it() {
    let mut net = Net::new();
    net.home().write("feed.txt", "203.0.113.0/24\n");
    net.start("lists: [{name: feed, path: $HOME/feed.txt}]");
    net.filterd(["add", "2001:db8:bad::/64", "--list", "ssh"]).succeeds();
    let mut program = Program::of(&net, &["--drops"]);
    net.expect_each([ATTACKER, "2001:db8:bad::7"]).dropped();
    net.expect(BYSTANDER).passes();
    let drops = [drop_of(&mut program), drop_of(&mut program)];
    let of = |source: &str| {
        drops.iter().find(|drop| drop["source"] == source).unwrap_or_else(|| panic!("{source} in {drops:?}"))
    };
    let four = of(ATTACKER);
    let told = ["list", "reason", "outcome", "interface", "protocol"].map(|field| four[field].as_str());
    assert_eq!(told, ["feed", "ipv4_prefix", "drop", "eth0", "udp"].map(Some), "{four}");
    let bytes = Frame::from(ATTACKER).bytes([0; 6]).len();
    let told = ["weight", "source_port", "port", "bytes"].map(|field| four[field].as_u64());
    assert_eq!(told, [1, 54_321, 53, bytes as u64].map(Some), "{four}");
    let six = of("2001:db8:bad::7");
    assert_eq!((&six["list"], &six["reason"]), (&"ssh".into(), &"ipv6_64".into()), "{six}");
    // Only one list's.
    let mut ssh = Program::of(&net, &["--drops", "--list", "ssh", "--count", "1"]);
    net.expect_each([ATTACKER, "2001:db8:bad::7"]).dropped();
    assert_eq!(drop_of(&mut ssh)["list"], "ssh");
    assert_eq!(ssh.end().0.code(), Some(0));
}

/// Does the judge at work tell any drop: does it reach the ring?
fn tells_drops(net: &Net) -> bool {
    let bpftool = |words: &[&str]| -> Value {
        let mut command = Command::new("bpftool");
        let told = command.arg("--json").args(words).output().expect("bpftool can be run");
        serde_json::from_slice(&told.stdout).expect("it speaks JSON")
    };
    let next = net.home().pins().join("next").display().to_string();
    let slots = bpftool(&["map", "dump", "pinned", &next]);
    let value: Vec<u8> = slots[0]["value"].as_array().expect("it has a judge").iter().map(byte).collect();
    let id = u32::from_ne_bytes(value.try_into().expect("a number of four bytes"));
    let judge = bpftool(&["prog", "show", "id", &id.to_string()]);
    // One that was replaced meanwhile may be gone already.
    let Some(maps) = judge["map_ids"].as_array() else { return tells_drops(net) };
    maps.iter().any(|map| bpftool(&["map", "show", "id", &map.to_string()])["type"] == "ringbuf")
}

#[track_caller]
fn comes_to_tell_drops(net: &Net, whether: bool) {
    let begun = Instant::now();
    while tells_drops(net) != whether {
        assert!(begun.elapsed() < Duration::from_secs(30), "it does not come to that");
        sleep(Duration::from_millis(20));
    }
}

fn byte(word: &Value) -> u8 {
    let word = word.as_str().unwrap_or_default();
    u8::from_str_radix(word.trim_start_matches("0x"), 16).expect("a byte")
}

#[test]
fn drops_are_told_from_the_first_watcher_to_the_last_whatever_becomes_of_them() {
    let mut net = Net::with_filterd("block: [203.0.113.7]");
    assert!(!tells_drops(&net));
    let mut one = Program::of(&net, &["--drops"]);
    let mut other = Program::of(&net, &[]);
    assert!(tells_drops(&net));
    net.expect(ATTACKER).dropped();
    for watcher in [&mut one, &mut other] {
        assert_eq!(drop_of(watcher)["source"], ATTACKER);
    }
    // One that dies is no reason for the other to see less; nor is a reload, or another daemon.
    kill(Pid::from_raw(one.child.id().cast_signed()), Signal::SIGKILL).expect("it runs");
    one.end();
    net.configure("block: [203.0.113.7, 198.51.100.0/24]");
    net.filterd(["reload"]).succeeds();
    net.expect("198.51.100.9").dropped();
    assert_eq!(drop_of(&mut other)["source"], "198.51.100.9");
    net.succeed("block: [203.0.113.7, 198.51.100.0/24]");
    other.sees(|line| *line == serde_json::json!({"version": 1}));
    net.expect(ATTACKER).dropped();
    assert_eq!(drop_of(&mut other)["source"], ATTACKER);
    kill(Pid::from_raw(other.child.id().cast_signed()), Signal::SIGKILL).expect("it runs");
    other.end();
    comes_to_tell_drops(&net, false);
    net.expect(ATTACKER).dropped();
    // Who watches changes only switches nothing on.
    let changes = Program::of(&net, &["--changes"]);
    net.filterd(["ping"]).succeeds();
    assert!(!tells_drops(&net));
    changes.unread();
    // And where filterd is killed while somebody watches, the filter that it leaves tells nobody anything.
    let last = Program::of(&net, &["--drops"]);
    assert!(tells_drops(&net));
    net.end(Signal::SIGKILL);
    last.end();
    comes_to_tell_drops(&net, false);
    net.expect(ATTACKER).dropped();
}

#[test]
fn dropped_frames_are_written_as_tcpdump_reads_them() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    let file = net.home().path("drops.pcap");
    let writing = writes(&net, 2, &file);
    net.expect_each([ATTACKER, ATTACKER]).dropped();
    assert!(ended_well(writing));
    let written = std::fs::read(&file).expect("it is written");
    let number = |at: usize| u32::from_ne_bytes(written[at..at + 4].try_into().expect("four bytes"));
    assert_eq!([number(0), number(16), number(20)], [0xA1B2_3C4D, 128, 1]);
    let (captured, whole) = (number(32) as usize, number(36) as usize);
    assert_eq!(captured, whole.min(128));
    let frame = &written[40..40 + captured];
    assert_eq!((&frame[12..14], &frame[26..30]), (&[8, 0][..], &[203, 0, 113, 7][..]));
    assert_eq!(written.len(), 24 + 2 * (16 + captured), "two of them, and nothing else");
    // A file that is there is not overwritten.
    net.filterd(["watch", "--pcap", &file.display().to_string()]).exits(2).complains("drops.pcap");
}

/// What somebody does with such a file.
#[test]
fn tcpdump_reads_what_was_dropped_with_its_addresses_ports_and_lengths() {
    let net = Net::with_filterd("block: [203.0.113.7, 2001:db8:bad::/64]");
    let file = net.home().path("drops.pcap");
    let writing = writes(&net, 3, &file);
    let long = Frame::from(ATTACKER).payload(958);
    net.expect_each([Frame::from(ATTACKER), Frame::from("2001:db8:bad::7"), long]).dropped();
    net.expect(BYSTANDER).passes();
    assert!(ended_well(writing));
    let read = |words: &[&str]| -> Vec<String> {
        let mut command = Command::new("tcpdump");
        let told =
            Reply::of(command.args(["-Z", "root", "-n", "-e", "-t", "-r"]).arg(&file).args(words)).succeeds();
        told.output.lines().map(str::to_owned).collect()
    };
    let all = read(&[]);
    assert_eq!(all.len(), 3, "{all:#?}");
    assert!(all[0].contains("ethertype IPv4") && all[0].contains("203.0.113.7.54321 > "), "{all:#?}");
    assert!(all[1].contains("2001:db8:bad::7.") && all[1].contains("ethertype IPv6"), "{all:#?}");
    // Of a long frame there are the first bytes, and how long it was.
    assert!(all[2].contains("length 1000: 203.0.113.7."), "{all:#?}");
    assert_eq!(read(&["ip6"]), all[1..2], "its own filters work, too");
    assert_eq!(read(&["greater", "1000"]), all[2..]);
}

/// Writes so many drops into a file; it has begun.
fn writes(net: &Net, count: usize, file: &Path) -> Child {
    let mut command = Command::new(binary());
    command.arg("--socket").arg(net.home().socket());
    command.args(["watch", "--count", &count.to_string(), "--pcap"]).arg(file);
    let writing = command.spawn().expect("it can be run");
    comes_to_tell_drops(net, true);
    writing
}

fn ended_well(mut child: Child) -> bool {
    child.wait().expect("it ends").success()
}

#[test]
fn drops_go_to_the_journal_with_a_field_for_each_part() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    let path = net.home().path("journal");
    let journal = UnixDatagram::bind(&path).expect("a socket can be made");
    journal.set_read_timeout(Some(Duration::from_secs(30))).expect("it is a time");
    let mut command = Command::new(binary());
    let to = format!("--journald={}", path.display());
    command.arg("--socket").arg(net.home().socket()).args(["watch", &to, "--count", "1"]);
    let writing = command.spawn().expect("it can be run");
    comes_to_tell_drops(&net, true);
    net.expect(ATTACKER).dropped();
    let mut entry = [0; 4096];
    let length = journal.recv(&mut entry).expect("an entry comes");
    let entry = String::from_utf8_lossy(&entry[..length]).into_owned();
    for line in [
        "PRIORITY=6",
        "SYSLOG_IDENTIFIER=filterd-drop",
        "FILTERD_SOURCE=203.0.113.7",
        "FILTERD_REASON=ipv4_address",
        "FILTERD_LIST=config",
        "FILTERD_INTERFACE=eth0",
        "FILTERD_WEIGHT=1",
    ] {
        assert!(entry.lines().any(|field| field == line), "{line} in {entry}");
    }
    assert!(entry.starts_with("MESSAGE=drop 203.0.113.7 "), "{entry}");
    assert!(ended_well(writing));
    net.filterd(["watch", "--journald=/nowhere"]).exits(6).complains("cannot reach journald");
}
