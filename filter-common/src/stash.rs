//! The stash: a small exact set before a table's buckets, for entries on the move or waiting for a path.
//!
//! While it is empty a packet pays for it with one load of a hot word. An entry is known here by the bits of its
//! token, aligned to the top: the highest choose a set of eight ways, one cache line, and the rest is stored, with the
//! token's kind below it, so nothing is mistaken for anything else.

use crate::cuckoo::bucket::Found;
use crate::cuckoo::scheme::Token;
use crate::{Words, WordsMut};

/// Words of one stash: a cache line with the hot word, then the sets.
pub const WORDS: u32 = HOT_WORDS + SETS * WAYS;

const HOT_WORD: u32 = 0;
const HOT_WORDS: u32 = 8;
const SET_BITS: u32 = 9;
const SETS: u32 = 1 << SET_BITS;
const WAYS: u32 = 8;

/// The stash that a map begins with.
#[derive(Clone, Copy, Debug)]
pub struct Stash<W> {
    words: W,
}

impl<W: Words> Stash<W> {
    /// The stash at the beginning of `words`.
    #[inline(always)]
    pub const fn new(words: W) -> Self {
        Self { words }
    }

    /// How many entries it holds. Zero is all that most packets ask.
    #[inline(always)]
    pub fn count(&self) -> u64 {
        self.words.load(HOT_WORD)
    }

    /// Does it hold this entry?
    #[inline(always)]
    pub fn holds(&self, token: Token) -> bool {
        let (first, code) = place(token);
        let (mut found, mut way) = (Found::NONE, 0);
        while way < WAYS {
            found.note(self.words.load(first + way), code);
            way += 1;
        }
        found.any()
    }
}

/// The first way of the set that an entry belongs into, and what stands for it there.
#[inline(always)]
const fn place(Token { kind, bits }: Token) -> (u32, u64) {
    let set = (bits >> (64 - SET_BITS)) as u32;
    (HOT_WORDS + set * WAYS, bits << SET_BITS | kind)
}

impl<W: WordsMut> Stash<W> {
    /// Lets an entry in; says whether its set had room. Readers see it when this returns.
    pub fn insert(&self, token: Token) -> bool {
        if self.holds(token) {
            return true;
        }
        let (first, code) = place(token);
        let Some(free) = (first..first + WAYS).find(|&at| self.words.load(at) == 0) else {
            return false;
        };
        self.words.store(free, code);
        self.words.store(HOT_WORD, self.count() + 1);
        true
    }

    /// Takes an entry out; says whether it was there.
    pub fn remove(&self, token: Token) -> bool {
        let (first, code) = place(token);
        let Some(at) = (first..first + WAYS).find(|&at| self.words.load(at) == code) else {
            return false;
        };
        self.words.store(at, 0);
        self.words.store(HOT_WORD, self.count() - 1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use std::vec;

    fn memory() -> std::vec::Vec<Cell<u64>> {
        vec![Cell::new(0); WORDS as usize]
    }

    #[test]
    fn an_entry_is_found_from_its_insertion_to_its_removal() {
        let words = memory();
        let stash = Stash::new(&words[..]);
        for bits in [0, 1 << 9, u64::MAX] {
            let [token, other] = [1, 2].map(|kind| Token { kind, bits });
            assert!(stash.insert(token) && stash.insert(token));
            assert!(stash.holds(token) && !stash.holds(other) && stash.count() == 1);
            assert!(stash.insert(other) && stash.remove(token) && !stash.remove(token));
            assert!(!stash.holds(token) && stash.holds(other) && stash.count() == 1);
            assert!(stash.remove(other) && stash.count() == 0);
        }
    }

    #[test]
    fn a_full_set_refuses_and_keeps_what_it_has() {
        let words = memory();
        let stash = Stash::new(&words[..]);
        let token = |bits| Token { kind: 1, bits };
        assert!((0..8).all(|bits| stash.insert(token(bits))));
        assert!(!stash.insert(token(8)));
        assert!((0..8).all(|bits| stash.holds(token(bits))) && !stash.holds(token(8)));
    }
}
