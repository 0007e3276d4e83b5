//! The stash: a small exact set before a table's buckets, for entries that are being moved or that wait for a
//! path.
//!
//! While it is empty, a packet pays only one load of a hot word. An entry is identified by the bits of its
//! token, aligned to the top. The highest bits select a set of eight ways, which is one cache line. The other
//! bits are stored, with the token's kind below them, so no two entries are confused.

use crate::cuckoo::bucket::Found;
use crate::cuckoo::scheme::Token;
use crate::labels::{Label, Labels, LabelsMut, NoLabels};
use crate::{Words, WordsMut};

/// The number of words of a stash: a cache line with the hot word, then the sets.
pub const WORDS: u32 = HOT_WORDS + SETS * WAYS;

/// The number of labels of a stash, if labels are kept: one for each way.
pub const LABELS: u32 = SETS * WAYS;

const HOT_WORD: u32 = 0;
const HOT_WORDS: u32 = 8;
const SET_BITS: u32 = 9;
const SETS: u32 = 1 << SET_BITS;
const WAYS: u32 = 8;

/// The stash at the beginning of a map, and the labels of its ways if labels are kept.
#[derive(Clone, Copy, Debug)]
pub struct Stash<W, L = NoLabels> {
    words: W,
    labels: L,
}

impl<W: Words> Stash<W> {
    /// The stash at the beginning of `words`, without labels.
    #[inline(always)]
    pub const fn new(words: W) -> Self {
        Self::labelled(words, NoLabels)
    }
}

impl<W: Words, L> Stash<W, L> {
    /// The stash at the beginning of `words`, with these labels.
    #[inline(always)]
    pub const fn labelled(words: W, labels: L) -> Self {
        Self { words, labels }
    }

    /// The number of entries. Most packets read only this and find zero.
    #[inline(always)]
    pub fn count(&self) -> u64 {
        self.words.load(HOT_WORD)
    }

    /// True if the stash holds this entry.
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

    /// The number of the way that holds this entry, which is also the number of its label.
    #[inline(always)]
    fn way_of(&self, token: Token) -> Option<u32> {
        let (first, code) = place(token);
        let mut way = 0;
        while way < WAYS {
            if self.words.load(first + way) == code {
                return Some(set_of(token) * WAYS + way);
            }
            way += 1;
        }
        None
    }
}

impl<W: Words, L: Labels> Stash<W, L> {
    /// The label of this entry, if the stash holds it.
    #[inline(always)]
    pub fn label_of(&self, token: Token) -> Option<Label> {
        Some(self.labels.label(self.way_of(token)?))
    }
}

/// The first way of an entry's set, and the code of the entry there.
#[inline(always)]
const fn place(token: Token) -> (u32, u64) {
    (HOT_WORDS + set_of(token) * WAYS, token.bits << SET_BITS | token.kind)
}

#[inline(always)]
const fn set_of(token: Token) -> u32 {
    (token.bits >> (64 - SET_BITS)) as u32
}

impl<W: WordsMut, L: LabelsMut> Stash<W, L> {
    /// Adds an entry. Returns whether its set had room. Readers find it when this returns.
    pub fn insert(&self, token: Token, label: Label) -> bool {
        if self.holds(token) {
            return true;
        }
        let (first, code) = place(token);
        let Some(free) = (first..first + WAYS).find(|&at| self.words.load(at) == 0) else {
            return false;
        };
        self.labels.write(free - HOT_WORDS, label);
        self.words.store(free, code);
        self.words.store(HOT_WORD, self.count() + 1);
        true
    }

    /// Replaces the label of an entry, if the stash holds it.
    pub fn relabel(&self, token: Token, label: Label) {
        self.way_of(token).into_iter().for_each(|way| self.labels.write(way, label));
    }

    /// Removes an entry. Returns whether the stash held it.
    pub fn remove(&self, token: Token) -> bool {
        let Some(way) = self.way_of(token) else { return false };
        self.words.store(HOT_WORDS + way, 0);
        self.words.store(HOT_WORD, self.count() - 1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::OTHER;
    use core::cell::Cell;
    use std::vec;

    fn memory() -> std::vec::Vec<Cell<u64>> {
        vec![Cell::new(0); WORDS as usize]
    }

    #[test]
    fn entry_is_found_until_its_removal() {
        let words = memory();
        let stash = Stash::new(&words[..]);
        for bits in [0, 1 << 9, u64::MAX] {
            let [token, other] = [1, 2].map(|kind| Token { kind, bits });
            assert!(stash.insert(token, OTHER) && stash.insert(token, OTHER));
            assert!(stash.holds(token) && !stash.holds(other) && stash.count() == 1);
            assert!(stash.insert(other, OTHER) && stash.remove(token) && !stash.remove(token));
            assert!(!stash.holds(token) && stash.holds(other) && stash.count() == 1);
            assert!(stash.remove(other) && stash.count() == 0);
        }
    }

    #[test]
    fn full_set_refuses_and_keeps_entries() {
        let words = memory();
        let stash = Stash::new(&words[..]);
        let token = |bits| Token { kind: 1, bits };
        assert!((0..8).all(|bits| stash.insert(token(bits), OTHER)));
        assert!(!stash.insert(token(8), OTHER));
        assert!((0..8).all(|bits| stash.holds(token(bits))) && !stash.holds(token(8)));
    }
}
