//! A keyed permutation: shuffles all numbers of one width, so that an index and a remainder cut from the result are
//! as good as hashed, yet spell the number.
//!
//! Multiplies by three secret odd factors, and folds the upper half onto the lower one in between. The highest bits
//! of such a product are those of a universal hash (Dietzfelbinger and others, Journal of Algorithms 25, 1997): any
//! two numbers share the first n of them with a chance of 2 ÷ 2^n at most, so whoever does not know the key cannot
//! choose numbers that meet in one bucket. Folding keeps patterns of strided addresses from surviving.

use crate::width::Width;

/// Key words that one permutation takes.
pub const KEY_WORDS: usize = 3;

/// What chooses a permutation: odd factors, for only those can be undone.
pub type Key = [u64; KEY_WORDS];

/// A permutation of the numbers of one width.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    width: Width,
    key: Key,
    inverse: Key,
}

/// A key out of any words.
#[inline(always)]
pub const fn key(words: [u64; KEY_WORDS]) -> Key {
    let [first, second, third] = words;
    [first | 1, second | 1, third | 1]
}

impl Permutation {
    /// The permutation that `key` chooses among those of `width` bits: an even number from 2 to 64.
    #[inline(always)]
    pub const fn new(width: u32, key: Key) -> Self {
        let [first, second, third] = key;
        Self { width: Width::new(width), key, inverse: [inverse(first), inverse(second), inverse(third)] }
    }

    /// Width of the numbers.
    #[inline(always)]
    pub const fn width(&self) -> Width {
        self.width
    }

    /// Where `number` goes.
    #[inline(always)]
    pub const fn forward(&self, number: u64) -> u64 {
        let [first, second, third] = self.key;
        let once = self.width.fold(self.width.product(number, first));
        let twice = self.width.fold(self.width.product(once, second));
        self.width.product(twice, third)
    }

    /// Where `number` came from.
    pub const fn backward(&self, number: u64) -> u64 {
        let [first, second, third] = self.inverse;
        let twice = self.width.fold(self.width.product(number, third));
        let once = self.width.fold(self.width.product(twice, second));
        self.width.product(once, first)
    }
}

/// What an odd number must be multiplied by to give 1. Each step doubles the bits that are right, three at first.
#[inline(always)]
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut step = 0;
    while step < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;

    #[test]
    fn every_number_of_sixteen_bits_has_its_own_place() {
        let shuffle = Permutation::new(16, key([3, 1, 4].map(|n: u64| n.wrapping_mul(0x9E37_79B9))));
        let mut seen = vec![false; 1 << 16];
        for number in 0..1 << 16 {
            let place = shuffle.forward(number);
            assert!(!core::mem::replace(&mut seen[place as usize], true), "{place} is taken twice");
            assert_eq!(shuffle.backward(place), number);
        }
    }

    proptest! {
        #[test]
        fn backward_undoes_forward(number: u64, words: [u64; KEY_WORDS], half in 1_u32..=32) {
            let shuffle = Permutation::new(2 * half, key(words));
            let number = number >> (64 - 2 * half);
            prop_assert_eq!(shuffle.backward(shuffle.forward(number)), number);
        }
    }
}
