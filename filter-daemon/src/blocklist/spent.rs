//! The expired targets that a file still names. They do not return while the file names them.

use std::collections::BTreeSet;

use filter_common::target::{Prefix, Target};

use super::Targets;

/// A set of targets. Single IPv4 addresses are stored more compactly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpiredEntries {
    addresses: BTreeSet<u32>,
    others: BTreeSet<Target>,
}

impl ExpiredEntries {
    pub fn len(&self) -> usize {
        self.addresses.len() + self.others.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn contains(&self, target: Target) -> bool {
        match target {
            Target::V4(prefix) if prefix.is_host() => self.addresses.contains(&prefix.address()),
            Target::V4(_) | Target::V6(_) => self.others.contains(&target),
        }
    }

    /// The targets that cover `target`, the longest first, itself included.
    pub fn covering(&self, target: Target) -> impl Iterator<Item = Target> + '_ {
        let wider = move |length: u8| match target {
            Target::V4(prefix) => Target::V4(Prefix::covering(prefix.address(), length)),
            Target::V6(prefix) => Target::V6(Prefix::covering(prefix.address(), length)),
        };
        let own = match target {
            Target::V4(prefix) => prefix.length(),
            Target::V6(prefix) => prefix.length(),
        };
        (0..=own).rev().map(wider).filter(|one| self.contains(*one))
    }

    /// Adds an expired target.
    pub fn insert(&mut self, target: Target) {
        match target {
            Target::V4(prefix) if prefix.is_host() => _ = self.addresses.insert(prefix.address()),
            Target::V4(_) | Target::V6(_) => _ = self.others.insert(target),
        }
    }

    /// Adds all of these.
    pub fn extend(&mut self, other: Self) {
        self.addresses.extend(other.addresses);
        self.others.extend(other.others);
    }

    pub fn remove(&mut self, target: Target) {
        match target {
            Target::V4(prefix) if prefix.is_host() => _ = self.addresses.remove(&prefix.address()),
            Target::V4(_) | Target::V6(_) => _ = self.others.remove(&target),
        }
    }

    /// Those that are not among `named`.
    pub fn besides(&self, named: &Targets) -> Targets {
        let addresses = self.addresses.iter().map(|address| Target::V4(Prefix::host(*address)));
        addresses.chain(self.others.iter().copied()).filter(|target| !named.contains(*target)).collect()
    }
}
