//! Tests the filters in the kernel, each on a thread of its own. `tests/attack` tests the running
//! processes.

use std::fmt::Write;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;

use nix::sched::{CloneFlags, unshare};
use rustix::net::{AddressFamily, SocketType, netlink, socket};

use super::*;

fn restricted<T: Send>(process: ProcessKind, attempts: impl FnOnce() -> T + Send) -> T {
    thread::scope(|threads| {
        let tried = threads.spawn(|| {
            restrict(process).expect("this kernel has seccomp");
            attempts()
        });
        tried.join().expect("what is refused is told")
    })
}

fn kind<T>(result: Result<T, impl Into<io::Error>>) -> Option<ErrorKind> {
    result.err().map(|error| error.into().kind())
}

#[test]
fn unneeded_calls_are_refused() {
    let place = tempfile::TempDir::new().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    for process in [ProcessKind::Daemon, ProcessKind::Broker] {
        let refused = restricted(process, || {
            [
                ("run a program", kind(Command::new("/bin/true").status())),
                ("make a user namespace", kind(unshare(CloneFlags::CLONE_NEWUSER))),
                ("set a mode by name", kind(fs::set_permissions(&file, fs::Permissions::from_mode(0o755)))),
                ("connect", kind(TcpStream::connect(address))),
                ("send datagrams", kind(UdpSocket::bind("127.0.0.1:0"))),
                ("have a raw socket", kind(socket(AddressFamily::PACKET, SocketType::RAW, None))),
                (
                    "talk to services of this host",
                    kind(socket(AddressFamily::UNIX, SocketType::STREAM, None)),
                ),
                (
                    "ask the kernel's auditor",
                    kind(socket(AddressFamily::NETLINK, SocketType::RAW, Some(netlink::AUDIT))),
                ),
                (
                    "run as the owner of a file",
                    kind(
                        File::open(&file)
                            .and_then(|file| file.set_permissions(fs::Permissions::from_mode(0o4755))),
                    ),
                ),
            ]
        });
        for (what, how) in refused {
            assert_eq!(how, Some(ErrorKind::PermissionDenied), "{process:?}: {what}");
        }
    }
}

#[test]
fn daemon_and_broker_still_do_their_work() {
    let place = tempfile::TempDir::new().unwrap();
    let file = place.path().join("file");
    restricted(ProcessKind::Daemon, || {
        fs::write(&file, "1").unwrap();
        File::open(&file).unwrap().set_permissions(fs::Permissions::from_mode(0o600)).unwrap();
        // clone3 is refused, so threads are made by clone.
        assert_eq!(thread::spawn(|| 7).join().unwrap(), 7);
        drop(TcpListener::bind("127.0.0.1:0").unwrap());
        socket(AddressFamily::NETLINK, SocketType::RAW, Some(netlink::SOCK_DIAG)).unwrap();
    });
    restricted(ProcessKind::Broker, || {
        assert_eq!(thread::spawn(|| 7).join().unwrap(), 7);
        socket(AddressFamily::NETLINK, SocketType::RAW, None).unwrap();
    });
}

#[test]
fn each_call_is_in_one_line() {
    let mut calls: Vec<_> = DEEDS.iter().flat_map(|deed| deed.calls).collect();
    calls.sort();
    let all = calls.len();
    calls.dedup();
    assert_eq!(all, calls.len(), "a later line would overrule an earlier one");
    assert!(calls.iter().all(|call| **call <= i64::from(NEWEST)), "what is newer is refused anyway");
}

#[test]
fn filters_are_short_enough_for_the_kernel() {
    for process in [ProcessKind::Daemon, ProcessKind::Broker, ProcessKind::Fetcher, ProcessKind::Fetch] {
        let length = filter(process).unwrap().len();
        assert!(length < 3000, "{process:?}: {length} of 4,096 instructions");
    }
}

/// The table that SECURITY.md shows.
#[test]
fn the_table_is_the_one_in_security_md() {
    let mut table = String::from(
        "| system calls | daemon | broker | filterd-fetcher | filterd-fetch |\n|---|---|---|---|---|\n",
    );
    let word = |rule: &CallRule| match rule {
        CallRule::Yes => "yes",
        CallRule::No => "no",
        CallRule::Only(when, _) => when,
    };
    for deed in DEEDS {
        let rules = deed.rules.each_ref().map(word).join(" | ");
        writeln!(table, "| {} | {rules} |", deed.name).unwrap();
    }
    table.push_str("| all others that Linux 6.1 has | yes | yes | yes | no |\n| newer ones, and clone3 | no | no | no | no |\n");
    let written = include_str!("../../../SECURITY.md");
    assert!(written.contains(&table), "SECURITY.md is to have:\n{table}");
}
