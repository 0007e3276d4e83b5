//! A day of an operator's life in minutes: adds and removes, restarts, growths, reloads, links that flap. In the evening
//! everything is as it was in the morning.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;
use std::{array, fs};

use harness::{ATTACKER, BYSTANDER, Net, Traffic, keeper_of};
use nix::sys::signal::Signal;

use crate::population::{Inhabitant, listed};
use crate::rounds;

const BLOCKING: &str = "interfaces: [eth0, eth1]\nblock: [203.0.113.7]";

#[test]
fn day() {
    let hours = rounds(2, 24);
    let changes = rounds(300, 36_000);
    let reloads = rounds(3, 60);
    let flaps = rounds(1, 4);
    let mut net = Net::with_links(2);
    net.start(BLOCKING);
    let mut inhabitant = Inhabitant::new(1);
    let traffic = Traffic::begin(net.host(), net.peer(), ATTACKER, BYSTANDER);
    hour(&mut net, &mut inhabitant, changes.min(300), reloads, flaps);
    let morning = Belongings::of(&net);
    let mut done = 0;
    for _ in 0..hours {
        done += hour(&mut net, &mut inhabitant, changes, reloads, flaps);
        net.end(Signal::SIGKILL);
        net.start(BLOCKING);
        inhabitant.compare(&listed(&net));
    }
    hour(&mut net, &mut inhabitant, changes.min(300), reloads, flaps);
    let evening = Belongings::of(&net);
    let fate = traffic.end().is_flawless();
    assert_eq!(evening.things, morning.things, "maps, programs, links and descriptors");
    let grown = evening.kilobytes.saturating_sub(morning.kilobytes);
    assert!(grown < 16 << 10, "filterd grew by {grown} KiB");
    println!(
        "{done} adds and removes, {hours} restarts and growths, {} reloads, {} flaps: back at {morning:?}; 0 of {} listed frames passed",
        hours * reloads,
        hours * flaps,
        fate.sent
    );
}

/// Everything that happens in an hour. Tells how many adds and removes there were.
fn hour(net: &mut Net, inhabitant: &mut Inhabitant, changes: usize, reloads: usize, flaps: usize) -> usize {
    let socket = net.home().socket();
    let done = inhabitant.live(&socket, changes);
    assert!(done >= changes, "every request is answered");
    // The table grows for a wave, and is given back after it.
    let wave: String = (0..200_000)
        .map(|host: u32| format!("11.{}.{}.{}\n", host >> 16, host >> 8 & 255, host & 255))
        .collect();
    net.filterd_reading(["add", "-", "--list", "wave"], &wave).succeeds();
    net.filterd(["flush", "--list", "wave"]).succeeds();
    for reload in 0..reloads {
        net.configure(&format!("interfaces: [eth0, eth1]\nblock: [203.0.113.7, 198.18.0.{}]", reload % 256));
        net.filterd(["reload"]).succeeds();
    }
    net.configure(BLOCKING);
    net.filterd(["reload"]).succeeds();
    for _ in 0..flaps {
        net.forget_log();
        net.host().ip("link del eth1");
        net.wait_for_log("eth1 disappeared");
        net.host().ip("link add eth1 type veth peer name other");
        net.wait_for_log("eth1 attached after a gap");
    }
    inhabitant.compare(&listed(net));
    done
}

/// What filterd and its keeper have. Whatever of the kernel's neither holds, maps nor pins is gone with its last user.
#[derive(Debug)]
struct Belongings {
    things: [(&'static str, usize); 4],
    kilobytes: u64,
}

impl Belongings {
    /// What is there only for a moment, such as the connection of a client that just left, is nothing it has: only
    /// what is there at every look counts.
    fn of(net: &Net) -> Self {
        let looks = (0..50).map(|_| {
            sleep(Duration::from_millis(10));
            Self::now(net)
        });
        let least = |one: Self, other: Self| Self {
            things: array::from_fn(|thing| one.things[thing].min(other.things[thing])),
            ..other
        };
        looks.reduce(least).expect("there are looks")
    }

    fn now(net: &Net) -> Self {
        let daemon = net.daemon().id();
        let keeper = keeper_of(daemon);
        let things = [
            ("descriptors", entries(&format!("/proc/{daemon}/fd"))),
            ("the keeper's", entries(&format!("/proc/{keeper}/fd"))),
            ("windows", read(daemon, "maps").lines().filter(|line| line.contains("bpf")).count()),
            ("pins", pins(net.home().pins())),
        ];
        let status = read(daemon, "status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
        let kilobytes = line.trim().trim_end_matches(" kB").parse().expect("a number");
        Self { things, kilobytes }
    }
}

fn read(process: u32, what: &str) -> String {
    fs::read_to_string(format!("/proc/{process}/{what}")).expect("it runs")
}

fn entries(directory: &str) -> usize {
    fs::read_dir(directory).expect("it is there").count()
}

fn pins(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).expect("it is there").flatten();
    entries.map(|entry| if entry.path().is_dir() { pins(&entry.path()) } else { 1 }).sum()
}
