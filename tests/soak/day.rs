//! A day of an operator's life in minutes: adds and removes, restarts, growths, reloads, links that flap. In the evening
//! everything is as it was in the morning.

use std::fs;
use std::process::Command;

use harness::{ATTACKER, BYSTANDER, Net, Traffic};
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
        net.wait_for_log("eth1 is gone");
        net.host().ip("link add eth1 type veth peer name other");
        net.wait_for_log("eth1: attached after");
    }
    inhabitant.compare(&listed(net));
    done
}

/// What filterd has.
#[derive(Debug)]
struct Belongings {
    /// Descriptors, and the kernel's maps, programs and links by the names that filterd gives them.
    things: Vec<(String, usize)>,
    kilobytes: u64,
}

impl Belongings {
    fn of(net: &Net) -> Self {
        let id = net.daemon().id();
        let mut things = vec![("descriptors".to_owned(), entries(&format!("/proc/{id}/fd")))];
        for kind in ["links", "tables"] {
            things.push((
                format!("pinned {kind}"),
                entries(&net.home().pins().join(kind).display().to_string()),
            ));
        }
        for kind in ["map", "prog", "link"] {
            things.push((format!("{kind}s of the machine"), in_kernel(kind)));
        }
        let status = fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
        let kilobytes = line.trim().trim_end_matches(" kB").parse().expect("a number");
        Self { things, kilobytes }
    }
}

fn entries(directory: &str) -> usize {
    fs::read_dir(directory).expect("it is there").count()
}

/// How many there are, in the whole machine: nobody else may make any meanwhile.
fn in_kernel(kind: &str) -> usize {
    let said = Command::new("bpftool").args(["-j", kind, "list"]).output().expect("bpftool is there").stdout;
    let said: serde_json::Value = serde_json::from_slice(&said).expect("bpftool speaks JSON");
    said.as_array().map_or(0, Vec::len)
}
