//! The scheme of the IPv6 table: up to /64 exactly, every longer prefix by fingerprint, side by side.
//!
//! A slot is a word of its own. Its second lowest bit is 1 in a fingerprint, which has the other 62 bits. Where it is 0, the
//! bit above tells a /64, known by the network half of its addresses, from a shorter prefix: that is known by its own bits,
//! a one behind them, and zeros. So none of the three kinds can be mistaken for another.

use super::exact::{self, Exact};
pub use super::hashed::Fingerprint;
use super::hashed::Hashed;
use super::scheme::{Home, Scheme, Token};
use crate::hash::{self, Address6, Hash};

/// Bits of a code below the remainder of a prefix up to /64: the side, and the kind.
const BELOW: u32 = 3;
const FINGERPRINT: u64 = 0b010;
const SHORTER: u64 = 0b100;
/// The bit that is the side of a /64 has no meaning in a fingerprint; it is set in all of them.
const ODD: u64 = 0b01;

/// Stashes behind the table: one for each kind.
pub const STASHES: u32 = 3;
/// The stash of prefixes longer than /64.
pub const LONGER_STASH: u32 = 1;
/// The stash of prefixes shorter than /64.
pub const SHORTER_STASH: u32 = 2;

/// What the IPv6 table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key6 {
    /// The network half of a /64.
    Net64(u64),
    /// A shorter prefix: its bits, a one behind them, and zeros.
    Shorter(u64),
    /// A longer prefix, hashed.
    Longer(Fingerprint),
}

/// Homes of IPv6 prefixes.
#[derive(Clone, Copy, Debug)]
pub struct Six {
    exact: Exact,
    hashed: Hashed,
}

impl Six {
    /// A scheme for tables of `2^index_bits` buckets.
    #[inline(always)]
    pub const fn new(key: exact::Key, index_bits: u32) -> Self {
        Self { exact: Exact::new(64, key, index_bits, BELOW), hashed: Hashed::new(index_bits) }
    }

    /// The scheme of the /64s alone.
    #[inline(always)]
    pub const fn exact(&self) -> &Exact {
        &self.exact
    }

    /// The homes of a shorter prefix that is shuffled already.
    #[inline(always)]
    pub const fn homes_of_shorter(&self, shuffled: u64) -> [Home; 2] {
        let [first, second] = self.exact.homes_of_shuffled(shuffled);
        [shorter(first), shorter(second)]
    }

    /// The scheme of all longer prefixes alone.
    #[inline(always)]
    pub const fn hashed(&self) -> &Hashed {
        &self.hashed
    }
}

/// The key of the prefix of `length` bits at `address`, whose other bits are zero.
pub fn key(hash: &Hash, address: Address6, length: u8) -> Key6 {
    match length {
        64 => Key6::Net64(address.high),
        0..64 => Key6::Shorter(address.high | 1 << (63 - length)),
        _ => Key6::Longer(fingerprint(hash, address, length.into())),
    }
}

/// The key of the prefix of this network half whose length has this bit (`levels`): 1 for 64, 2 for 63, and so on.
#[inline(always)]
pub const fn shorter_key(network: u64, bit: u64) -> u64 {
    network & bit.wrapping_neg() | bit >> 1
}

#[inline(always)]
const fn shorter(home: Home) -> Home {
    Home { bucket: home.bucket, code: home.code | SHORTER }
}

const fn without_kind(home: Home) -> Home {
    Home { bucket: home.bucket, code: home.code & !SHORTER }
}

/// The fingerprint of the prefix of `length` bits at `address`, whose other bits are zero.
pub fn fingerprint(hash: &Hash, address: Address6, length: u64) -> Fingerprint {
    fingerprint_of(hash.parts(address, length))
}

/// The same out of the parts of the prefix's hash.
///
/// Each part is linear in the address, so the places of consecutive prefixes are evenly spaced, and under one key in seven
/// some buckets overflow long before the table is full. Multiplied by the code they are not linear any more, and rows of
/// prefixes fill a table as random ones do. The code is odd, so for any one code the product permutes the places:
/// place and code stay independent, which is what makes a false match as unlikely as 8 ÷ 2^62.
#[inline(always)]
pub const fn fingerprint_of([place, high, low]: [u64; hash::PARTS]) -> Fingerprint {
    let code = high << 32 | low | FINGERPRINT | ODD;
    Fingerprint { place: (place as u32).wrapping_mul(code as u32), code }
}

impl Scheme for Six {
    type Key = Key6;

    fn homes(&self, key: Key6) -> [Home; 2] {
        match key {
            Key6::Net64(network) => self.exact.homes(network),
            Key6::Shorter(key) => self.homes_of_shorter(self.exact.shuffle(key)),
            Key6::Longer(fingerprint) => self.hashed.homes(fingerprint),
        }
    }

    fn other(&self, home: Home) -> Home {
        match home.code & (FINGERPRINT | SHORTER) {
            0 => self.exact.other(home),
            SHORTER => shorter(self.exact.other(without_kind(home))),
            _ => self.hashed.other(home),
        }
    }

    fn is_first(&self, home: Home) -> bool {
        home.code & FINGERPRINT == 0 && self.exact.is_first(without_kind(home))
    }

    fn token(&self, key: Key6) -> Token {
        match key {
            Key6::Net64(network) => self.exact.token(network),
            Key6::Shorter(key) => Token { stash: SHORTER_STASH, ..self.exact.token(key) },
            Key6::Longer(fingerprint) => Token { stash: LONGER_STASH, bits: fingerprint.code },
        }
    }

    fn token_at(&self, home: Home) -> Token {
        match home.code & (FINGERPRINT | SHORTER) {
            0 => self.exact.token_at(home),
            SHORTER => Token { stash: SHORTER_STASH, ..self.exact.token_at(without_kind(home)) },
            _ => Token { stash: LONGER_STASH, bits: home.code },
        }
    }
}
