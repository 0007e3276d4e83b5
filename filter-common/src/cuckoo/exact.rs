//! The exact scheme: bucket and code together spell the key, so no two keys are ever mistaken for each other.
//!
//! A keyed permutation shuffles the key. Its highest bits are the index of the first home, the rest is the
//! remainder; a code is the remainder and one bit for the side. Remainder zero has one home only (its distance is zero),
//! so the code "second side of remainder zero" is free to mean empty, even where all bits are in use.

use super::scheme::{Home, Scheme, Token};
use crate::permutation::Permutation;

/// Homes of keys of the permutation's width.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    permutation: Permutation,
    remainder_bits: u32,
    below: u32,
}

/// The bit of a code that says: this is the first home.
const FIRST: u64 = 1;

impl Exact {
    /// A scheme with `index_bits` bits of index, and codes whose remainder begins above `below` bits, the lowest of
    /// which is the side.
    #[inline(always)]
    pub const fn new(permutation: Permutation, index_bits: u32, below: u32) -> Self {
        Self { permutation, remainder_bits: permutation.width().bits() - index_bits, below }
    }

    /// The key that stands in `home`.
    pub const fn key(&self, home: Home) -> u64 {
        self.permutation.backward(self.shuffled(home))
    }

    /// `key` as the permutation leaves it.
    #[inline(always)]
    pub const fn shuffle(&self, key: u64) -> u64 {
        self.permutation.forward(key)
    }

    /// The shuffled key that stands in `home`.
    pub const fn shuffled(&self, home: Home) -> u64 {
        let remainder = home.code >> self.below;
        let first = if home.code & FIRST != 0 { home.bucket } else { home.bucket ^ self.distance(remainder) };
        (first as u64) << self.remainder_bits | remainder
    }

    /// The bits that name a shuffled key in a stash.
    #[inline(always)]
    pub const fn token_bits(&self, shuffled: u64) -> u64 {
        shuffled << (64 - self.permutation.width().bits())
    }

    /// The two homes of a key that is shuffled already.
    #[inline(always)]
    pub const fn homes_of_shuffled(&self, shuffled: u64) -> [Home; 2] {
        let remainder = shuffled & ((1 << self.remainder_bits) - 1);
        let first = self.permutation.width().above(shuffled, self.remainder_bits);
        let code = remainder << self.below | FIRST;
        let other_side = if remainder == 0 { 0 } else { FIRST };
        [
            Home { bucket: first, code },
            Home { bucket: first ^ self.distance(remainder), code: code ^ other_side },
        ]
    }

    /// From the first home to the second.
    #[inline(always)]
    const fn distance(&self, remainder: u64) -> u32 {
        let width = self.permutation.width();
        width.above(width.spread(remainder), self.remainder_bits)
    }
}

impl Scheme for Exact {
    type Key = u64;

    #[inline(always)]
    fn homes(&self, key: u64) -> [Home; 2] {
        self.homes_of_shuffled(self.shuffle(key))
    }

    fn other(&self, home: Home) -> Home {
        let remainder = home.code >> self.below;
        if remainder == 0 {
            return home;
        }
        Home { bucket: home.bucket ^ self.distance(remainder), code: home.code ^ FIRST }
    }

    fn is_first(&self, home: Home) -> bool {
        home.code & FIRST != 0 && home.code >> self.below != 0
    }

    fn token(&self, key: u64) -> Token {
        Token { stash: 0, bits: self.token_bits(self.shuffle(key)) }
    }

    fn token_at(&self, home: Home) -> Token {
        Token { stash: 0, bits: self.token_bits(self.shuffled(home)) }
    }
}
