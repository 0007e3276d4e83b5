//! The exact scheme of IPv4 addresses: bucket and code together spell the key, so no two keys are ever mistaken for each
//! other.
//!
//! A keyed permutation shuffles the key. The lowest bits of what comes out are the remainder; the highest bits of its
//! product with one more secret factor are the index of the first home. A code is the remainder and one bit for the
//! side. Remainder zero has one home only (its distance is zero), so the code "second side of remainder zero" is free to
//! mean empty, even where all bits are in use.
//!
//! The highest bits of such a product are those of a universal hash (Dietzfelbinger and others, Journal of Algorithms
//! 25, 1997): any two keys share the first n of them with a chance of 2 ÷ 2^n at most, so whoever does not know the
//! factors cannot choose keys that meet in one bucket. The lowest bits of the product follow from the remainder alone:
//! so they need not be kept, and how far the second home is from the first can be worked out beside the product.

use super::scheme::{Home, ONE_KIND, Scheme, Token};
use crate::permutation::{self, Permutation};
use crate::width::Factor;

/// Key words that one scheme takes.
pub const KEY_WORDS: usize = permutation::KEY_WORDS + 1;

/// What chooses a scheme: odd factors, for only those can be undone.
pub type Key = [u64; KEY_WORDS];

/// A key out of any words.
pub fn key(words: [u64; KEY_WORDS]) -> Key {
    words.map(|word| word | 1)
}

/// Homes of keys of one width.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    permutation: Permutation,
    factor: Factor,
    remainder_bits: u32,
    remainder_mask: u64,
}

/// The bit of a code that says: this is the first home. The remainder lies above it.
const FIRST: u64 = 1;

impl Exact {
    /// A scheme of keys of `width` bits with `index_bits` bits of index.
    #[inline(always)]
    pub const fn new(width: u32, key: Key, index_bits: u32) -> Self {
        let remainder_bits = width - index_bits;
        Self::from_settings(width, key, remainder_bits, (1 << remainder_bits) - 1)
    }

    /// The same for a program that carries in its settings how many bits a remainder has, and these bits.
    #[inline(always)]
    pub const fn from_settings(width: u32, key: Key, remainder_bits: u32, remainder_mask: u64) -> Self {
        let [first, second, third] = key;
        let permutation = Permutation::new(width, [first, second]);
        Self { permutation, factor: Factor::new(third), remainder_bits, remainder_mask }
    }

    /// How many bits a remainder has, and these bits.
    pub const fn remainders(&self) -> (u32, u64) {
        (self.remainder_bits, self.remainder_mask)
    }

    /// The key that stands in `home`.
    pub const fn key(&self, home: Home) -> u64 {
        self.unshuffle(self.shuffled(home))
    }

    /// `key` as the permutation leaves it.
    #[inline(always)]
    pub const fn shuffle(&self, key: u64) -> u64 {
        self.permutation.forward(key)
    }

    /// The key that the permutation leaves so.
    #[inline(always)]
    pub const fn unshuffle(&self, shuffled: u64) -> u64 {
        self.permutation.backward(shuffled)
    }

    /// The shuffled key that stands in `home`.
    pub const fn shuffled(&self, home: Home) -> u64 {
        let width = self.permutation.width();
        let remainder = home.code >> 1;
        let first = if home.code & FIRST != 0 { home.bucket } else { home.bucket ^ self.distance(remainder) };
        let product =
            (first as u64) << self.remainder_bits | self.remainder(width.times(remainder, self.factor));
        width.divided(product, self.factor)
    }

    /// The bits that name a shuffled key in a stash.
    #[inline(always)]
    pub const fn token_bits(&self, shuffled: u64) -> u64 {
        shuffled << (64 - self.permutation.width().bits())
    }

    /// The two homes of a key that is shuffled already.
    #[inline(always)]
    pub const fn homes_of_shuffled(&self, shuffled: u64) -> [Home; 2] {
        let width = self.permutation.width();
        let remainder = self.remainder(shuffled);
        let first = width.above(width.times(shuffled, self.factor), self.remainder_bits);
        let code = remainder << 1 | FIRST;
        let other_side = if remainder == 0 { 0 } else { FIRST };
        [
            Home { bucket: first, code },
            Home { bucket: first ^ self.distance(remainder), code: code ^ other_side },
        ]
    }

    /// The lowest bits of a number, as many as the remainder has.
    #[inline(always)]
    const fn remainder(&self, number: u64) -> u64 {
        number & self.remainder_mask
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
        let remainder = home.code >> 1;
        if remainder == 0 {
            return home;
        }
        Home { bucket: home.bucket ^ self.distance(remainder), code: home.code ^ FIRST }
    }

    fn is_first(&self, home: Home) -> bool {
        home.code & FIRST != 0 && home.code >> 1 != 0
    }

    fn token(&self, key: u64) -> Token {
        Token { kind: ONE_KIND, bits: self.token_bits(self.shuffle(key)) }
    }

    fn token_at(&self, home: Home) -> Token {
        Token { kind: ONE_KIND, bits: self.token_bits(self.shuffled(home)) }
    }
}
