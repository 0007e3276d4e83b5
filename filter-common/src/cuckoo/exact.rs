//! The exact scheme for IPv4 addresses. Bucket and code together determine the key, so two keys are never
//! confused.
//!
//! A keyed permutation shuffles the key. The product of the shuffled key and another secret factor is the
//! *place*. The place times the number of buckets has the index of the first home in the bits above the key's
//! width. The places of one bucket are therefore a range of consecutive numbers.
//!
//! A code consists of the remainder, which is the lowest bits of the shuffled key, and one bit above it for
//! the side. The remainder determines the lowest bits of the place. These bits can tell apart at least as
//! many places as any range has. Bucket and code therefore determine the place, and so the key.
//!
//! The second place is the first one XOR a value into which the remainder is spread. Its lowest bits depend
//! on the remainder only, so the same argument holds for the second home. It is computed in parallel with the
//! product. Remainder zero spreads to zero and so has only one home. This leaves the code "second side of
//! remainder zero" free to mean empty, even if all bits are in use.
//!
//! The highest bits of such a product are a universal hash (Dietzfelbinger and others, Journal of Algorithms
//! 25, 1997). Any two keys share their first n bits with a chance of at most 2 ÷ 2^n. An attacker who does
//! not know the factors cannot choose keys that share one bucket.

use super::geometry::Geometry;
use super::scheme::{Home, ONE_KIND, Scheme, Token};
use crate::permutation::{self, Permutation};
use crate::width::Factor;

/// The number of key words that one scheme takes.
pub const KEY_WORDS: usize = permutation::KEY_WORDS + 1;

/// The key of a scheme: odd factors, because only these are invertible.
pub type Key = [u64; KEY_WORDS];

/// Makes a key from any words.
pub fn key(words: [u64; KEY_WORDS]) -> Key {
    words.map(|word| word | 1)
}

/// The homes of keys of one width.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    permutation: Permutation,
    factor: Factor,
    buckets: u32,
    remainder_mask: u64,
    place_mask: u64,
}

impl Exact {
    /// A scheme for keys of `width` bits, at most 32, for a table with this geometry. A remainder takes all
    /// bits of a lane except the side bit, even if it needs fewer.
    pub const fn new(width: u32, key: Key, geometry: Geometry) -> Self {
        let remainder_mask = (1 << (geometry.lanes().bits() - 1)) - 1;
        Self::from_settings(width, key, geometry.buckets(), remainder_mask, u64::MAX >> (64 - width))
    }

    /// A scheme for a program that carries the number of buckets and the bits of a remainder in its settings.
    #[inline(always)]
    pub const fn from_settings(
        width: u32,
        key: Key,
        buckets: u32,
        remainder_mask: u64,
        place_mask: u64,
    ) -> Self {
        let [first, second, third] = key;
        let permutation = Permutation::new(width, [first, second]);
        Self { permutation, factor: Factor::new(third), buckets, remainder_mask, place_mask }
    }

    /// The mask of a remainder's bits.
    pub const fn remainder_mask(&self) -> u64 {
        self.remainder_mask
    }

    /// The mask of a place's bits.
    pub const fn place_mask(&self) -> u64 {
        self.place_mask
    }

    /// The key of the entry in `home`.
    pub const fn key(&self, home: Home) -> u64 {
        self.unshuffle(self.shuffled(home))
    }

    /// The result of the permutation for `key`.
    #[inline(always)]
    pub const fn shuffle(&self, key: u64) -> u64 {
        self.permutation.forward(key)
    }

    /// The key for which the permutation gives this result.
    #[inline(always)]
    pub const fn unshuffle(&self, shuffled: u64) -> u64 {
        self.permutation.backward(shuffled)
    }

    /// The shuffled key of the entry in `home`.
    pub const fn shuffled(&self, home: Home) -> u64 {
        let side = if self.is_on_first_side(home) { 0 } else { self.spread(self.remainder(home.code)) };
        self.permutation.width().divided(self.place(home) ^ side, self.factor)
    }

    /// The bits that identify a shuffled key in a stash.
    #[inline(always)]
    pub const fn token_bits(&self, shuffled: u64) -> u64 {
        shuffled << (64 - self.permutation.width().bits())
    }

    /// The buckets of the first and the second home of a shuffled key.
    #[inline(always)]
    pub const fn buckets_of_shuffled(&self, shuffled: u64) -> [u32; 2] {
        let place = self.permutation.width().times(shuffled, self.factor);
        // The verifier of Linux 6.1 loses all bounds of an XOR of two numbers, even that it has 32 bits.
        let second = (place ^ self.spread(self.remainder(shuffled))) & self.place_mask;
        [self.bucket(place), self.bucket(second)]
    }

    /// The remainder of a shuffled key or a code. As a code it means the second home, unless it is zero.
    #[inline(always)]
    pub const fn remainder(&self, number: u64) -> u64 {
        number & self.remainder_mask
    }

    /// The bit of a code that marks the first home.
    const fn first(&self) -> u64 {
        self.remainder_mask + 1
    }

    const fn is_on_first_side(&self, home: Home) -> bool {
        home.code & self.first() != 0
    }

    /// The place of the entry in this home: its first place or its second one, depending on the side.
    const fn place(&self, home: Home) -> u64 {
        let width = self.permutation.width();
        let remainder = self.remainder(home.code);
        let first = width.times(remainder, self.factor);
        let lowest = if self.is_on_first_side(home) { first } else { first ^ self.spread(remainder) };
        let start = ((home.bucket as u64) << width.bits()).div_ceil(self.buckets as u64);
        width.cut(start + self.remainder(width.cut(lowest.wrapping_sub(start))))
    }

    /// The bucket of a place. The formula lets every verifier see that the bucket is inside the table.
    #[inline(always)]
    const fn bucket(&self, place: u64) -> u32 {
        ((place * self.buckets as u64) >> self.permutation.width().bits()) as u32
    }

    /// The value by which the second place differs from the first.
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
