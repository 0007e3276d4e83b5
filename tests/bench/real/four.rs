//! IPv4 as countries have it: wide blocks first, the others in runs in what those leave.

use std::collections::BTreeSet;

use filter_common::target::Prefix4;

use crate::chance::Chance;
use crate::histogram::{self, Count};

/// Prefixes of one length in a row. Assumed.
const IN_A_RUN: u64 = 3;

/// Behind one run of so many something stays free, as large as what comes next. Assumed.
const GAPS: u64 = 4;

/// One prefix of so many is in another one. Assumed.
const NESTED: u64 = 100;

/// /8s that are nobody's: this network, private, loopback; and from 224 on groups and what is reserved.
const NOBODYS: [u32; 3] = [0, 10, 127];
const BEYOND: u32 = 224;

/// What all countries' lists hold together: `histogram::FOUR`, in order.
#[must_use]
pub fn world(seed: u64) -> Vec<Prefix4> {
    let mut chance = Chance::new("IPv4", seed);
    let mut blocks = Blocks::new(&mut chance);
    let mut world = BTreeSet::new();
    for (length, count) in histogram::FOUR {
        deal(&mut world, &mut blocks, (length, count), &mut chance);
    }
    world.into_iter().collect()
}

fn deal(world: &mut BTreeSet<Prefix4>, blocks: &mut Blocks, (length, count): Count, chance: &mut Chance) {
    let nested = if length < 16 { 0 } else { u64::from(count) / NESTED };
    let outer: Vec<Prefix4> = world.iter().copied().filter(|prefix| prefix.length() < length).collect();
    let mut left = u64::from(count);
    while left > 0 {
        if left <= nested {
            let outer = outer[chance.below(outer.len() as u64) as usize];
            let inside = outer.address() | (chance.any() as u32 & (outer.last() - outer.first()));
            left -= u64::from(world.insert(Prefix4::covering(inside, length)));
            continue;
        }
        for _ in 0..chance.about(IN_A_RUN).min(left - nested) {
            let address = blocks.take(length);
            left -= u64::from(world.insert(Prefix4::covering(address, length)));
        }
        if length >= 16 && chance.once_in(GAPS) {
            blocks.take(length);
        }
    }
}

/// What is free: of each length the blocks that are, split no further than was needed.
struct Blocks {
    /// The last is next.
    free: [Vec<u32>; 33],
}

impl Blocks {
    fn new(chance: &mut Chance) -> Self {
        let mut free = [const { Vec::new() }; 33];
        free[8] = (0..BEYOND).filter(|slash8| !NOBODYS.contains(slash8)).map(|slash8| slash8 << 24).collect();
        chance.shuffle(&mut free[8]);
        Self { free }
    }

    /// The lower half of the smallest that is large enough, and so on: what lies beside it comes next.
    fn take(&mut self, length: u8) -> u32 {
        let length = usize::from(length);
        let from = (0..=length).rev().find(|&wider| !self.free[wider].is_empty());
        let from = from.expect("the lists leave a third of all addresses free");
        let block = self.free[from].pop().expect("it is not empty");
        for half in from + 1..=length {
            self.free[half].push(block | 1 << (32 - half));
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cover::Cover;

    #[test]
    fn model_has_the_counted_lengths() {
        let world = world(1);
        let mut counts: BTreeMap<u8, u32> = BTreeMap::new();
        world.iter().for_each(|prefix| *counts.entry(prefix.length()).or_default() += 1);
        assert_eq!(counts, histogram::FOUR.into_iter().collect());
        assert_eq!(world, super::world(1));
    }

    #[test]
    fn few_prefixes_nest_and_free_space_remains() {
        let world = world(1);
        let widest = Cover::of(&world).widest().len();
        assert!((1_000..3_000).contains(&(world.len() - widest)), "{widest} of {}", world.len());
        let is_nobodys = |prefix: &Prefix4| [0, 10, 127].contains(&(prefix.address() >> 24));
        assert!(!world.iter().any(|prefix| is_nobodys(prefix) || prefix.address() >> 24 >= BEYOND));
    }
}
