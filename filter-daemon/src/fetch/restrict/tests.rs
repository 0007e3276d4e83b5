//! Tests what a fetching process is refused, on a thread with the same restrictions.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::thread;

use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::kill;
use nix::unistd::getpid;
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::set_name;

use super::*;

/// Runs the attempts on a restricted thread. A panic there could not be reported.
fn restricted<T: Send>(port: u16, attempts: impl FnOnce() -> T + Send) -> T {
    thread::scope(|threads| {
        let tried = threads.spawn(|| {
            this_thread(port).unwrap();
            attempts()
        });
        tried.join().expect("what is refused is told")
    })
}

fn kind<T>(result: Result<T, impl Into<io::Error>>) -> Option<ErrorKind> {
    result.err().map(|error| error.into().kind())
}

fn has_landlock(abi: i32) -> bool {
    let reads = restricted(80, || File::open("/proc/self/status").is_ok());
    let connects = || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        restricted(80, || TcpStream::connect(address).is_ok())
    };
    let has = !reads && (abi < 4 || !connects());
    if !has {
        eprintln!("SKIPPED what Landlock refuses from version {abi} on: this kernel has not got it");
    }
    has
}

#[test]
fn fetcher_can_only_fetch() {
    let place = tempfile::TempDir::new().unwrap();
    fs::write(place.path().join("there"), "precious").unwrap();
    let path = |name: &str| place.path().join(name);
    let own = Pid::from_raw(getpid().as_raw()).unwrap();
    let refused = restricted(80, || {
        [
            ("write a file", kind(File::options().write(true).open(path("there")))),
            ("make a file", kind(File::create(path("new")))),
            ("make a directory", kind(fs::create_dir(path("new")))),
            ("remove a file", kind(fs::remove_file(path("there")))),
            ("rename a file", kind(fs::rename(path("there"), path("new")))),
            ("make a link", kind(std::os::unix::fs::symlink("there", path("new")))),
            ("run a program", kind(Command::new("/bin/true").status())),
            ("start a thread", kind(thread::Builder::new().spawn(|| {}))),
            ("make a user namespace", kind(unshare(CloneFlags::CLONE_NEWUSER))),
            ("end a process", kind(kill(getpid(), None))),
            ("take hold of a process", kind(pidfd_open(own, PidfdFlags::empty()))),
            ("listen to TCP", kind(TcpListener::bind("127.0.0.1:0"))),
            ("listen to UDP", kind(UdpSocket::bind("127.0.0.1:0"))),
            ("talk to a service of this host", kind(UnixStream::connect("/run/filterd/control.sock"))),
            ("have a raw socket", kind(socket(AddressFamily::PACKET, SocketType::RAW, None))),
            ("have a VSOCK", kind(socket(AddressFamily::VSOCK, SocketType::STREAM, None))),
            ("take another name", kind(set_name(c"init"))),
        ]
    });
    for (what, how) in refused {
        assert_eq!(how, Some(ErrorKind::PermissionDenied), "{what}");
    }
    assert_eq!(fs::read_to_string(path("there")).unwrap(), "precious");
}

#[test]
fn fetcher_reads_only_resolver_files() {
    if !has_landlock(1) {
        return;
    }
    let files = [
        "/etc/shadow",
        "/etc/passwd",
        "/proc/self/status",
        "/proc/self/mem",
        "/dev/null",
        "/var/lib/filterd",
    ];
    let tried = restricted(80, || files.map(|file| kind(File::open(file))));
    for (file, how) in files.into_iter().zip(tried).filter(|(file, _)| Path::new(file).exists()) {
        assert_eq!(how, Some(ErrorKind::PermissionDenied), "{file}");
    }
    assert!(restricted(80, || File::open("/etc/hosts").is_ok()));
}

#[test]
fn fetcher_connects_only_to_permitted_ports() {
    if !has_landlock(4) {
        return;
    }
    let at = |port: u16| (Ipv4Addr::LOCALHOST, port);
    let tried = restricted(8080, || [22, 25, 3306, 8081].map(|port| kind(TcpStream::connect(at(port)))));
    assert_eq!(tried, [Some(ErrorKind::PermissionDenied); 4]);
    let own = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let tried =
        restricted(own.port(), || [80, 443, own.port()].map(|port| kind(TcpStream::connect(at(port)))));
    assert!(!tried.contains(&Some(ErrorKind::PermissionDenied)), "{tried:?}");
}

#[test]
fn fetcher_resolves_names() {
    let found = restricted(80, || {
        ("localhost", 80)
            .to_socket_addrs()
            .map(|found| found.map(|at| at.ip().is_loopback()).collect::<Vec<_>>())
    });
    let found = found.unwrap();
    assert!(!found.is_empty() && found.iter().all(|is_loopback| *is_loopback), "{found:?}");
}
