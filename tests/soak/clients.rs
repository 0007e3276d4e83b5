//! Hostile clients, and a good one between them that does not notice.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use filterd::control::client::Client;
use filterd::control::wire::Add;
use harness::Net;

use crate::rounds;

#[test]
fn clients() {
    let count = rounds(200, 20_000);
    let net = Net::with_filterd("durable: false");
    let before = resident_kilobytes(&net);
    let socket = net.home().socket();
    let connect = || UnixStream::connect(&socket).expect("it listens");
    let alone = percentile99(&socket, count);
    let (over, home) = (AtomicBool::new(false), net.home());
    let among = thread::scope(|scope| {
        let _silent: Vec<UnixStream> = (0..64).map(|_| connect()).collect();
        let slow: Vec<UnixStream> = (0..64).map(|_| connect()).collect();
        scope.spawn(|| drip(slow, &over));
        scope.spawn(|| {
            let endless = vec![b'a'; 1 << 20];
            while !over.load(Ordering::Relaxed) {
                let mut client = connect();
                // A gigabyte, if it were taken.
                let _ = (0..1024).try_for_each(|_| client.write_all(&endless));
            }
        });
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                home.filterd_as(65534, ["add", "192.0.2.1"]).exits(6);
            }
        });
        thread::sleep(Duration::from_millis(100));
        let among = percentile99(&socket, count);
        over.store(true, Ordering::Relaxed);
        among
    });
    net.filterd(["flush"]).succeeds();
    let grown = resident_kilobytes(&net).saturating_sub(before);
    println!(
        "99th percentile of an add: {alone:?} alone, {among:?} among hostile clients; memory afterwards +{grown} KiB"
    );
    assert!(grown < 32 << 10, "filterd grew by {grown} KiB");
    if rounds(0, 1) == 1 {
        assert!(among < Duration::from_millis(10), "{among:?}");
    }
}

/// A byte a second to each.
fn drip(mut clients: Vec<UnixStream>, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        clients.iter_mut().for_each(|client| drop(client.write(b"{")));
        thread::sleep(Duration::from_secs(1));
    }
}

fn percentile99(socket: &std::path::Path, count: usize) -> Duration {
    let mut client = Client::connect(socket).expect("it listens");
    let mut times: Vec<Duration> = (0..count)
        .map(|number| {
            let targets = [format!("198.18.{}.{}", number >> 8 & 255, number & 255)].into_iter().collect();
            let begun = Instant::now();
            client.call(&Add { targets, ..Add::default() }).expect("it is served");
            begun.elapsed()
        })
        .collect();
    times.sort();
    times[count * 99 / 100]
}

fn resident_kilobytes(net: &Net) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", net.daemon().id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
