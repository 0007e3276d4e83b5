//! The map of IPv4 prefixes up to /24: bits, of which packets see each change at once.

use filter_common::sets::SetName;
use filter_common::target::Prefix4;
use filter_common::{Words, WordsMut, networks};

use super::KernelError;
use super::broker::request::{MapName, MapPart};
use super::maps::Maps;
use super::needs::Wanted;
use super::staged::{InMap, Staged};
use super::window::Window;

/// The map in use, and the one that is about to take its place.
pub struct Networks {
    bits: Staged<Bits>,
}

struct Bits {
    generation: u64,
    window: Window,
}

impl Networks {
    /// Nothing yet.
    pub const fn new(set: SetName) -> Self {
        Self { bits: Staged::new(MapName { set, part: MapPart::Networks }) }
    }

    /// The generation of the map that the next judge looks into; none if there is none.
    pub fn generation(&self) -> Option<u64> {
        self.bits.newest().map(|bits| bits.generation)
    }

    /// The words that packets read.
    pub fn words(&self) -> Option<&Window> {
        self.bits.current().map(|bits| &bits.window)
    }

    /// Has the map made, if there is none.
    pub fn make_room(&mut self, maps: &mut Maps) -> Result<(), KernelError> {
        if self.bits.newest().is_some() {
            return Ok(());
        }
        let bits = self.build(maps)?;
        self.bits.put(bits, maps);
        Ok(())
    }

    /// Has a copy of the map made, unless there is none, or a fresh one already.
    pub fn refresh(&mut self, maps: &mut Maps) -> Result<(), KernelError> {
        if self.bits.newest().is_none() || self.bits.fresh().is_some() {
            return Ok(());
        }
        let copy = self.build(maps)?;
        if let Some(bits) = self.bits.current() {
            let words = (0..networks::WORDS).map(|at| (at, bits.window.load(at)));
            words.filter(|(_, word)| *word != 0).for_each(|(at, word)| copy.window.store(at, word));
        }
        self.bits.put(copy, maps);
        Ok(())
    }

    /// Lets a prefix in. There is a map for it.
    pub fn enter(&self, prefix: Prefix4) {
        self.bits.newest().into_iter().for_each(|bits| bits.set(prefix, |_| u64::MAX));
    }

    /// Releases a prefix, as far as no other covers it.
    pub fn leave(&self, prefix: Prefix4, wanted: &impl Wanted) {
        clear(self.bits.fresh().into_iter().chain(self.bits.current()), prefix, wanted);
    }

    /// The same in the fresh map alone.
    pub fn leave_fresh(&self, prefix: Prefix4, wanted: &impl Wanted) {
        clear(self.bits.fresh().into_iter(), prefix, wanted);
    }

    /// Plans that there is no map.
    pub fn drop_next(&mut self, maps: &mut Maps) {
        self.bits.drop_next(maps);
    }

    /// Forgets the plan.
    pub fn discard(&mut self, maps: &mut Maps) {
        self.bits.discard(maps);
    }

    /// The plan has come true.
    pub fn publish(&mut self) {
        self.bits.publish();
    }

    fn build(&self, maps: &mut Maps) -> Result<Bits, KernelError> {
        let generation = maps.number();
        let window = self.bits.make(generation, networks::WORDS, maps)?;
        Ok(Bits { generation, window })
    }
}

impl InMap for Bits {
    fn generation(&self) -> u64 {
        self.generation
    }
}

impl Bits {
    fn set(&self, prefix: Prefix4, wanted: impl Fn(u32) -> u64) {
        networks::set(&self.window, prefix.first() >> 8, slash24s(prefix), wanted);
    }
}

/// Is it kept as bits, one a /24?
pub fn is_network(prefix: Prefix4) -> bool {
    prefix.length() <= 24
}

fn clear<'a>(maps: impl Iterator<Item = &'a Bits>, prefix: Prefix4, wanted: &impl Wanted) {
    if wanted.is_within_wider(prefix) {
        return;
    }
    let first = prefix.first() >> 14;
    let mut stays = vec![0; ((prefix.last() >> 14) - first + 1) as usize];
    for within in wanted.networks_within(prefix) {
        for word in within.first() >> 14..=within.last() >> 14 {
            stays[(word - first) as usize] |=
                networks::bits_of(within.first() >> 8, within.last() >> 8, word);
        }
    }
    maps.for_each(|bits| bits.set(prefix, |word| stays[(word - first) as usize]));
}

fn slash24s(prefix: Prefix4) -> u32 {
    1 << (24 - prefix.length())
}
