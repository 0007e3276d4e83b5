//! A keyed hash of IPv6 prefixes: pair-multiply-shift, three times 32 bits.
//!
//! Strongly universal (Thorup, "High speed hashing for integers and strings", section 3.5): for any two different
//! prefixes the chance, over keys, of 32 equal bits is 2⁻³². It needs no 128-bit multiplication, which BPF lacks.

/// Key words that one hash takes.
pub const KEY_WORDS: usize = 3 * PART;
const PART: usize = 6;

/// An IPv6 address as the program handles it, in two words of host order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address6 {
    /// The network half.
    pub high: u64,
    /// The interface half.
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

/// The hash functions that one key chooses.
#[derive(Clone, Copy, Debug)]
pub struct Hash {
    key: [u64; KEY_WORDS],
}

impl Hash {
    /// The hash of `key`.
    #[inline(always)]
    pub const fn new(key: [u64; KEY_WORDS]) -> Self {
        Self { key }
    }

    /// Where to begin: 32 bits of which a table takes the highest.
    #[inline(always)]
    pub const fn place(&self, address: Address6, length: u64) -> u64 {
        self.part(0, address, length)
    }

    /// What to look for there: 64 bits independent of the place.
    #[inline(always)]
    pub const fn fingerprint(&self, address: Address6, length: u64) -> u64 {
        self.part(PART, address, length) << 32 | self.part(2 * PART, address, length)
    }

    #[inline(always)]
    const fn part(&self, at: usize, address: Address6, length: u64) -> u64 {
        let network = self.pair(at, address.high);
        let host = self.pair(at + 2, address.low);
        let length = self.key[at + 4].wrapping_mul(length).wrapping_add(self.key[at + 5]);
        network.wrapping_add(host).wrapping_add(length) >> 32
    }

    #[inline(always)]
    const fn pair(&self, at: usize, word: u64) -> u64 {
        self.key[at].wrapping_add(word & 0xFFFF_FFFF).wrapping_mul(self.key[at + 1].wrapping_add(word >> 32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn prefixes_that_differ_in_one_bit_or_in_length_do_not_meet() {
        let hash = Hash::new(crate::cuckoo::tests::key(1));
        let mut seen = HashSet::new();
        for length in 0..=128 {
            for bit in 0..128 {
                let address = Address6::from(0x2001_0db8_u128 << 96 ^ 1 << bit);
                assert!(seen.insert(hash.fingerprint(address, length)), "bit {bit}, length {length}");
            }
        }
    }
}
