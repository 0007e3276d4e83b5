//! The stash: a small exact set before a table's buckets, for entries on the move or waiting for a path.
//!
//! While it is empty a packet pays for it with one load of a hot word. An entry is known here by the bits of its
//! token, aligned to the top: the highest choose a set of eight ways, one cache line, and the rest is stored, so
//! nothing is mistaken for anything else.

use crate::cuckoo::bucket::Found;
use crate::{Words, WordsMut};

/// Words of one stash: a cache line with the hot word, then the sets.
pub const WORDS: u32 = HOT_WORDS + SETS * WAYS;

const HOT_WORDS: u32 = 8;
const SET_BITS: u32 = 9;
const SETS: u32 = 1 << SET_BITS;
const WAYS: u32 = 8;

/// One of the stashes that a map begins with.
#[derive(Clone, Copy, Debug)]
pub struct Stash<W> {
    words: W,
    base: u32,
}

impl<W: Words> Stash<W> {
    /// The stash of this number in `words`.
    #[inline(always)]
    pub const fn new(words: W, number: u32) -> Self {
        Self { words, base: number * WORDS }
    }

    /// How many entries it holds. Zero is all that most packets ask.
    #[inline(always)]
    pub fn count(&self) -> u64 {
        self.words.load(self.base)
    }

    /// Does it hold the entry of these bits?
    #[inline(always)]
    pub fn holds(&self, bits: u64) -> bool {
        let (first, code) = self.place(bits);
        let (mut found, mut way) = (Found::NONE, 0);
        while way < WAYS {
            found.note(self.words.load(first + way), code);
            way += 1;
        }
        found.any()
    }

    #[inline(always)]
    fn place(&self, bits: u64) -> (u32, u64) {
        let set = (bits >> (64 - SET_BITS)) as u32;
        (self.base + HOT_WORDS + set * WAYS, bits << SET_BITS | 1)
    }
}

impl<W: WordsMut> Stash<W> {
    /// Lets the entry of these bits in; says whether its set had room. Readers see it when this returns.
    pub fn insert(&self, bits: u64) -> bool {
        if self.holds(bits) {
            return true;
        }
        let (first, code) = self.place(bits);
        let Some(free) = (first..first + WAYS).find(|&at| self.words.load(at) == 0) else {
            return false;
        };
        self.words.store(free, code);
        self.words.store(self.base, self.count() + 1);
        true
    }

    /// Takes the entry of these bits out; says whether it was there.
    pub fn remove(&self, bits: u64) -> bool {
        let (first, code) = self.place(bits);
        let Some(at) = (first..first + WAYS).find(|&at| self.words.load(at) == code) else {
            return false;
        };
        self.words.store(at, 0);
        self.words.store(self.base, self.count() - 1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use std::vec;

    #[test]
    fn an_entry_is_found_from_its_insertion_to_its_removal() {
        let words = vec![Cell::new(0); 2 * WORDS as usize];
        let (stash, neighbour) = (Stash::new(&words[..], 0), Stash::new(&words[..], 1));
        for bits in [0, 1 << 9, u64::MAX] {
            assert!(stash.insert(bits) && stash.insert(bits));
            assert!(stash.holds(bits) && stash.count() == 1);
            assert!(!neighbour.holds(bits) && neighbour.count() == 0);
            assert!(stash.remove(bits) && !stash.remove(bits));
            assert!(!stash.holds(bits) && stash.count() == 0);
        }
    }

    #[test]
    fn a_full_set_refuses_and_keeps_what_it_has() {
        let words = vec![Cell::new(0); WORDS as usize];
        let stash = Stash::new(&words[..], 0);
        assert!((0..8).all(|bits| stash.insert(bits)));
        assert!(!stash.insert(8));
        assert!((0..8).all(|bits| stash.holds(bits)) && !stash.holds(8));
    }
}
