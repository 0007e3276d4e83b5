//! Those who watch see what is dropped.

use harness::limited::{LimitedChild, LimitedCommand};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use harness::{ATTACKER, BYSTANDER, Frame, Net, Reply, SOON, Watcher, Watching, binary, end_of, until};
use nix::sys::signal::Signal;
use serde_json::Value;

#[test]
fn watch_shows_each_drop_in_full() {
    let mut net = Net::with_links(2);
    net.home().write("feed.txt", "203.0.113.0/24\n");
    net.start("interfaces: [eth0, eth1]\nlists: [{name: feed, path: $HOME/feed.txt}]");
    net.filterd(["add", "2001:db8:bad::/64", "--list", "ssh"]).succeeds();
    let mut watching = Watching::of(&net, &["--drops"]);
    net.expect(ATTACKER).dropped();
    net.expect("2001:db8:bad::7").on("eth1").dropped();
    net.expect(BYSTANDER).passes();
    let drops = [watching.sees_a_drop(), watching.sees_a_drop()];
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
    let told = ["list", "reason", "interface"].map(|field| six[field].as_str());
    assert_eq!(told, ["ssh", "ipv6_64", "eth1"].map(Some), "{six}");
    // Only one list's.
    let mut ssh = Watching::of(&net, &["--drops", "--list", "ssh", "--count", "1"]);
    net.expect_each([ATTACKER, "2001:db8:bad::7"]).dropped();
    assert_eq!(ssh.sees_a_drop()["list"], "ssh");
    assert_eq!(ssh.end().0.code(), Some(0));
}

/// The user who owns nothing.
const NOBODY: u32 = 65_534;

/// Does the judge at work tell any drop: does it reach the ring?
fn tells_drops(net: &Net) -> bool {
    let bpftool = |words: &[&str]| -> Value {
        let mut command = Command::new("bpftool");
        let told = command.arg("--json").args(words).limited_output().expect("bpftool can be run");
        serde_json::from_slice(&told.stdout).expect("it speaks JSON")
    };
    let next = net.home().pins().join("next-tc").display().to_string();
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
    until(|| tells_drops(net) == whether, "it does not come to that");
}

fn byte(word: &Value) -> u8 {
    let word = word.as_str().unwrap_or_default();
    u8::from_str_radix(word.trim_start_matches("0x"), 16).expect("a byte")
}

#[test]
fn drops_are_sampled_only_while_watched() {
    let mut net = Net::with_filterd("block: [203.0.113.7]");
    assert!(!tells_drops(&net));
    let mut one = Watching::of(&net, &["--drops"]);
    let mut other = Watching::of(&net, &[]);
    assert!(tells_drops(&net));
    net.expect(ATTACKER).dropped();
    for watcher in [&mut one, &mut other] {
        assert_eq!(watcher.sees_a_drop()["source"], ATTACKER);
    }
    // One that dies is no reason for the other to see less; nor is a reload, or another daemon.
    one.signal(Signal::SIGKILL);
    one.end();
    net.configure("block: [203.0.113.7, 198.51.100.0/24]");
    net.filterd(["reload"]).succeeds();
    net.expect("198.51.100.9").dropped();
    assert_eq!(other.sees_a_drop()["source"], "198.51.100.9");
    net.succeed("block: [203.0.113.7, 198.51.100.0/24]");
    other.sees(|line| *line == serde_json::json!({"version": 1}));
    net.expect(ATTACKER).dropped();
    assert_eq!(other.sees_a_drop()["source"], ATTACKER);
    other.signal(Signal::SIGKILL);
    other.end();
    comes_to_tell_drops(&net, false);
    net.expect(ATTACKER).dropped();
    // Who watches changes only switches nothing on.
    let changes = Watching::of(&net, &["--changes"]);
    net.filterd(["ping"]).succeeds();
    assert!(!tells_drops(&net));
    changes.unread();
    // And where filterd is killed while somebody watches, the filter that it leaves tells nobody anything.
    let last = Watching::of(&net, &["--drops"]);
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
    let mut writing = writes(&net, 2, &file);
    net.expect_each([ATTACKER, ATTACKER]).dropped();
    assert!(end_of(&mut writing).success());
    let written = std::fs::read(&file).expect("it is written");
    let number = |at: usize| u32::from_ne_bytes(written[at..at + 4].try_into().expect("four bytes"));
    assert_eq!([number(0), number(16), number(20)], [0xA1B2_3C4D, 128, 1]);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970").as_secs();
    assert!(u64::from(number(24)).abs_diff(now) < 600, "{} is no time of today", number(24));
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
fn tcpdump_reads_dropped_frames() {
    let net = Net::with_filterd("block: [203.0.113.7, 2001:db8:bad::/64]");
    let file = net.home().path("drops.pcap");
    let mut writing = writes(&net, 3, &file);
    let long = Frame::from(ATTACKER).payload(958);
    net.expect_each([Frame::from(ATTACKER), Frame::from("2001:db8:bad::7"), long]).dropped();
    net.expect(BYSTANDER).passes();
    assert!(end_of(&mut writing).success());
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

/// Whoever may pause protection must not read by it what others are told.
#[test]
fn frames_show_the_group_no_words_of_others() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    // A copy of the program, where everybody can run it.
    net.home().filterd_as(NOBODY, ["--version"]).succeeds();
    let mut member = Command::new(net.home().path("filterd"));
    // The socket's group is root's here.
    member.uid(NOBODY).gid(0).arg("--socket").arg(net.home().socket());
    member.args(["watch", "--count", "1", "--pcap", "-"]).stdout(Stdio::piped());
    let member = member.spawn().expect("it can be run");
    comes_to_tell_drops(&net, true);
    let mut root = Watcher::of(&net, r#"{"drops":true,"frames":true}"#);
    let frame = Frame::from(ATTACKER).payload(50);
    net.expect(frame.clone()).dropped();
    let told = member.limited_wait_with_output().expect("it ends").stdout;
    let captured = u32::from_ne_bytes(told[32..36].try_into().expect("four bytes"));
    assert_eq!((captured, told.len()), (14 + 20 + 8, 24 + 16 + 14 + 20 + 8), "Ethernet, IPv4, UDP");
    let whole = frame.bytes([0; 6]).len();
    let shown = root.line()["parameters"]["drop"]["frame"].as_str().expect("it has a frame").len();
    assert_eq!(shown / 2, whole, "root is shown all of it");
    net.filterd(["pause", "1m"]).succeeds();
    net.expect(frame).passes();
    let paused = &root.line()["parameters"]["drop"];
    assert_eq!((&paused["outcome"], &paused["frame"]), (&"paused".into(), &Value::Null), "{paused}");
    drop(root);
    let log = || net.daemon().log();
    until(|| log().matches("watch ended after").count() == 2, "both ends are logged");
    assert!(log().contains("watch started: drops with the headers of their frames"), "{}", log());
    assert!(log().contains("watch started: drops with their frames"), "{}", log());
    assert!(log().contains(&format!("uid={NOBODY}")), "{}", log());
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

#[test]
fn drops_go_to_journal_with_separate_fields() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    let path = net.home().path("journal");
    let journal = UnixDatagram::bind(&path).expect("a socket can be made");
    journal.set_read_timeout(Some(SOON)).expect("it is a time");
    let mut command = Command::new(binary());
    let to = format!("--journald={}", path.display());
    command.arg("--socket").arg(net.home().socket()).args(["watch", &to, "--count", "1"]);
    let mut writing = command.spawn().expect("it can be run");
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
    assert!(end_of(&mut writing).success());
    net.filterd(["watch", "--journald=/nowhere"]).exits(6).complains("cannot reach journald");
}

const JOURNALD: &str = "/lib/systemd/systemd-journald";

/// A journal of its own, in a /run of its own: nobody else's entries come into it.
const IN_A_JOURNAL: &str = "
    mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/log || exit 90
    mkdir -p /run/systemd/journald.conf.d /run/log/journal
    printf '[Journal]\\nStorage=volatile\\nAudit=no\\nReadKMsg=no\\n' > /run/systemd/journald.conf.d/story.conf
    /lib/systemd/systemd-journald 2> /dev/null & journald=$!
    trap 'kill $journald' EXIT
    for _ in $(seq 600); do [ -S /run/systemd/journal/socket ] && break; sleep 0.1; done
    \"$@\" || exit 91
    journalctl --sync && journalctl --no-pager --output json SYSLOG_IDENTIFIER=filterd-drop
";

#[test]
fn a_real_journal_has_them_by_their_fields() {
    if !Path::new(JOURNALD).exists() || !Path::new("/etc/machine-id").exists() {
        println!("SKIPPED a real journald: this machine has none");
        return;
    }
    let net = Net::with_filterd("block: [203.0.113.7]");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", IN_A_JOURNAL, "sh"]).arg(binary());
    command.arg("--socket").arg(net.home().socket()).args(["watch", "--journald", "--count", "1"]);
    let asking = std::thread::spawn(move || Reply::of(&mut command));
    comes_to_tell_drops(&net, true);
    net.expect(ATTACKER).dropped();
    let entries = asking.join().expect("it only asks").succeeds().json_lines();
    let [entry] = &entries[..] else { panic!("one drop, and {entries:?}") };
    let told = ["FILTERD_SOURCE", "FILTERD_PORT", "FILTERD_LIST", "PRIORITY", "_TRANSPORT"]
        .map(|field| &entry[field]);
    assert_eq!(told, ["203.0.113.7", "53", "config", "6", "journal"], "{entry}");
    assert!(entry["MESSAGE"].as_str().is_some_and(|told| told.starts_with("drop 203.0.113.7 ")), "{entry}");
}
