//! Who has to leave when, in the order of time.

use std::collections::BTreeSet;

use filter_common::target::{Prefix, Target};

use super::{ListId, Timestamp};

/// Deadlines of wishes. Single IPv4 addresses are kept in less room.
#[derive(Debug, Default)]
pub struct Deadlines {
    addresses: BTreeSet<(Timestamp, u32, ListId)>,
    others: BTreeSet<(Timestamp, Target, ListId)>,
}

impl Deadlines {
    /// `list` wants `target` until then.
    pub fn set(&mut self, until: Timestamp, target: Target, list: ListId) {
        match target {
            Target::V4(prefix) if prefix.is_host() => {
                _ = self.addresses.insert((until, prefix.address(), list))
            }
            Target::V4(_) | Target::V6(_) => _ = self.others.insert((until, target, list)),
        }
    }

    /// It no longer does.
    pub fn clear(&mut self, until: Timestamp, target: Target, list: ListId) {
        match target {
            Target::V4(prefix) if prefix.is_host() => {
                _ = self.addresses.remove(&(until, prefix.address(), list))
            }
            Target::V4(_) | Target::V6(_) => _ = self.others.remove(&(until, target, list)),
        }
    }

    /// The first wish that is over at `now`.
    pub fn first_over(&self, now: Timestamp) -> Option<(Target, ListId)> {
        let address = self.addresses.first().filter(|(until, ..)| *until <= now);
        let other = self.others.first().filter(|(until, ..)| *until <= now);
        address
            .map(|(_, address, list)| (Target::V4(Prefix::host(*address)), *list))
            .or_else(|| other.map(|(_, target, list)| (*target, *list)))
    }

    /// When the next wish is over.
    pub fn next(&self) -> Option<Timestamp> {
        let address = self.addresses.first().map(|(until, ..)| *until);
        let other = self.others.first().map(|(until, ..)| *until);
        address.into_iter().chain(other).min()
    }
}
