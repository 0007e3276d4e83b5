//! The scheme of the IPv6 table: whole /64s exactly, every other length by fingerprint, side by side.
//!
//! A slot is a word of its own. Its second lowest bit tells the kinds apart, so that they cannot be mistaken for
//! each other: 0 an exact code of the network half, 1 a fingerprint of 62 bits.

use super::exact::{self, Exact};
pub use super::hashed::Fingerprint;
use super::hashed::Hashed;
use super::scheme::{Home, Scheme, Token};
use crate::hash::{self, Address6, Hash};

/// Bits of a code below the remainder of a /64: the side, and the kind.
const BELOW: u32 = 2;
const FINGERPRINT: u64 = 0b10;
/// The bit that is the side of a /64 has no meaning in a fingerprint; it is set in all of them.
const ODD: u64 = 0b01;

/// Stashes behind the table: one for each kind.
pub const STASHES: u32 = 2;
/// The stash of all lengths but 64.
pub const OTHER_STASH: u32 = 1;

/// What the IPv6 table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key6 {
    /// The network half of a /64.
    Net64(u64),
    /// A prefix of any other length, hashed.
    Other(Fingerprint),
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

    /// The network half that stands in `home`; none if that is a fingerprint.
    pub const fn net64(&self, home: Home) -> Option<u64> {
        if home.code & FINGERPRINT != 0 { None } else { Some(self.exact.key(home)) }
    }

    /// The scheme of the /64s alone.
    #[inline(always)]
    pub const fn exact(&self) -> &Exact {
        &self.exact
    }

    /// The scheme of all other lengths alone.
    #[inline(always)]
    pub const fn hashed(&self) -> &Hashed {
        &self.hashed
    }
}

/// The key of the prefix of `length` bits at `address`, whose other bits are zero.
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
            Key6::Other(fingerprint) => self.hashed.homes(fingerprint),
        }
    }

    fn other(&self, home: Home) -> Home {
        if home.code & FINGERPRINT != 0 { self.hashed.other(home) } else { self.exact.other(home) }
    }

    fn is_first(&self, home: Home) -> bool {
        home.code & FINGERPRINT == 0 && self.exact.is_first(home)
    }

    fn token(&self, key: Key6) -> Token {
        match key {
            Key6::Net64(network) => self.exact.token(network),
            Key6::Other(fingerprint) => Token { stash: OTHER_STASH, bits: fingerprint.code },
        }
    }

    fn token_at(&self, home: Home) -> Token {
        match home.code & FINGERPRINT {
            0 => self.exact.token_at(home),
            _ => Token { stash: OTHER_STASH, bits: home.code },
        }
    }
}
