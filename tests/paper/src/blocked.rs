//! The blocked Bloom filter: all bits of a member lie in one cache line (Putze, Sanders, Singler, WEA 2007).

use crate::hash::{below, hash};
use crate::{Filter, Full};

/// Cache lines, in one of which each member sets `probes` bits.
#[derive(Clone, Debug)]
pub struct Blocked {
    blocks: Vec<Block>,
    probes: u32,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Block([u64; 8]);

const BLOCK_BITS: u64 = 512;

impl Blocked {
    /// An empty filter of this many bits, rounded up to blocks.
    pub fn new(bits: u64, probes: u32) -> Self {
        Self { blocks: vec![Block::default(); bits.div_ceil(BLOCK_BITS) as usize], probes }
    }

    #[inline]
    fn block(&self, hash: u64) -> usize {
        below(hash, self.blocks.len() as u64) as usize
    }

    /// Nine bits of a second hash for each of the first seven probes, then of a third.
    #[inline]
    fn places(&self, key: u64) -> impl Iterator<Item = (usize, u64)> + use<> {
        const PROBES: u32 = u64::BITS / BLOCK_BITS.ilog2();
        let hashes = [hash(!key), hash(key.wrapping_add(0xA076_1D64_78BD_642F))];
        (0..self.probes).map(move |probe| {
            let hash = hashes[(probe / PROBES) as usize % 2];
            let bit = hash >> (probe % PROBES * BLOCK_BITS.ilog2()) & (BLOCK_BITS - 1);
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }
}

impl Filter for Blocked {
    fn insert(&mut self, key: u64) -> Result<(), Full> {
        let block = self.block(hash(key));
        for (word, bit) in self.places(key) {
            self.blocks[block].0[word] |= bit;
        }
        Ok(())
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        let block = &self.blocks[self.block(hash(key))].0;
        self.places(key).all(|(word, bit)| block[word] & bit != 0)
    }

    fn bits(&self) -> u64 {
        self.blocks.len() as u64 * BLOCK_BITS
    }
}
