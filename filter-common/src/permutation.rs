//! A keyed permutation of all numbers of one width.
//!
//! It multiplies by secret odd factors, and folds the upper half onto the lower one after each product.
//! Folding breaks up patterns of strided addresses. `cuckoo::exact` adds a last product, whose highest bits
//! select a home.

use crate::width::{Factor, Width};

/// The number of key words that one permutation takes.
pub const KEY_WORDS: usize = 2;

/// A permutation of the numbers of one width.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    width: Width,
    factors: [Factor; KEY_WORDS],
}

impl Permutation {
    /// The permutation of `width`-bit numbers that `key` selects. The words of `key` must be odd, and the
    /// width an even number from 2 to 64.
    #[inline(always)]
    pub const fn new(width: u32, key: [u64; KEY_WORDS]) -> Self {
        let [first, second] = key;
        Self { width: Width::new(width), factors: [Factor::new(first), Factor::new(second)] }
    }

    /// The width of the numbers.
    #[inline(always)]
    pub const fn width(&self) -> Width {
        self.width
    }

    /// The number that `number` is mapped to.
    #[inline(always)]
    pub const fn forward(&self, number: u64) -> u64 {
        let [first, second] = self.factors;
        let once = self.width.fold(self.width.times(number, first));
        self.width.fold(self.width.times(once, second))
    }

    /// The number that is mapped to `number`.
    #[inline(always)]
    pub const fn backward(&self, number: u64) -> u64 {
        let [first, second] = self.factors;
        let once = self.width.divided(self.width.fold(number), second);
        self.width.divided(self.width.fold(once), first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;

    #[test]
    fn sixteen_bit_permutation_has_no_collision() {
        let shuffle = Permutation::new(16, [0x9E37_79B9, 0x7F4A_7C15]);
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
            let shuffle = Permutation::new(2 * half, words.map(|word| word | 1));
            let number = number >> (64 - 2 * half);
            prop_assert_eq!(shuffle.backward(shuffle.forward(number)), number);
        }
    }
}
