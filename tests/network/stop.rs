//! The end of filterd: it takes its filter with it, and leaves nothing behind.

use std::os::unix::net::UnixStream;

use nix::sys::signal::Signal;

use harness::{ATTACKER, Net};

#[test]
fn systemctl_stop_detaches() {
    detaches_on(Signal::SIGTERM);
}

#[test]
fn control_c_detaches() {
    detaches_on(Signal::SIGINT);
}

#[test]
fn a_stopped_filterd_can_be_started_again() {
    let mut net = Net::with_filterd("block: [203.0.113.7]");
    for _ in 0..3 {
        net.stop();
        net.expect(ATTACKER).passes();
        net.start("block: [203.0.113.7]");
        net.expect(ATTACKER).dropped();
    }
}

#[test]
fn a_killed_filterd_can_be_started_again() {
    let mut net = Net::with_filterd("block: [203.0.113.7]");
    net.end(Signal::SIGKILL);
    net.start("block: [203.0.113.7]");
    net.expect(ATTACKER).dropped();
    net.stop();
    net.expect(ATTACKER).passes();
}

#[test]
fn verbs_say_that_no_daemon_is_running() {
    let net = Net::new();
    for verb in
        [&["ping"][..], &["add", ATTACKER], &["list"], &["status"], &["stats"], &["reload"], &["flush"]]
    {
        net.filterd(verb).exits(6).complains("control.sock").says_nothing();
    }
}

#[track_caller]
fn detaches_on(signal: Signal) {
    let mut net = Net::with_filterd("block: [203.0.113.7]");
    net.expect(ATTACKER).dropped();
    assert!(net.attached("eth0").is_some());
    let pins = net.home().pins().to_owned();
    let end = net.end(signal);
    assert!(end.success(), "a wanted end is no failure: {end}");
    assert_eq!(net.attached("eth0"), None);
    net.expect(ATTACKER).passes();
    // Its directory is root's here, so the socket may stay there; nobody listens any more.
    assert!(UnixStream::connect(net.home().socket()).is_err(), "somebody listens");
    let left: Vec<_> = std::fs::read_dir(&pins).into_iter().flatten().flatten().collect();
    assert!(left.is_empty(), "pins are left behind: {left:?}");
    net.filterd(["ping"]).exits(6);
}
