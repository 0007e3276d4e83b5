//! The exact scheme of IPv4 addresses: bucket and code together spell the key, so no two keys are ever mistaken for each
//! other.
//!
//! A keyed permutation shuffles the key, and the product of what comes out and one more secret factor is its *place*. The
//! place times the number of buckets, above the key's width, is the index of the first home: so the places of one bucket are a
//! stretch of consecutive numbers. A code is the remainder, which is the lowest bits of the shuffled key, and above it one bit
//! for the side. The lowest bits of the place follow from the remainder, and count at least as far as any stretch is long:
//! so bucket and code spell the place, and thereby the key.
//!
//! The second place is the first one, xor what the remainder is spread to. Its lowest bits follow from the remainder, too; so
//! it is spelled in the same way, and worked out beside the product. Remainder zero has one home only (it is spread to zero), so
//! the code "second side of remainder zero" is free to mean empty, even where all bits are in use.
//!
//! The highest bits of such a product are those of a universal hash (Dietzfelbinger and others, Journal of Algorithms
//! 25, 1997): any two keys share the first n of them with a chance of 2 ÷ 2^n at most, so whoever does not know the
//! factors cannot choose keys that meet in one bucket.

use super::geometry::Geometry;
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
    buckets: u32,
    remainder_mask: u64,
}

impl Exact {
    /// A scheme of keys of `width` bits, at most 32, for a table of this shape. A remainder takes what the side leaves of a
    /// lane, whether all of it is needed or not.
    pub const fn new(width: u32, key: Key, geometry: Geometry) -> Self {
        Self::from_settings(width, key, geometry.buckets(), (1 << (geometry.lanes().bits() - 1)) - 1)
    }

    /// The same for a program that carries in its settings how many buckets there are, and the bits of a remainder.
    #[inline(always)]
    pub const fn from_settings(width: u32, key: Key, buckets: u32, remainder_mask: u64) -> Self {
        let [first, second, third] = key;
        let permutation = Permutation::new(width, [first, second]);
        Self { permutation, factor: Factor::new(third), buckets, remainder_mask }
    }

    /// The bits of a remainder.
    pub const fn remainder_mask(&self) -> u64 {
        self.remainder_mask
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
        let side = if self.is_on_first_side(home) { 0 } else { self.spread(self.remainder(home.code)) };
        self.permutation.width().divided(self.place(home) ^ side, self.factor)
    }

    /// The bits that name a shuffled key in a stash.
    #[inline(always)]
    pub const fn token_bits(&self, shuffled: u64) -> u64 {
        shuffled << (64 - self.permutation.width().bits())
    }

    /// The buckets of a key that is shuffled already: those of its first and of its second home.
    #[inline(always)]
    pub const fn buckets_of_shuffled(&self, shuffled: u64) -> [u32; 2] {
        let place = self.permutation.width().times(shuffled, self.factor);
        [self.bucket(place), self.bucket(place ^ self.spread(self.remainder(shuffled)))]
    }

    /// The remainder of a shuffled key, or of a code. As a code it is that of the second home, unless it is zero.
    #[inline(always)]
    pub const fn remainder(&self, number: u64) -> u64 {
        number & self.remainder_mask
    }

    /// The bit of a code that says: this is the first home.
    const fn first(&self) -> u64 {
        self.remainder_mask + 1
    }

    const fn is_on_first_side(&self, home: Home) -> bool {
        home.code & self.first() != 0
    }

    /// The place by which somebody came to this home: his first or his second one.
    const fn place(&self, home: Home) -> u64 {
        let width = self.permutation.width();
        let remainder = self.remainder(home.code);
        let first = width.times(remainder, self.factor);
        let lowest = if self.is_on_first_side(home) { first } else { first ^ self.spread(remainder) };
        let start = ((home.bucket as u64) << width.bits()).div_ceil(self.buckets as u64);
        width.cut(start + self.remainder(width.cut(lowest.wrapping_sub(start))))
    }

    /// The bucket of a place. Written so that every verifier knows it to be one of the table's.
    #[inline(always)]
    const fn bucket(&self, place: u64) -> u32 {
        ((place * self.buckets as u64) >> self.permutation.width().bits()) as u32
    }

    /// How the second place differs from the first.
    #[inline(always)]
    const fn spread(&self, remainder: u64) -> u64 {
        self.permutation.width().spread(remainder)
    }
}

impl Scheme for Exact {
    type Key = u64;

    #[inline(always)]
    fn homes(&self, key: u64) -> [Home; 2] {
        let shuffled = self.shuffle(key);
        let [first, second] = self.buckets_of_shuffled(shuffled);
        let remainder = self.remainder(shuffled);
        let code = remainder | self.first();
        [
            Home { bucket: first, code },
            Home { bucket: second, code: if remainder == 0 { code } else { remainder } },
        ]
    }

    fn other(&self, home: Home) -> Home {
        let remainder = self.remainder(home.code);
        if remainder == 0 {
            return home;
        }
        Home {
            bucket: self.bucket(self.place(home) ^ self.spread(remainder)),
            code: home.code ^ self.first(),
        }
    }

    fn is_first(&self, home: Home) -> bool {
        self.is_on_first_side(home) && self.remainder(home.code) != 0
    }

    fn token(&self, key: u64) -> Token {
        Token { kind: ONE_KIND, bits: self.token_bits(self.shuffle(key)) }
    }

    fn token_at(&self, home: Home) -> Token {
        Token { kind: ONE_KIND, bits: self.token_bits(self.shuffled(home)) }
    }
}
