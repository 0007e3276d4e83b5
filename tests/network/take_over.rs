//! `--take-over`: the newcomer rehearses its start beside the one that runs, which goes on if that fails. Then that one ends,
//! and the newcomer starts as after a crash.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use harness::home::binary;
use harness::{ATTACKER, BYSTANDER, Daemon, Net, Reply, SavedGeneration, StruckDown, Talk, is_error, until};
use nix::sys::signal::Signal;

const BLOCKING: &str = "block: [203.0.113.7]";

/// What is done in a namespace of mounts, before the program behind it.
const IN_GROUP: &str = r#"mount --bind "$0" /sys/fs/cgroup && exec "$@""#;

/// The same, with another BPF file system.
const IN_MOUNTS: &str = r#"mount -t bpf bpf /sys/fs/bpf && exec "$@""#;

#[test]
fn faulty_newcomer_leaves_old_daemon_serving() {
    let net = Net::with_filterd(BLOCKING);
    let elsewhere = net.home().path("elsewhere").display().to_string();
    let unreadable = "interfaces: [eth0]\nlists: [{name: drop, path: $HOME/nothing.txt}]";
    let refusals: [(&str, &[&str], i32, &str); 7] = [
        ("block: nonsense", &[], 3, "block"),
        ("interfaces: []", &[], 3, "interface"),
        (unreadable, &[], 3, "nothing.txt"),
        ("interfaces: [eth0, ehh1]\nblock: [203.0.113.7]", &[], 3, "there is no interface ehh1"),
        (BLOCKING, &["--pin-dir", "/sys/fs/bpf/filterd-test-elsewhere"], 3, "--pin-dir"),
        (BLOCKING, &["--state-dir", &elsewhere], 3, "--state-dir"),
        (BLOCKING, &["--user", "nobody"], 3, "--user"),
    ];
    for (config, arguments, code, words) in refusals {
        net.failing_succession(config, arguments).exits(code).complains(words);
        net.expect(ATTACKER).dropped();
        net.expect(BYSTANDER).passes();
        net.filterd(["add", BYSTANDER]).succeeds();
        net.expect(BYSTANDER).dropped();
        net.filterd(["remove", BYSTANDER]).succeeds();
    }
    assert!(
        !net.daemon().log().contains("requests wait"),
        "it was asked to make way: {}",
        net.daemon().log()
    );
}

/// As under `ip netns exec`, where each has a BPF file system of its own: no flag says which.
#[test]
fn other_bpf_file_system_is_reported_with_remedy() {
    let mut net = Net::with_filterd(BLOCKING);
    net.starts_through(["unshare", "--mount", "--", "sh", "-c", IN_MOUNTS, "sh"]);
    let told = net.failing_succession(BLOCKING, &[]).exits(3);
    let pid = net.filterd(["status", "--json"]).succeeds().json()["pid"].clone();
    told.complains("is another place here: the two have different mount namespaces")
        .complains(&format!("nsenter -t {pid} -m -- filterd run --take-over"));
    net.expect(ATTACKER).dropped();
}

#[test]
fn take_over_without_memory_keeps_old_daemon() {
    let mut net = Net::with_filterd(BLOCKING);
    // To the newcomer its home is where the kernel says how much a group of processes may have.
    net.file("memory.current", "3000000\n");
    let limit = net.file("memory.max", "4000000\n");
    let group = limit.parent().expect("it is in a directory").display().to_string();
    let in_group = ["unshare", "--mount", "--", "sh", "-c", IN_GROUP, &group];
    net.starts_through(in_group);
    let told = net.failing_succession(BLOCKING, &[]).exits(8).complains("two filterds at once need");
    told.complains("but only 0 MiB are free").complains("nothing has changed").complains("MemoryMax");
    net.expect(ATTACKER).dropped();
    net.filterd(["add", BYSTANDER]).succeeds();
    assert!(
        !net.daemon().log().contains("requests wait"),
        "it was asked to make way: {}",
        net.daemon().log()
    );
    net.file("memory.max", "1000000000\n");
    net.succeed(BLOCKING);
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
}

#[test]
fn take_over_keeps_waiting_for_absent_interface() {
    let mut net = Net::with_filterd(BLOCKING);
    let both = "interfaces: [eth0, usb0]\nblock: [203.0.113.7]";
    net.failing_succession(both, &[]).exits(3).complains("`filterd reload`, with `--accept usb0`");
    net.configure(both);
    net.filterd(["reload"]).exits(7);
    net.succeed(both);
    net.filterd(["status"]).exits(7).says("*** usb0 is not filtered");
    net.expect(ATTACKER).dropped();
}

#[test]
fn entries_added_during_take_over_survive() {
    let mut net = Net::with_filterd(BLOCKING);
    net.filterd(["add", BYSTANDER, "--ttl", "1h", "--list", "ssh", "--note", "too many tries"]).succeeds();
    let before = net.filterd(["list", "--list", "ssh", "--json"]).succeeds().output;
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    let dropped = net.counted("ipv4_address");
    let socket = net.home().socket();
    let is_over = Arc::new(AtomicBool::new(false));
    let asks = Arc::clone(&is_over);
    let adding = thread::spawn(move || {
        let mut added = Vec::new();
        while !asks.load(Ordering::Relaxed) {
            let target = format!("198.18.{}.{}", added.len() / 250, added.len() % 250 + 1);
            let mut add = Command::new(binary());
            Reply::of(add.arg("add").arg(&target).env("FILTERD_SOCKET", &socket)).succeeds();
            added.push(target);
        }
        added
    });
    for _ in 0..5 {
        net.succeed(BLOCKING);
        net.expect_each([ATTACKER, BYSTANDER]).dropped();
    }
    is_over.store(true, Ordering::Relaxed);
    let added = adding.join().expect("every add is answered for");
    assert!(!added.is_empty());
    net.expect_each(added.iter().map(String::as_str)).dropped();
    let after = net.filterd(["list", "--list", "ssh", "--json"]).succeeds().output;
    assert_eq!(before, after, "since, until and note");
    assert!(net.counted("ipv4_address") >= dropped + 10, "counters go on");
    net.end(Signal::SIGKILL);
    net.start(BLOCKING);
    net.expect_each(added.iter().map(String::as_str).chain([ATTACKER, BYSTANDER])).dropped();
}

/// Both read the same file, and each has its copy to write, at whatever moment of the other's.
#[test]
fn reload_during_take_over_leaves_a_copy() {
    let mut net = Net::with_filterd(BLOCKING);
    for turn in 0..12_u32 {
        let config = format!("block: [203.0.113.7, 198.18.0.{turn}]");
        net.succeed_while(&config, |home| {
            thread::sleep(Duration::from_millis(20) * turn);
            home.filterd(["reload"]).succeeds();
        });
        net.filterd(["status"]).succeeds().is_silent_about("there is no copy");
        let copy = SavedGeneration::read(net.home(), "current").expect("it is there").config();
        assert!(copy.contains(&format!("198.18.0.{turn}]")), "it is another one's: {copy}");
    }
}

/// The one that runs is edited and reloaded, and answers, when the newcomer has read the file already.
#[test]
fn reload_during_take_over_stays_in_force() {
    let mut net = Net::with_filterd(BLOCKING);
    for turn in 0..8_u32 {
        let (before, edited) = (
            format!("block: [203.0.113.7, 198.18.0.{turn}]\nlists: [{{name: drop, path: $HOME/drop.txt}}]"),
            format!("block: [203.0.113.7, 198.18.1.{turn}]\nlists: [{{name: drop, path: $HOME/drop.txt}}]"),
        );
        net.file("drop.txt", "192.0.2.1\n");
        let list = net.home().path("drop.txt");
        net.succeed_while(&before, |home| {
            thread::sleep(Duration::from_millis(40) * turn);
            // Whole at every moment, as editors write: the newcomer may be reading it.
            home.write("edited", &edited);
            home.write("list", &format!("192.0.2.1\n198.18.2.{turn}\n"));
            fs::rename(home.path("edited"), home.path("filterd.yaml")).expect("it is there");
            fs::rename(home.path("list"), &list).expect("it is there");
            home.filterd(["reload"]).succeeds();
        });
        let is_blocked = |target: &str| net.filterd(["test", target]).output.contains("DROPPED");
        let both = [format!("198.18.1.{turn}"), format!("198.18.2.{turn}")];
        until(|| both.iter().all(|target| is_blocked(target)), "what was reloaded is lost");
        net.filterd(["status"]).is_silent_about("there is no copy");
    }
}

/// Nobody has waited for the disk before.
#[test]
fn unsynced_entries_are_handed_over() {
    let config = "durable: false";
    let mut net = Net::with_filterd(config);
    let targets: Vec<_> = (0..2000).map(|n| format!("198.18.{}.{}", n / 250, n % 250 + 1)).collect();
    let mut client = Talk::to(&net.home().socket());
    for target in &targets {
        let added = client.add(target, "ssh");
        assert!(!is_error(&added), "{added}");
    }
    net.succeed(config);
    let kept = net.filterd(["list", "--list", "ssh", "--json"]).succeeds().json_lines();
    assert_eq!(kept.len(), targets.len());
    net.expect_each(targets.iter().rev().take(5).map(String::as_str)).dropped();
}

#[test]
fn stopped_daemon_is_reported_with_resume_command() {
    let net = Net::with_filterd(BLOCKING);
    net.daemon().signal(Signal::SIGSTOP);
    let reply =
        net.failing_succession(BLOCKING, &["--timeout", "1s"]).exits(6).complains("nothing has changed");
    reply.complains("kill -CONT").is_silent_about("may still be carried out");
    net.expect(ATTACKER).dropped();
    net.daemon().signal(Signal::SIGCONT);
    net.filterd(["status"]).succeeds();
}

#[test]
fn slower_newcomer_is_told_about_the_faster() {
    let net = Net::with_filterd(BLOCKING);
    let place = net.home().pins().join("rehearsal");
    DirBuilder::new().mode(0o700).create(&place).expect("root may");
    let first = File::open(&place).and_then(|place| place.try_lock().map(|()| place).map_err(Into::into));
    let reply =
        net.failing_succession(BLOCKING, &[]).exits(6).complains("another filterd took this place first");
    reply.complains("to see which one runs: filterd status").is_silent_about("mount");
    drop(first.expect("nobody has it"));
    net.expect(ATTACKER).dropped();
}

#[test]
fn one_of_two_newcomers_takes_over() {
    let mut net = Net::with_filterd(BLOCKING);
    net.filterd(["add", BYSTANDER]).succeeds();
    let other = net.succeed_by_either_of_two(BLOCKING);
    let log = net.daemon().log();
    // It may also have had the place, and have given it to the other one in its turn.
    assert!(other.success() || log.contains(" ERROR "), "it says why: {log}");
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    net.filterd(["status"]).succeeds();
    net.end(Signal::SIGKILL);
    net.start(BLOCKING);
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
}

#[test]
fn the_log_tells_who_asked_for_the_place() {
    let mut net = Net::with_filterd(BLOCKING);
    net.failing_succession("block: nonsense", &[]).exits(3);
    net.wait_for_log(" asked for its place ");
    let log = net.daemon().log();
    let line = log.lines().find(|line| line.contains(" asked for its place ")).expect("it was just seen");
    assert!(line.contains("user=\"root\"") && line.contains("pid="), "{line}");
}

/// Each process counts its own calls. The newcomer and its rehearsal connect; talk to the old one and to their brokers, which
/// answer; and the newcomer's `fdatasync` is when it has opened the journal.
const CALLS: [&str; 4] = ["connect", "fdatasync", "sendmsg", "sendto"];

/// However many of a call there are, it dies at each of them in turn: before the old one is asked, and after that has ended.
#[test]
fn newcomer_that_dies_leaves_the_filter() {
    let both = "block: [203.0.113.7, 198.51.100.7]";
    let mut net = Net::with_filterd(BLOCKING);
    let mut seen = Vec::new();
    for call in CALLS {
        for when in 1.. {
            let struck =
                net.succession_struck_down(both, &format!("{call}:signal=KILL:when={when}"), ATTACKER);
            seen.push(struck);
            match struck {
                StruckDown::Before => {}
                StruckDown::After => net.start(BLOCKING),
                StruckDown::Never => break,
            }
            net.filterd(["ping"]).succeeds();
            net.expect(ATTACKER).dropped();
            net.expect(BYSTANDER).passes();
            net.filterd(["add", BYSTANDER]).succeeds();
            net.expect(BYSTANDER).dropped();
            net.filterd(["remove", BYSTANDER]).succeeds();
            net.expect(BYSTANDER).passes();
        }
        net.expect_each([ATTACKER, BYSTANDER]).dropped();
        until(|| UnixStream::connect(net.home().socket()).is_err(), "one that has come through is ended");
        net.start(BLOCKING);
    }
    assert!([StruckDown::Before, StruckDown::After].iter().all(|struck| seen.contains(struck)), "{seen:?}");
    net.filterd(["add", BYSTANDER]).succeeds();
    net.end(Signal::SIGKILL);
    net.start(BLOCKING);
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
}

/// The newcomer cannot put its socket where that of the old one is.
const NO_RENAME: [&str; 8] =
    ["strace", "-f", "-qqq", "-o/dev/null", "-e", "trace=rename", "-e", "inject=rename:error=ENOSPC:when=1"];

#[test]
fn failed_newcomer_prints_command_for_old_binary() {
    let mut net = Net::with_filterd(BLOCKING);
    net.filterd(["add", BYSTANDER]).succeeds();
    net.starts_through(NO_RENAME);
    let told = net.failing_succession(BLOCKING, &[]).exits(8).complains("the old filterd has ended");
    net.starts_through([]);
    assert!(net.wait_for_the_end().0.success(), "the one before ends well");
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    let told = told.complains("the filter stays attached and drops as before").complaint;
    let command = told.split("to start the old one again: ").nth(1).expect("it is there");
    let command = command.lines().next().expect("it is on one line").trim_end();
    net.start_by_shell(command);
    net.filterd(["status"]).succeeds();
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    net.filterd(["remove", BYSTANDER]).succeeds();
    net.expect(BYSTANDER).passes();
}

/// As with a forgotten `nsenter`: what is called alike there is another interface, and what that host needs is another thing.
#[test]
fn other_network_namespace_takes_over_nothing() {
    let mut net = Net::with_filterd(BLOCKING);
    let elsewhere = |net: &Net, arguments: &[&str]| {
        let mut command = net.peer().command("timeout");
        command.args(["--signal=KILL", "60"]).arg(binary()).args(net.arguments(BLOCKING)).args(arguments);
        Reply::of(command.env("NO_COLOR", "1"))
    };
    let pid = net.filterd(["status", "--json"]).succeeds().json()["pid"].clone();
    elsewhere(&net, &["--take-over"])
        .exits(3)
        .complains("the running filterd filters another network namespace")
        .complains(&format!("nsenter -t {pid} -n -- filterd run --take-over"));
    net.expect(ATTACKER).dropped();
    net.filterd(["add", BYSTANDER]).succeeds();
    net.succeed(BLOCKING);
    net.end(Signal::SIGKILL);
    elsewhere(&net, &[])
        .exits(3)
        .complains("an earlier filterd left its filter attached in another network namespace")
        .complains("filterd detach");
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    net.start(BLOCKING);
    net.filterd(["status"]).succeeds();
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    // What was taken off is in nobody's way, and neither is what went with its interface.
    let begins_elsewhere = |net: &Net| {
        let mut command = net.peer().command(&binary().display().to_string());
        Daemon::start(command.args(net.arguments(BLOCKING)), net.home()).end(Signal::SIGTERM);
    };
    net.stop();
    begins_elsewhere(&net);
    net.start(BLOCKING);
    net.end(Signal::SIGKILL);
    net.host().ip("link del eth0");
    begins_elsewhere(&net);
}
