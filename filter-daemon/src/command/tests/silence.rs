//! Tests daemons that are missing, silent, or reply with invalid messages.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::scripted::{Daemon, run};
use crate::control::client::Endpoint;
use crate::exit::Exit;

/// Accepts requests but never replies, like a stopped daemon.
struct Mute {
    socket: PathBuf,
    _listener: UnixListener,
    _place: tempfile::TempDir,
}

impl Mute {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("control.sock");
        Self { _listener: UnixListener::bind(&socket).unwrap(), socket, _place: place }
    }

    fn with_patience(&self, timeout: Duration) -> Endpoint {
        Endpoint { timeout: Some(timeout), ..Endpoint::from(&self.socket) }
    }
}

#[test]
fn silent_daemon_is_abandoned_after_the_timeout() {
    let mute = Mute::new();
    let input = "192.0.2.1\n".repeat(100_000);
    thread::scope(|scope| {
        for verb in [
            "add 192.0.2.1",
            "add -",
            "remove 192.0.2.1",
            "remove -",
            "test 192.0.2.1",
            "list",
            "flush",
            "status",
            "stats",
            "reload",
            "ping",
        ] {
            let (endpoint, input) = (mute.with_patience(Duration::from_millis(200)), &input);
            scope.spawn(move || {
                let said = run(&format!("filterd {verb}"), &endpoint, input.as_bytes());
                assert_eq!((said.exit, said.out.as_str()), (Exit::Unreachable, ""), "{verb}: {}", said.err);
                assert!(
                    said.err.contains("did not answer") && said.err.contains("--timeout"),
                    "{}",
                    said.err
                );
            });
        }
    });
}

#[test]
fn working_daemon_is_waited_for() {
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("control.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let pings = AtomicUsize::new(0);
    // Far longer than a thread waits for a processor on a loaded machine. The daemon is silent for longer
    // still.
    let timeout = Some(Duration::from_secs(1));
    let said = thread::scope(|scope| {
        scope.spawn(|| {
            let (mut working, _) = listener.accept().unwrap();
            while pings.load(Ordering::Relaxed) < 2 {
                let (mut probe, _) = listener.accept().unwrap();
                let mut asked = String::new();
                BufReader::new(&probe).read_line(&mut asked).unwrap();
                assert!(asked.contains("io.filterd.Ping"), "{asked}");
                writeln!(probe, "{}", json!({"parameters": {"version": 1, "pid": 1}})).unwrap();
                pings.fetch_add(1, Ordering::Relaxed);
            }
            let reloaded =
                json!({"entered": 1, "left": 2, "unchanged": 3, "milliseconds": 4, "warnings": []});
            writeln!(working, "{}", json!({"parameters": reloaded})).unwrap();
        });
        run("filterd reload", &Endpoint { timeout, ..Endpoint::from(&socket) }, b"")
    });
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
}

#[test]
fn missing_daemon_is_reported_with_remedy() {
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("control.sock");
    let said = run("filterd ping", &socket, b"");
    assert_eq!(said.exit, Exit::Unreachable);
    assert!(
        said.err.contains("not running") && said.err.contains("sudo filterd --iface eth0"),
        "{}",
        said.err
    );
    drop(UnixListener::bind(&socket).unwrap());
    assert_eq!(run("filterd ping", &socket, b"").exit, Exit::Unreachable, "a stale socket");
}

#[test]
fn broken_daemon_reply_is_reported() {
    let daemon = Daemon::answering(|_| json!({"surprise": 1}));
    let said = run("filterd ping", &daemon.socket, b"");
    assert_eq!(said.exit, Exit::Unreachable);
    assert!(said.err.contains("not from this version of filterd"), "{}", said.err);
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("control.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let said = thread::scope(|scope| {
        scope.spawn(|| {
            let (dying, _) = listener.accept().unwrap();
            BufReader::new(&dying).read_line(&mut String::new()).unwrap();
        });
        run("filterd ping", &socket, b"")
    });
    assert_eq!(said.exit, Exit::Unreachable);
    assert!(said.err.contains("closed the connection"), "{}", said.err);
}
