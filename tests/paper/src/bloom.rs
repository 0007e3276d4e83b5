//! The Bloom filter: a member sets some bits anywhere (Bloom 1970).

use crate::hash::{below, hash};
use crate::{Filter, Full};

/// Bits, of which each member sets `probes`.
#[derive(Clone, Debug)]
pub struct Bloom {
    words: Vec<u64>,
    probes: u32,
}

impl Bloom {
    /// An empty filter of this many bits, rounded up to words.
    pub fn new(bits: u64, probes: u32) -> Self {
        Self { words: vec![0; bits.div_ceil(64) as usize], probes }
    }

    /// Two hashes make as many as one likes (Kirsch and Mitzenmacher, "Less hashing, same performance", 2006).
    #[inline]
    fn places(&self, key: u64) -> impl Iterator<Item = (usize, u64)> + use<> {
        let (first, step, bits) = (hash(key), hash(!key) | 1, self.bits());
        (0..u64::from(self.probes)).map(move |probe| {
            let bit = below(first.wrapping_add(probe.wrapping_mul(step)), bits);
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }
}

impl Filter for Bloom {
    fn insert(&mut self, key: u64) -> Result<(), Full> {
        for (word, bit) in self.places(key) {
            self.words[word] |= bit;
        }
        Ok(())
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.places(key).all(|(word, bit)| self.words[word] & bit != 0)
    }

    fn bits(&self) -> u64 {
        self.words.len() as u64 * 64
    }
}
