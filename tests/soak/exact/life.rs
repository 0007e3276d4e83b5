//! A list shaped like a real one after a life: what was nested came and went, the levels have run out of room, the table is as
//! full as it may be, and many wait in its stash.

use std::collections::BTreeSet;
use std::path::Path;

use filter_common::target::{Prefix, Prefix6};
use real::bans::{self, Around};
use real::chance::Chance;

use crate::six::{Blocked6, stashed};

/// Everything is the same in every run, but for the tables' keys.
const SEED: u64 = 1;
/// Bans of each of these lengths in announced space, and so many of each.
const BANS: [(u8, usize); 10] = [
    (64, 10_000),
    (128, 10_000),
    (65, 500),
    (72, 500),
    (80, 500),
    (96, 500),
    (104, 500),
    (112, 500),
    (126, 500),
    (127, 500),
];
/// The same anywhere in 2000::/3: each takes a page or a node of its own, until there are no more.
const ANYWHERE: [(u8, usize); 3] = [(48, 10_000), (64, 10_000), (128, 10_000)];
/// Short ones that come when there is no room for them.
const LATE: [(u8, usize); 6] = [(17, 40), (20, 200), (24, 400), (25, 400), (29, 400), (32, 400)];
/// One in so many has somebody within, or around.
const NESTED: usize = 8;
/// So many must wait in the stash.
const STASHED: u64 = 200;

/// The list, and everybody who was ever in it.
pub struct Life {
    pub blocked: Blocked6,
    pub ever: BTreeSet<Prefix6>,
    chance: Chance,
}

impl Life {
    pub fn live(pins: &Path) -> Self {
        let mut chance = Chance::new("a life", SEED);
        let announced = real::world6(SEED);
        let mut list: BTreeSet<Prefix6> = announced.iter().copied().collect();
        let bans = |around, kinds: &[(u8, usize)]| -> Vec<Prefix6> {
            kinds.iter().flat_map(|&(length, count)| bans::six(around, length, count, SEED)).collect()
        };
        list.extend(bans(Around::Announced(&announced), &BANS));
        let nests = nests(&list, &mut chance);
        list.extend(nests.iter().flat_map(|nest| [nest.outer, nest.inner]));
        let mut life = Self { blocked: Blocked6::blocking(pins, list.iter().copied()), ever: list, chance };
        life.leave_nests(&nests);
        // Not before: those in announced space are to have nodes, and classed ones where they have several lengths.
        life.add(bans(Around::Anywhere, &ANYWHERE));
        life.add(bans(Around::Anywhere, &LATE));
        life.fill(&announced);
        life.crowd(pins, &announced);
        life
    }

    /// Of some the outer one goes, of some the inner one, of some both, one after the other, and some stay.
    fn leave_nests(&mut self, nests: &[Nest]) {
        let choices: Vec<u64> = nests.iter().map(|_| self.chance.below(4)).collect();
        let of = |choice: u64| nests.iter().zip(&choices).filter(move |(_, other)| **other == choice);
        self.blocked.remove(of(0).map(|(nest, _)| nest.outer));
        self.blocked.remove(of(1).map(|(nest, _)| nest.inner));
        self.blocked.remove(of(2).map(|(nest, _)| nest.outer));
        self.blocked.remove(of(2).map(|(nest, _)| nest.inner));
    }

    /// More bans, until the table is at its limit.
    fn fill(&mut self, announced: &[Prefix6]) {
        loop {
            let occupancy = self.blocked.table();
            let room = occupancy.capacity.saturating_sub(occupancy.entries);
            if room == 0 {
                return;
            }
            // Some of these may be there already, but none takes more than one place.
            let some: Vec<_> = (0..room).map(|_| self.anybody(announced)).collect();
            self.add(some);
        }
    }

    /// Some leave and others come, until many of them must wait for a place.
    fn crowd(&mut self, pins: &Path, announced: &[Prefix6]) {
        let deep: Vec<_> =
            self.blocked.wanted.iter().copied().filter(|prefix| prefix.length() > 32).collect();
        let mut leaving = deep.iter().step_by(7).copied();
        while stashed(pins) < STASHED {
            for _ in 0..STASHED / 5 {
                self.blocked.remove(leaving.next());
                let coming = self.anybody(announced);
                self.add([coming]);
            }
        }
    }

    fn add(&mut self, prefixes: impl IntoIterator<Item = Prefix6>) {
        let prefixes: Vec<_> = prefixes.into_iter().collect();
        self.ever.extend(&prefixes);
        self.blocked.add(prefixes);
    }

    fn anybody(&mut self, announced: &[Prefix6]) -> Prefix6 {
        const LENGTHS: [u8; 6] = [64, 128, 48, 56, 96, 63];
        let length = LENGTHS[self.chance.below(6) as usize];
        Prefix::covering(bans::somebody6(Around::Announced(announced), &mut self.chance), length)
    }
}

/// One within another.
struct Nest {
    outer: Prefix6,
    inner: Prefix6,
}

/// All there are up to /64, and of those beyond only some: a packet is looked up under each of them that is in use.
fn listed_length(length: u8) -> u8 {
    let longer = BANS.into_iter().map(|(length, _)| length).filter(|other| *other >= length);
    if length <= 64 { length } else { longer.min().unwrap_or(128) }
}

/// Somebody within, at one end or anywhere; and somebody around.
fn nests(list: &BTreeSet<Prefix6>, chance: &mut Chance) -> Vec<Nest> {
    let mut nests = Vec::new();
    for (number, &prefix) in list.iter().enumerate() {
        if number % NESTED == 0 && !prefix.is_host() {
            let length = listed_length(prefix.length() + 1 + chance.below(24) as u8);
            let anywhere = prefix.first() | chance.any6() & (prefix.last() ^ prefix.first());
            let place = [prefix.first(), prefix.last(), anywhere][chance.below(3) as usize];
            nests.push(Nest { outer: prefix, inner: Prefix::covering(place, length) });
        } else if number % NESTED == 1 && prefix.length() >= 20 {
            let length = prefix.length() - 1 - chance.below(4) as u8;
            nests.push(Nest { outer: Prefix::covering(prefix.address(), length), inner: prefix });
        }
    }
    nests
}
