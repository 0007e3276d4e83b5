//! The expected state, kept in plain sets and queried in the simplest way.

use std::collections::{BTreeMap, BTreeSet};

use filter_common::target::{Prefix, Prefix4, Target};

use super::universe::{COUNT4, FIRST4};

/// All targets that are blocked, or all that are allowed.
pub struct Reference {
    targets: BTreeSet<Target>,
    /// How many targets longer than /24 cover each address of the test universe.
    long: Vec<u32>,
    networks: BTreeSet<Prefix4>,
    lengths6: BTreeMap<u8, u64>,
}

impl Reference {
    pub fn new() -> Self {
        Self {
            targets: BTreeSet::new(),
            long: vec![0; COUNT4 as usize],
            networks: BTreeSet::new(),
            lengths6: BTreeMap::new(),
        }
    }

    pub fn targets(&self) -> impl Iterator<Item = Target> + '_ {
        self.targets.iter().copied()
    }

    pub fn enter(&mut self, target: Target) {
        assert!(self.targets.insert(target), "{target} enters twice");
        match target {
            Target::V4(prefix) if prefix.length() <= 24 => _ = self.networks.insert(prefix),
            Target::V4(prefix) => self.covered(prefix).for_each(|count| *count += 1),
            Target::V6(prefix) => *self.lengths6.entry(prefix.length()).or_default() += 1,
        }
    }

    pub fn leave(&mut self, target: Target) {
        assert!(self.targets.remove(&target), "{target} leaves twice");
        match target {
            Target::V4(prefix) if prefix.length() <= 24 => _ = self.networks.remove(&prefix),
            Target::V4(prefix) => self.covered(prefix).for_each(|count| *count -= 1),
            Target::V6(prefix) => *self.lengths6.entry(prefix.length()).or_default() -= 1,
        }
    }

    /// True if this single address is covered.
    pub fn covers(&self, host: Target) -> bool {
        match host {
            Target::V4(host) => {
                let long = host.address().checked_sub(FIRST4).and_then(|at| self.long.get(at as usize));
                long.is_some_and(|count| *count > 0)
                    || self.networks.iter().any(|network| network.covers(&host))
            }
            Target::V6(host) => {
                let mut lengths = self.lengths6.iter().filter(|(_, count)| **count > 0);
                lengths.any(|(length, _)| {
                    self.targets.contains(&Target::V6(Prefix::covering(host.address(), *length)))
                })
            }
        }
    }

    /// How many entries the tables of both families must hold. Each entry counts once, and prefixes up to /32
    /// are in no table.
    pub fn entries(&self) -> (u64, u64) {
        let long = self.long.iter().filter(|count| **count > 0).count() as u64;
        (long, self.lengths6.range(33..).map(|(_, count)| count).sum())
    }

    fn covered(&mut self, prefix: Prefix4) -> impl Iterator<Item = &mut u32> {
        self.long[(prefix.first() - FIRST4) as usize..=(prefix.last() - FIRST4) as usize].iter_mut()
    }
}
