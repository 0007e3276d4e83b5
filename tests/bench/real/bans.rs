//! Single hosts and networks that misbehaved.

use std::collections::BTreeSet;

use filter_common::target::{Prefix4, Prefix6};

use crate::chance::Chance;

/// Where those come from who are banned.
#[derive(Clone, Copy, Debug)]
pub enum Around<'a> {
    /// Each prefix of announced space alike.
    Announced(&'a [Prefix6]),
    /// Anywhere in 2000::/3: no list is like that, but somebody may make one.
    Anywhere,
}

/// So many different ones of this length.
#[must_use]
pub fn six(around: Around<'_>, length: u8, count: usize, seed: u64) -> Vec<Prefix6> {
    let mut chance = Chance::new(&format!("bans of /{length}"), seed);
    let mut bans = BTreeSet::new();
    while bans.len() < count {
        bans.insert(Prefix6::covering(somebody6(around, &mut chance), length));
    }
    bans.into_iter().collect()
}

/// An address there.
pub fn somebody6(around: Around<'_>, chance: &mut Chance) -> u128 {
    match around {
        Around::Announced(space) => {
            let prefix = space[chance.below(space.len() as u64) as usize];
            prefix.first() | (chance.any6() & (prefix.last() ^ prefix.first()))
        }
        Around::Anywhere => 1 << 125 | chance.any6() >> 3,
    }
}

/// So many IPv4 addresses anywhere.
#[must_use]
pub fn four(count: usize, seed: u64) -> Vec<Prefix4> {
    let mut chance = Chance::new("bans of addresses", seed);
    let mut bans = BTreeSet::new();
    while bans.len() < count {
        bans.insert(Prefix4::host(chance.any() as u32));
    }
    bans.into_iter().collect()
}
