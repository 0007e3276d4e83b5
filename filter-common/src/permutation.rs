//! A keyed permutation: shuffles all numbers of one width.
//!
//! Multiplies by secret odd factors, and folds the upper half onto the lower one after each: folding keeps patterns of
//! strided addresses from surviving. `cuckoo::exact` adds a last product, whose highest bits are a home.

use crate::width::{Factor, Width};

/// Key words that one permutation takes.
pub const KEY_WORDS: usize = 2;

/// A permutation of the numbers of one width.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    width: Width,
    factors: [Factor; KEY_WORDS],
}

impl Permutation {
    /// The permutation that `key`, odd words, chooses among those of `width` bits: an even number from 2 to 64.
    #[inline(always)]
    pub const fn new(width: u32, key: [u64; KEY_WORDS]) -> Self {
        let [first, second] = key;
        Self { width: Width::new(width), factors: [Factor::new(first), Factor::new(second)] }
    }

    /// Width of the numbers.
    #[inline(always)]
    pub const fn width(&self) -> Width {
        self.width
    }

    /// Where `number` goes.
    #[inline(always)]
    pub const fn forward(&self, number: u64) -> u64 {
        let [first, second] = self.factors;
        let once = self.width.fold(self.width.times(number, first));
        self.width.fold(self.width.times(once, second))
    }

    /// Where `number` came from.
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
    fn every_number_of_sixteen_bits_has_its_own_place() {
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
