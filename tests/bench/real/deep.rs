//! What lies below /32: each such /32 is split into prefixes of one length mostly, few of them, or very many where a
//! registry keeps a pool for small ones.

use std::collections::BTreeSet;

use filter_common::target::Prefix6;

use crate::chance::Chance;
use crate::histogram::Count;
use crate::region::Region;
use crate::six::World;

/// How many prefixes a /32 is split into, where it is no pool.
const FEW: u64 = 8;
/// And where it is. One /32 of so many is. All three are assumed, such that there are about as many /32s that are split
/// as were counted.
const MANY: u64 = 150;
const POOLS: u64 = 8;
/// /32s in one /24 that are split.
const TOGETHER: u64 = 4;
/// Once in so many times one is split that is split already, into another length.
const AGAIN: u64 = 12;
/// One prefix of so many lies within a listed one. Assumed: a sample of the real list had hardly any.
const NESTED: u64 = 200;
/// /24s in which everything else is longer than /32, of so many. Assumed.
const OF_ITS_OWN: u64 = 3;

/// Deals out everything beyond /32.
pub fn deal(world: &mut World, region: Region, counts: &[Count], chance: &mut Chance) {
    let mut places = Places::new(world, region, chance);
    let mut seen = BTreeSet::new();
    let mut lengths: Vec<Count> = counts.iter().copied().filter(|(length, _)| *length > 32).collect();
    while let Some(length) = pick(&lengths, chance) {
        let left = &mut lengths.iter_mut().find(|(other, _)| *other == length).expect("it was picked").1;
        let slash32 = places.next(world, chance);
        // A third of what there is room for.
        let most = (1 << (length - 32).min(16)) / 3;
        let mean = if length >= 44 && chance.once_in(POOLS) { MANY } else { FEW };
        let group = chance.about(mean).min(u64::max(most, 1)).min((*left).into());
        let mut at = chance.below(4);
        for _ in 0..group {
            let prefix = one(slash32, length, at);
            if prefix.address() >> 96 == u128::from(slash32) && seen.insert(prefix) {
                *left -= 1;
                world.prefixes.push(prefix);
            }
            at += if chance.once_in(3) { chance.about(6) } else { 1 };
        }
    }
}

/// By how many are left, so that they run out together.
fn pick(lengths: &[Count], chance: &mut Chance) -> Option<u8> {
    let weights: Vec<(u8, u64)> = lengths.iter().map(|&(length, count)| (length, count.into())).collect();
    chance.pick(&weights)
}

/// The prefix of this length and number in a /32.
fn one(slash32: u32, length: u8, number: u64) -> Prefix6 {
    let within = u128::from(number) << (128 - u32::from(length));
    Prefix6::covering((u128::from(slash32) << 96).wrapping_add(within), length)
}

/// Which /32s are split.
struct Places {
    /// In use for something else, too.
    shared: Vec<u32>,
    own: Vec<u32>,
    /// The /24 that is in turn, and how many /32s of it are still to be split.
    turn: (u32, u64),
    split: Vec<u32>,
}

impl Places {
    fn new(world: &World, region: Region, chance: &mut Chance) -> Self {
        let mut shared = world.slash24s.get(&region.first).cloned().unwrap_or_default();
        chance.shuffle(&mut shared);
        Self { shared, own: world.free_slash24s(region, chance), turn: (0, 0), split: Vec::new() }
    }

    fn next(&mut self, world: &World, chance: &mut Chance) -> u32 {
        if !self.split.is_empty() && chance.once_in(AGAIN) {
            return self.split[chance.below(self.split.len() as u64) as usize];
        }
        let may_be_listed = chance.once_in(NESTED);
        loop {
            if self.turn.1 == 0 {
                self.turn = (self.slash24(chance), chance.about(TOGETHER));
            }
            self.turn.1 -= 1;
            let slash32 = self.turn.0 << 8 | chance.below(256) as u32;
            if may_be_listed || !world.has_any(slash32, slash32) {
                self.split.push(slash32);
                return slash32;
            }
        }
    }

    fn slash24(&mut self, chance: &mut Chance) -> u32 {
        let own = if chance.once_in(OF_ITS_OWN) { self.own.pop() } else { None };
        own.or_else(|| self.shared.pop()).or_else(|| self.own.pop()).unwrap_or(self.turn.0)
    }
}
