//! Clients that add and remove addresses all the time, and remember what was acknowledged.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::Path;

use filterd::control::client::Client;
use filterd::control::wire::{Add, Remove};
use harness::{Net, Random};

/// One client and the part of 10.0.0.0/8 that nobody else touches.
pub struct Inhabitant {
    random: Random,
    part: u32,
    /// What was acknowledged.
    pub blocked: BTreeSet<u32>,
    /// Asked for and not answered: may or may not have been done.
    pub uncertain: BTreeSet<u32>,
}

impl Inhabitant {
    /// The one with this number.
    pub fn new(part: u32) -> Self {
        let random = Random(u64::from(part) + 1);
        Self { random, part, blocked: BTreeSet::new(), uncertain: BTreeSet::new() }
    }

    /// Adds and removes until the daemon is gone or so many adds and removes are done. Tells how many were.
    pub fn live(&mut self, socket: &Path, enough: usize) -> usize {
        let mut done = 0;
        let Ok(mut client) = Client::connect(socket) else { return done };
        while done < enough {
            let Some(more) = self.ask(&mut client) else { break };
            done += more;
        }
        done
    }

    fn ask(&mut self, client: &mut Client) -> Option<usize> {
        let size = [1, 1, 1, 8, 200][self.below(5) as usize];
        let adds = self.blocked.len() < 100 || self.below(3) > 0;
        let chosen: Vec<u32> = if adds {
            (0..size).map(|_| 10 << 24 | self.part << 16 | self.below(1 << 16)).collect()
        } else {
            let first = self.below(1 << 16) | 10 << 24 | self.part << 16;
            self.blocked.range(first..).take(size as usize).copied().collect()
        };
        let targets = chosen.iter().map(|address| Ipv4Addr::from_bits(*address)).collect();
        self.uncertain.extend(&chosen);
        if adds {
            client.call(&Add { targets, ..Add::default() }).ok()?;
        } else {
            client.call(&Remove { targets, ..Remove::default() }).ok()?;
        }
        for address in &chosen {
            self.uncertain.remove(address);
            if adds {
                self.blocked.insert(*address)
            } else {
                self.blocked.remove(address)
            };
        }
        Some(chosen.len())
    }

    /// Compares with what the daemon has after a restart, and takes its word for what was uncertain.
    #[track_caller]
    pub fn compare(&mut self, listed: &BTreeSet<u32>) {
        let objection = self.objection(listed);
        assert_eq!(objection, None);
        self.blocked = self.mine(listed);
        self.uncertain.clear();
    }

    /// What is wrong with what the daemon has.
    pub fn objection(&self, listed: &BTreeSet<u32>) -> Option<String> {
        let mine = self.mine(listed);
        let without = |one: &BTreeSet<u32>, other: &BTreeSet<u32>| -> Vec<u32> {
            one.difference(other).filter(|address| !self.uncertain.contains(address)).copied().collect()
        };
        let (lost, made_up) = (without(&self.blocked, &mine), without(&mine, &self.blocked));
        let told = || format!("lost: {}, not let go of: {}", words(&lost), words(&made_up));
        (!lost.is_empty() || !made_up.is_empty()).then(told)
    }

    fn mine(&self, listed: &BTreeSet<u32>) -> BTreeSet<u32> {
        listed.iter().copied().filter(|address| address >> 16 & 255 == self.part).collect()
    }

    fn below(&mut self, end: u32) -> u32 {
        (self.random.number() % u64::from(end)) as u32
    }
}

/// How many, and the first few.
fn words(addresses: &[u32]) -> String {
    let first: Vec<_> = addresses.iter().take(5).map(|address| Ipv4Addr::from_bits(*address)).collect();
    format!("{} {first:?}", addresses.len())
}

/// What the daemon says it blocks, of single addresses in 10.0.0.0/8; and the kernel has as many, each once.
#[track_caller]
pub fn listed(net: &Net) -> BTreeSet<u32> {
    let entries = net.filterd(["list", "--json", "--family", "4"]).succeeds().json_lines();
    let addresses: BTreeSet<u32> = entries
        .iter()
        .filter_map(|entry| entry["target"].as_str()?.parse().ok().map(Ipv4Addr::to_bits))
        .collect();
    let status = net.filterd(["status", "--json"]).succeeds().json();
    let table = &status["tables"][0];
    assert_eq!(table["entries"], addresses.len(), "the table and the blocklist differ: {table}");
    addresses.into_iter().filter(|address| address >> 24 == 10).collect()
}
