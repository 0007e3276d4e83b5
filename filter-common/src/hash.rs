//! A keyed hash of IPv6 prefixes: pair-multiply-shift, three parts of 32 bits.
//!
//! The hash is strongly universal (Thorup, "High speed hashing for integers and strings", section 3.5). For
//! any two different prefixes, 32 bits are equal with a chance of 2⁻³² over all keys. It needs no 128-bit
//! multiplication, which BPF lacks.
//!
//! Each part is a sum of the products of an address's halves with the key's pairs, and of a salt for the
//! length. The salts depend on the length alone, so the loader of the judge computes them once instead of
//! once for each packet.

/// The number of parts in a hash.
pub const PARTS: usize = 3;
/// The key words that a part takes for the address.
pub const PAIR_WORDS: usize = 4;
/// The key words that a part takes for the length.
const SALT_WORDS: usize = 2;
/// The key words that a whole hash takes.
pub const KEY_WORDS: usize = PARTS * (PAIR_WORDS + SALT_WORDS);

/// The factors of a part for an address.
pub type Pairs = [u64; PAIR_WORDS];

/// The values that the parts add for one length.
pub type Salts = [u64; PARTS];

/// An IPv6 address as the program handles it: two words in host byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address6 {
    /// The network half of the address.
    pub high: u64,
    /// The interface half of the address.
    pub low: u64,
}

impl From<u128> for Address6 {
    fn from(address: u128) -> Self {
        Self { high: (address >> 64) as u64, low: address as u64 }
    }
}

impl Address6 {
    /// The bits of this address that `mask` keeps.
    #[inline(always)]
    pub const fn masked(self, mask: Self) -> Self {
        Self { high: self.high & mask.high, low: self.low & mask.low }
    }
}

/// The hash functions that one key selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash {
    pairs: [Pairs; PARTS],
    salts: [[u64; SALT_WORDS]; PARTS],
}

impl Hash {
    /// The hash functions of `key`.
    pub fn new(key: [u64; KEY_WORDS]) -> Self {
        let (parts, _) = key.as_chunks::<{ PAIR_WORDS + SALT_WORDS }>();
        let word = |part: usize, at: usize| parts[part][at];
        Self {
            pairs: core::array::from_fn(|part| core::array::from_fn(|at| word(part, at))),
            salts: core::array::from_fn(|part| core::array::from_fn(|at| word(part, PAIR_WORDS + at))),
        }
    }

    /// The factors, which are the same for all lengths.
    pub const fn pairs(&self) -> [Pairs; PARTS] {
        self.pairs
    }

    /// The values that are added for prefixes of this length.
    pub fn salts(&self, length: u64) -> Salts {
        self.salts.map(|[factor, addend]| factor.wrapping_mul(length).wrapping_add(addend))
    }

    /// All parts of the hash of the prefix of `length` bits at `address`, whose other bits are zero.
    pub fn parts(&self, address: Address6, length: u64) -> [u64; PARTS] {
        let salts = self.salts(length);
        core::array::from_fn(|number| part(self.pairs[number], salts[number], address))
    }
}

/// One part of the hash of `address`: 32 bits.
#[inline(always)]
pub const fn part(pairs: Pairs, salt: u64, address: Address6) -> u64 {
    let [first, second, third, fourth] = pairs;
    let network = product(first, second, address.high);
    let host = product(third, fourth, address.low);
    network.wrapping_add(host).wrapping_add(salt) >> 32
}

#[inline(always)]
const fn product(first: u64, second: u64, word: u64) -> u64 {
    first.wrapping_add(word & 0xFFFF_FFFF).wrapping_mul(second.wrapping_add(word >> 32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn different_prefixes_have_different_hashes() {
        let hash = Hash::new(crate::cuckoo::tests::key(1));
        let mut seen = HashSet::new();
        for length in 0..=128 {
            for bit in 0..128 {
                let address = Address6::from(0x2001_0db8_u128 << 96 ^ 1 << bit);
                assert!(seen.insert(hash.parts(address, length)), "bit {bit}, length {length}");
            }
        }
    }
}
