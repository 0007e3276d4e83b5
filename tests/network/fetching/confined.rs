//! Who fetches can do nothing else, and nobody is left behind.

use std::fs;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use filterd::fetch::{FetchError, Fetched};
use harness::{Net, children_of, fetcher_of};

use super::say;
use super::site::{A, Site};

#[test]
fn spawner_is_unprivileged_and_ends_with_daemon() {
    let mut net = Net::with_filterd("");
    let spawner = fetcher_of(net.daemon().id());
    // It takes things from itself while its daemon begins.
    let daemons = line(net.daemon().id(), "Uid");
    assert!(!daemons.starts_with("0\t"));
    eventually("it is its daemon's user", || line(spawner, "Uid") == daemons);
    eventually("it is restricted", || line(spawner, "Seccomp") == "2");
    for set in ["CapEff", "CapPrm", "CapInh", "CapAmb", "CapBnd"] {
        eventually(set, || line(spawner, set) == "0000000000000000");
    }
    eventually("no more privileges", || line(spawner, "NoNewPrivs") == "1");
    net.stop();
    eventually("it has ended", || !is_there(spawner));
}

#[test]
fn fetcher_is_confined_and_ends_without_reader() {
    let site = Site::new();
    let (go_on, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    site.serve(A, move |_, to| {
        say(to, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n1.2.3.4\n");
        _ = wait.lock().unwrap().recv_timeout(Duration::from_secs(30));
    });
    let Ok(Fetched::Body(body)) = site.fetch(site.order(A, "list")) else { panic!("it comes") };
    let child = child_of(site.spawner());
    for (what, how) in
        [("Seccomp", "2"), ("NoNewPrivs", "1"), ("CapEff", "0000000000000000"), ("Threads", "1")]
    {
        assert_eq!(line(child, what), how, "{what}");
    }
    assert!(line(child, "Uid").starts_with("65534\t65534\t65534"));
    let limits = fs::read_to_string(format!("/proc/{child}/limits")).unwrap();
    for limit in ["Max core file size", "Max file size", "Max processes"] {
        let limited = limits.lines().find(|line| line.starts_with(limit)).expect("all are listed");
        assert!(limited[limit.len()..].trim_start().starts_with("0 "), "{limited}");
    }
    drop(body);
    eventually("it has ended", || !is_there(child));
    drop(go_on);
}

#[test]
fn dead_fetcher_is_no_end_of_body() {
    let site = Site::new();
    let (go_on, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    site.serve(A, move |_, to| {
        say(to, "HTTP/1.1 200 OK\r\n\r\n1.2.3.4\n");
        _ = wait.lock().unwrap().recv_timeout(Duration::from_secs(30));
    });
    let Ok(Fetched::Body(mut body)) = site.fetch(site.order(A, "list")) else { panic!("it comes") };
    let child = i32::try_from(child_of(site.spawner())).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child), nix::sys::signal::Signal::SIGKILL).unwrap();
    let told = std::io::read_to_string(&mut body).unwrap_err();
    assert!(matches!(FetchError::of(&told), Some(FetchError::Interrupted(_))), "{told:?}");
    drop(go_on);
}

#[test]
fn dead_spawner_interrupts_its_downloads() {
    let site = Site::new();
    site.serve(A, |_, _| thread::sleep(Duration::from_secs(30)));
    let spawner = site.spawner();
    let order = site.order(A, "list");
    thread::scope(|threads| {
        let fetching = threads.spawn(|| site.text(order));
        eventually("it fetches", || children(spawner).len() == 1);
        let id = i32::try_from(spawner).unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::Signal::SIGKILL).unwrap();
        let told = fetching.join().unwrap();
        assert!(matches!(told, Err(FetchError::Interrupted(_))), "{told:?}");
    });
    let told = site.text(site.order(A, "list"));
    assert!(matches!(told, Err(FetchError::Gone(_))), "{told:?}");
}

fn child_of(spawner: u32) -> u32 {
    let children = children(spawner);
    assert_eq!(children.len(), 1, "one child, not {children:?}");
    children[0]
}

fn children(process: u32) -> Vec<u32> {
    children_of(process).unwrap_or_default()
}

/// A zombie is not.
fn is_there(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/status")).is_ok_and(|status| !status.contains("State:\tZ"))
}

fn line(process: u32, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.unwrap_or_default().trim().to_owned()
}

#[track_caller]
fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}: not within 30 s");
        thread::sleep(Duration::from_millis(2));
    }
}
