//! Semi-sorted buckets: one bit less for each fingerprint, because the order within a bucket says nothing.
//!
//! Section 5.2 of the paper: four fingerprints sorted by their lowest four bits can have only 3,876 different
//! quadruples of these, which is 12 bits instead of 16. As a place for words this needs no other filter: whoever loads
//! a word gets the four codes in order, and whoever stores one need not have them in any.

use filter_common::{Words, WordsMut};

use crate::packed::Packed;

/// Memory for words of four lanes of `bits` bits, each in four bits less than these.
#[derive(Clone, Debug)]
pub struct SemiSorted {
    packed: Packed,
    bits: u32,
    /// The sorted quadruples, in order; four bits a part, the least first.
    quadruples: Vec<u16>,
    /// Where each of them stands there.
    numbers: Vec<u16>,
}

const LANES: u32 = 4;
/// Bits of a fingerprint that are sorted.
const SORTED: u32 = 4;
/// Bits of the number of a sorted quadruple.
const NUMBER: u32 = 12;

impl SemiSorted {
    /// So many words, all zero.
    pub fn new(words: u64, bits: u32) -> Self {
        let is_sorted = |quadruple: &u16| nibbles(u64::from(*quadruple)).is_sorted();
        let quadruples: Vec<u16> = (0..=u16::MAX).filter(is_sorted).collect();
        let mut numbers = vec![0; 1 << 16];
        (0..).zip(&quadruples).for_each(|(number, &quadruple)| numbers[usize::from(quadruple)] = number);
        Self { packed: Packed::new(words, NUMBER + LANES * (bits - SORTED)), bits, quadruples, numbers }
    }

    /// Bits that the words take.
    pub fn bits(&self) -> u64 {
        self.packed.bits()
    }

    fn sorted(&self, word: u64) -> [u64; LANES as usize] {
        let mut codes =
            std::array::from_fn(|lane| word >> (lane as u32 * self.bits) & (u64::MAX >> (64 - self.bits)));
        // Five comparisons sort four (Knuth, volume 3, section 5.3.4).
        for (one, other) in [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)] {
            if low(codes[one]) > low(codes[other]) {
                codes.swap(one, other);
            }
        }
        codes
    }
}

/// The part of a code that buckets are sorted by.
const fn low(code: u64) -> u64 {
    code & ((1 << SORTED) - 1)
}

fn nibbles(quadruple: u64) -> [u64; LANES as usize] {
    std::array::from_fn(|lane| low(quadruple >> (lane as u32 * SORTED)))
}

impl Words for SemiSorted {
    #[inline]
    fn load(&self, index: u32) -> u64 {
        let stored = self.packed.load(index);
        let lows = nibbles(self.quadruples[(stored & ((1 << NUMBER) - 1)) as usize].into());
        let above = self.bits - SORTED;
        let mut word = 0;
        for (lane, low) in (0..).zip(lows) {
            let high = stored >> (NUMBER + lane * above) & ((1 << above) - 1);
            word |= (high << SORTED | low) << (lane * self.bits);
        }
        word
    }
}

impl WordsMut for SemiSorted {
    #[inline]
    fn store(&self, index: u32, word: u64) {
        let (mut quadruple, mut highs) = (0, 0);
        for (lane, code) in (0..).zip(self.sorted(word)) {
            quadruple |= low(code) << (lane * SORTED);
            highs |= code >> SORTED << (lane * (self.bits - SORTED));
        }
        self.packed.store(index, u64::from(self.numbers[quadruple as usize]) | highs << NUMBER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn number_of_sorted_quadruples_matches_paper() {
        let words = SemiSorted::new(1, 13);
        assert_eq!(words.quadruples.len(), 3876);
        assert_eq!(words.bits(), 48);
    }

    proptest! {
        #[test]
        fn a_bucket_keeps_its_codes_in_any_order(codes: [u16; 4], bits in 5_u32..=16, neighbours: [u64; 2]) {
            let lane = |code: u16| u64::from(code) & ((1 << bits) - 1);
            let word = (0..).zip(codes).fold(0, |word, (at, code)| word | lane(code) << (at * bits));
            let words = SemiSorted::new(3, bits);
            for (index, word) in [0, 2].into_iter().zip(neighbours) {
                words.store(index, word >> (64 - LANES * bits));
            }
            let outside = [0, 2].map(|index| words.load(index));
            words.store(1, word);
            prop_assert_eq!([0, 2].map(|index| words.load(index)), outside);
            let back = |index| {
                let word = words.load(index);
                (0..LANES).map(|at| word >> (at * bits) & ((1 << bits) - 1)).collect::<Vec<_>>()
            };
            let (mut kept, mut put) = (back(1), codes.map(lane).to_vec());
            prop_assert!(kept.is_sorted_by_key(|&code| low(code)));
            kept.sort_unstable();
            put.sort_unstable();
            prop_assert_eq!(kept, put);
            words.store(1, 0);
            prop_assert_eq!(words.load(1), 0);
        }
    }
}
