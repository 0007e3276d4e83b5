//! A keyed permutation: shuffles all numbers of an even width, so that an index and a remainder cut from
//! the result are as good as hashed, yet spell the number.
//!
//! A Feistel network of four rounds; three leave patterns of strided addresses that crowd buckets. Its round
//! function is multiply-add-shift, which is strongly universal (Dietzfelbinger, STACS 1996): whoever does not
//! know the key cannot choose numbers that meet in one bucket.

/// Key words that one permutation takes.
pub const KEY_WORDS: usize = 8;

/// A permutation of the numbers of twice `half` bits.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    half: u32,
    key: [u64; KEY_WORDS],
}

impl Permutation {
    /// The permutation that `key` chooses among those of `width` bits: an even number from 2 to 64.
    #[inline(always)]
    pub const fn new(width: u32, key: [u64; KEY_WORDS]) -> Self {
        Self { half: width / 2, key }
    }

    /// Width of the numbers in bits.
    #[inline(always)]
    pub const fn width(&self) -> u32 {
        self.half * 2
    }

    /// Where `number` goes.
    #[inline(always)]
    pub const fn forward(&self, number: u64) -> u64 {
        let (mut left, mut right) = (number >> self.half, number & self.mask());
        let mut round = 0;
        while round < KEY_WORDS {
            (left, right) = (right, left ^ self.scramble(round, right));
            round += 2;
        }
        left << self.half | right
    }

    /// Where `number` came from.
    pub const fn backward(&self, number: u64) -> u64 {
        let (mut left, mut right) = (number >> self.half, number & self.mask());
        let mut round = KEY_WORDS;
        while round > 0 {
            round -= 2;
            (left, right) = (right ^ self.scramble(round, left), left);
        }
        left << self.half | right
    }

    #[inline(always)]
    const fn scramble(&self, round: usize, half: u64) -> u64 {
        (self.key[round].wrapping_mul(half).wrapping_add(self.key[round + 1]) >> self.half) & self.mask()
    }

    #[inline(always)]
    const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;

    #[test]
    fn every_number_of_sixteen_bits_has_its_own_place() {
        let shuffle =
            Permutation::new(16, [3, 1, 4, 1, 5, 9, 2, 6].map(|n: u64| n.wrapping_mul(0x9E37_79B9)));
        let mut seen = vec![false; 1 << 16];
        for number in 0..1 << 16 {
            let place = shuffle.forward(number);
            assert!(!core::mem::replace(&mut seen[place as usize], true), "{place} is taken twice");
            assert_eq!(shuffle.backward(place), number);
        }
    }

    proptest! {
        #[test]
        fn backward_undoes_forward(number: u64, key: [u64; KEY_WORDS], half in 1_u32..=32) {
            let shuffle = Permutation::new(2 * half, key);
            let number = number >> (64 - 2 * half);
            prop_assert_eq!(shuffle.backward(shuffle.forward(number)), number);
        }
    }
}
