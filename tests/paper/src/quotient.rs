//! The quotient filter: fingerprints in one sorted run after another, found by three bits a slot.
//!
//! Bender et al., "Don't Thrash: How to Cache Your Hash on Flash" (VLDB 2012). A fingerprint's quotient is the slot it
//! belongs in, its remainder is stored there, or as near behind as the ones before it let it.

mod slot;

use filter_common::{Words, WordsMut};

use crate::hash::hash;
use crate::packed::Packed;
use crate::{Filter, Forget, Full};
use slot::Slot;

/// A table of `2^quotient` slots in a ring, each for `remainder` bits.
#[derive(Clone, Debug)]
pub struct Quotient {
    slots: Packed,
    quotient: u32,
    remainder: u32,
    members: u64,
}

impl Quotient {
    /// An empty filter.
    pub fn new(quotient: u32, remainder: u32) -> Self {
        let slots = Packed::new(1 << quotient, remainder + Slot::FLAGS);
        Self { slots, quotient, remainder, members: 0 }
    }

    /// How many members it could hold, were every slot taken.
    pub const fn slots(&self) -> u64 {
        1 << self.quotient
    }

    #[inline]
    fn split(&self, key: u64) -> (u32, u64) {
        let fingerprint = hash(key) >> (64 - self.quotient - self.remainder);
        ((fingerprint >> self.remainder) as u32, fingerprint & ((1 << self.remainder) - 1))
    }

    #[inline]
    fn at(&self, index: u32) -> Slot {
        Slot(self.slots.load(index))
    }

    fn put(&self, index: u32, slot: Slot) {
        self.slots.store(index, slot.0);
    }

    const fn next(&self, index: u32) -> u32 {
        (index + 1) & (self.slots() - 1) as u32
    }

    const fn before(&self, index: u32) -> u32 {
        index.wrapping_sub(1) & (self.slots() - 1) as u32
    }

    /// Where the run of `quotient` begins, or would. The slots before it that are somebody's tell how many runs of
    /// this cluster to skip.
    #[inline]
    fn run(&self, quotient: u32) -> u32 {
        let mut owner = quotient;
        while self.at(owner).is_shifted() {
            owner = self.before(owner);
        }
        let mut start = owner;
        while owner != quotient {
            start = self.after_run(start);
            owner = self.next(owner);
            while !self.at(owner).is_occupied() {
                owner = self.next(owner);
            }
        }
        start
    }

    /// The slot behind the run that begins at `start`.
    fn after_run(&self, start: u32) -> u32 {
        let mut end = self.next(start);
        while self.at(end).is_continuation() {
            end = self.next(end);
        }
        end
    }

    /// Where in the run that begins at `start` the first remainder stands that is not less.
    fn seek(&self, start: u32, remainder: u64) -> Option<u32> {
        let mut index = start;
        while self.at(index).remainder() < remainder {
            index = self.next(index);
            if !self.at(index).is_continuation() {
                return None;
            }
        }
        Some(index)
    }

    /// Lets `pending entry` in at `index` and pushes all behind it on by one, up to the first empty slot.
    fn push(&self, mut index: u32, mut newcomer: Slot) {
        loop {
            let pushed = self.at(index);
            // Whose slot it is stays with the slot.
            self.put(index, newcomer.occupied_as(pushed));
            if pushed.is_empty() {
                return;
            }
            newcomer = pushed.shifted(true);
            index = self.next(index);
        }
    }

    /// Closes the gap at `index`: all behind it that are not at home move back by one.
    fn pull(&self, mut index: u32, mut owner: u32) {
        loop {
            let behind = self.next(index);
            let slot = self.at(behind);
            if !slot.is_shifted() {
                self.put(index, Slot::default().occupied_as(self.at(index)));
                return;
            }
            if !slot.is_continuation() {
                owner = self.next(owner);
                while !self.at(owner).is_occupied() {
                    owner = self.next(owner);
                }
            }
            self.put(index, slot.shifted(owner != index).occupied_as(self.at(index)));
            index = behind;
        }
    }
}

impl Filter for Quotient {
    fn insert(&mut self, key: u64) -> Result<(), Full> {
        if self.members + 1 == self.slots() {
            return Err(Full);
        }
        self.members += 1;
        let (quotient, remainder) = self.split(key);
        let home = self.at(quotient);
        self.put(quotient, home.occupied(true));
        if home.is_empty() {
            self.put(quotient, Slot::of(remainder).occupied(true));
            return Ok(());
        }
        let start = self.run(quotient);
        if !home.is_occupied() {
            self.push(start, Slot::of(remainder).shifted(start != quotient));
            return Ok(());
        }
        let index = self.seek(start, remainder).unwrap_or_else(|| self.after_run(start));
        if index == start {
            self.put(start, self.at(start).continuation(true));
        }
        self.push(index, Slot::of(remainder).continuation(index != start).shifted(index != quotient));
        Ok(())
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        let (quotient, remainder) = self.split(key);
        if !self.at(quotient).is_occupied() {
            return false;
        }
        let found = self.seek(self.run(quotient), remainder);
        found.is_some_and(|index| self.at(index).remainder() == remainder)
    }

    fn bits(&self) -> u64 {
        self.slots.bits()
    }
}

impl Forget for Quotient {
    fn remove(&mut self, key: u64) {
        let (quotient, remainder) = self.split(key);
        if !self.at(quotient).is_occupied() {
            return;
        }
        let start = self.run(quotient);
        let found = self.seek(start, remainder).filter(|&index| self.at(index).remainder() == remainder);
        let Some(index) = found else { return };
        self.members -= 1;
        let has_more = self.at(self.next(start)).is_continuation();
        // The slot stays somebody's until its run is gone: `pull` counts runs by it.
        self.pull(index, quotient);
        if has_more && index == start {
            self.put(start, self.at(start).continuation(false));
        }
        if !has_more {
            self.put(quotient, self.at(quotient).occupied(false));
        }
    }
}
