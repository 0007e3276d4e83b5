//! The wire that guests hang on: a namespace that is the switch, and everybody else on it.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use harness::{GATEWAY, GATEWAY6, Namespace, unique_name};

use crate::card::Card;
use crate::ping::Ping;

/// Whatever is not a guest answers for this.
pub const NEIGHBOUR: &str = GATEWAY;

/// Its IPv6 address.
pub const NEIGHBOUR6: &str = GATEWAY6;

/// The largest frame without its header.
pub const JUMBO: usize = 9000;

/// All that the neighbour sends from, beside its own address: the stories' attackers and bystanders.
const VISITORS: [&str; 4] = ["203.0.113.0/24", "198.51.100.0/24", "2001:db8:bad::/48", "2001:db8:900d::/48"];

/// A guest under emulation takes its time.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between one look and the next.
const MOMENT: Duration = Duration::from_millis(20);

/// A bridge with ports for guests.
pub struct Lan {
    switch: Namespace,
}

impl Lan {
    /// A bridge, on which the neighbour has its addresses.
    pub fn new() -> Self {
        harness::remove_leftovers();
        let switch = Namespace::new(unique_name());
        let visitors: String = VISITORS.map(|net| format!("route add local {net} dev lo\n")).concat();
        switch.ip_all(&format!(
            "link set lo up\n\
             link add wire type bridge mcast_snooping 0\n\
             addr add {NEIGHBOUR}/24 dev wire\n\
             addr add {NEIGHBOUR6}/64 dev wire nodad\n\
             link set wire up\n\
             {visitors}"
        ));
        switch.inside(Ping::allow);
        Self { switch }
    }

    /// The namespace, for others to plug into.
    pub fn switch(&self) -> &Namespace {
        &self.switch
    }

    /// Makes a port for a guest's card with so many queues.
    pub fn plug(&self, port: &str, queues: usize) {
        let many = if queues > 1 { " multi_queue" } else { "" };
        self.switch.ip(&format!("tuntap add dev {port} mode tap{many}"));
        self.switch.ip_all(&format!(
            "link set {port} mtu {JUMBO} master wire\n\
             link set {port} up\n\
             link set wire mtu {JUMBO}\n"
        ));
    }

    /// Tells the neighbour of a card, so that it need not ask.
    pub fn introduce(&self, card: &Card) {
        let Card { mac, v4, v6, .. } = card;
        self.switch.ip_all(&format!(
            "neigh replace {v4} lladdr {mac} dev wire nud permanent\n\
             neigh replace {v6} lladdr {mac} dev wire nud permanent\n"
        ));
    }

    /// Something that runs on the switch, under its own process id.
    pub fn command(&self, program: &str) -> Command {
        self.switch.command(program)
    }

    /// Sends a ping.
    pub fn ping(&self, from: &str, to: &str, bytes: usize) -> Ping {
        self.switch.inside(|| Ping::send(from, to, bytes))
    }
}

/// Waits until it has come true.
#[track_caller]
pub fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_true() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        thread::sleep(MOMENT);
    }
}
