//! Words of fewer than 64 bits, end to end, so that a filter takes no more memory than the paper grants it.

use std::cell::Cell;

use filter_common::{Words, WordsMut};

/// Memory for words of `width` bits.
#[derive(Clone, Debug)]
pub struct Packed {
    bytes: Vec<Cell<u8>>,
    width: u32,
}

/// A word is read together with its neighbours, eight bytes at a time.
const READ: usize = 8;

impl Packed {
    /// So many words, all zero. The width must be such that a word never lies in more than eight bytes.
    pub fn new(words: u64, width: u32) -> Self {
        assert!(
            width <= 57 || width.is_multiple_of(4) && width != 0,
            "a word of {width} bits can lie in nine bytes"
        );
        let bytes = (words * u64::from(width)).div_ceil(8) as usize + READ;
        Self { bytes: vec![Cell::new(0); bytes], width }
    }

    /// Bits that the words take.
    pub fn bits(&self) -> u64 {
        (self.bytes.len() - READ) as u64 * 8
    }

    /// The eight bytes in which the word at `index` lies, and how far from their beginning.
    #[inline]
    fn place(&self, index: u32) -> (&[Cell<u8>; READ], u32) {
        let bit = u64::from(index) * u64::from(self.width);
        let bytes = self.bytes[(bit / 8) as usize..]
            .first_chunk()
            .expect("there are eight bytes behind the last word");
        (bytes, (bit % 8) as u32)
    }

    const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }
}

#[inline]
fn read(bytes: &[Cell<u8>; READ]) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|at| bytes[at].get()))
}

impl Words for Packed {
    #[inline]
    fn load(&self, index: u32) -> u64 {
        let (bytes, shift) = self.place(index);
        read(bytes) >> shift & self.mask()
    }
}

impl WordsMut for Packed {
    #[inline]
    fn store(&self, index: u32, word: u64) {
        let (bytes, shift) = self.place(index);
        let changed = read(bytes) & !(self.mask() << shift) | word << shift;
        bytes.iter().zip(changed.to_le_bytes()).for_each(|(byte, new)| byte.set(new));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_word_keeps_what_was_stored_last(
            width in prop_oneof![1_u32..=57, Just(60), Just(64)],
            stores in prop::collection::vec((0_u32..40, any::<u64>()), 0..100),
        ) {
            let (packed, mut plain) = (Packed::new(40, width), [0; 40]);
            for (index, word) in stores {
                let word = word >> (64 - width);
                packed.store(index, word);
                plain[index as usize] = word;
            }
            prop_assert!((0..40).all(|index| packed.load(index) == plain[index as usize]));
        }
    }
}
