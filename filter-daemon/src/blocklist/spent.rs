//! What a file still names though its time on the list is over: it does not come again while the file names it.

use std::collections::BTreeSet;

use filter_common::target::{Prefix, Target};

use super::Targets;

/// Targets. Single IPv4 addresses are kept in less room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    addresses: BTreeSet<u32>,
    others: BTreeSet<Target>,
}

impl Spent {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.addresses.len() + self.others.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Is this one of them?
    pub fn contains(&self, target: Target) -> bool {
        match target {
            Target::V4(prefix) if prefix.is_host() => self.addresses.contains(&prefix.address()),
            Target::V4(_) | Target::V6(_) => self.others.contains(&target),
        }
    }

    /// Those that cover `target`, the longest first. The same one counts.
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

    /// The time of this one is over.
    pub fn insert(&mut self, target: Target) {
        match target {
            Target::V4(prefix) if prefix.is_host() => _ = self.addresses.insert(prefix.address()),
            Target::V4(_) | Target::V6(_) => _ = self.others.insert(target),
        }
    }

    /// The time of these is over, too.
    pub fn extend(&mut self, other: Self) {
        self.addresses.extend(other.addresses);
        self.others.extend(other.others);
    }

    /// Forgets what is not named any more: should it be named again, it comes anew.
    pub fn retain(&mut self, named: &Targets) {
        self.addresses.retain(|address| named.contains(Target::V4(Prefix::host(*address))));
        self.others.retain(|target| named.contains(*target));
    }
}
