//! The scheme of the IPv6 table: up to /64 exactly, every longer prefix by fingerprint, side by side.
//!
//! A slot is a word of its own. Of a /64 the network half of its addresses is spelled, of a shorter prefix its own bits, a one
//! behind them, and zeros; of a longer one 64 hashed bits, and what the code still has room for. Bits of the tag tell these
//! three kinds apart, so none can be mistaken for another, and no code is zero.

use super::exact::Key;
use super::exact64::{Exact64, FIRST};
use super::geometry::Geometry;
use super::scheme::{Home, Scheme, Token};
use crate::hash::{self, Address6, Hash};

/// Tags of what is exact have one length, whatever the number of buckets.
const TAG_BITS: u32 = Geometry::SMALLEST_SIX.buckets().ilog2();
/// In a tag: the kind. That of a longer prefix has bits of its hash above this one.
const LONGER: u64 = 0b0010;
const NET64: u64 = 0b0100;
const SHORTER: u64 = 0b1000;

/// The lowest bits of a longer prefix's tag, which have no bit of its hash: the side and the kind.
const PLAIN_BITS: u32 = 2;

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

/// A longer prefix as the table knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// The bits that a home spells.
    pub number: u64,
    /// More of them, of which the tag has as many as it has room for: so the number spelled and these tell prefixes apart by
    /// more bits, the more buckets there are.
    pub more: u32,
}

/// Homes of IPv6 prefixes.
#[derive(Clone, Copy, Debug)]
pub struct Six {
    exact: Exact64,
    longer: Exact64,
}

impl Six {
    /// A scheme for tables of so many buckets, which is a number of so many bits and one.
    #[inline(always)]
    pub const fn new(key: Key, buckets: u32, index_bits: u32) -> Self {
        Self { exact: Exact64::new(key, buckets, TAG_BITS), longer: Exact64::new(key, buckets, index_bits) }
    }

    /// The scheme for a table of this shape.
    pub const fn within(geometry: Geometry, key: Key) -> Self {
        Self::new(key, geometry.buckets(), geometry.index_bits())
    }

    /// How a prefix up to /64 is asked for, given the network half of a /64, or what [`shorter_key`] says.
    #[inline(always)]
    pub const fn shuffle(&self, key: u64) -> u64 {
        self.exact.shuffle(key)
    }

    /// The homes of a /64 that is shuffled already.
    #[inline(always)]
    pub const fn homes_of_net64(&self, shuffled: u64) -> [Home; 2] {
        self.exact.homes(shuffled, NET64)
    }

    /// The homes of a shorter prefix that is shuffled already.
    #[inline(always)]
    pub const fn homes_of_shorter(&self, shuffled: u64) -> [Home; 2] {
        self.exact.homes(shuffled, SHORTER)
    }

    /// The homes of a longer prefix.
    #[inline(always)]
    pub const fn homes_of_longer(&self, key: Fingerprint) -> [Home; 2] {
        let more = (key.more as u64) >> (u32::BITS + PLAIN_BITS - self.longer.tag_bits()) << PLAIN_BITS;
        self.longer.homes(key.number, more | LONGER)
    }

    const fn scheme_of(&self, home: Home) -> &Exact64 {
        if home.code & LONGER != 0 { &self.longer } else { &self.exact }
    }
}

/// What names a /64 that is shuffled already in the stash.
#[inline(always)]
pub const fn net64_token(shuffled: u64) -> Token {
    Token { kind: NET64, bits: shuffled }
}

/// What names a shorter prefix that is shuffled already in the stash.
#[inline(always)]
pub const fn shorter_token(shuffled: u64) -> Token {
    Token { kind: SHORTER, bits: shuffled }
}

/// What names a longer prefix in the stash.
#[inline(always)]
pub const fn longer_token(number: u64) -> Token {
    Token { kind: LONGER, bits: number }
}

/// The key of the prefix of `length` bits at `address`, whose other bits are zero.
pub fn key(hash: &Hash, address: Address6, length: u8) -> Key6 {
    match length {
        64 => Key6::Net64(address.high),
        0..64 => Key6::Shorter(address.high | 1 << (63 - length)),
        _ => Key6::Longer(fingerprint(hash.parts(address, length.into()))),
    }
}

/// The key of the prefix of this network half whose length has this bit (`levels`): 1 for 64, 2 for 63, and so on.
#[inline(always)]
pub const fn shorter_key(network: u64, bit: u64) -> u64 {
    network & bit.wrapping_neg() | bit >> 1
}

/// The fingerprint of a prefix, out of the parts of its hash.
///
/// Each part is linear in the address, so the places of consecutive prefixes would be evenly spaced, and under one key in
/// seven some buckets overflow long before the table is full. The product of two parts is not linear any more, and rows of
/// prefixes fill a table as random ones do. One factor of it is odd, so for any one such factor the product permutes the
/// numbers: number and factor stay independent, which is what makes a false match as unlikely as 8 ÷ 2^62.
#[inline(always)]
pub const fn fingerprint([more, high, low]: [u64; hash::PARTS]) -> Fingerprint {
    Fingerprint { number: (high << 32 | low).wrapping_mul(more << 1 | 1), more: more as u32 }
}

impl Scheme for Six {
    type Key = Key6;

    fn homes(&self, key: Key6) -> [Home; 2] {
        match key {
            Key6::Net64(network) => self.homes_of_net64(self.shuffle(network)),
            Key6::Shorter(key) => self.homes_of_shorter(self.shuffle(key)),
            Key6::Longer(fingerprint) => self.homes_of_longer(fingerprint),
        }
    }

    fn other(&self, home: Home) -> Home {
        self.scheme_of(home).other(home)
    }

    fn is_first(&self, home: Home) -> bool {
        home.code & FIRST != 0
    }

    fn token(&self, key: Key6) -> Token {
        match key {
            Key6::Net64(network) => net64_token(self.shuffle(network)),
            Key6::Shorter(key) => shorter_token(self.shuffle(key)),
            Key6::Longer(fingerprint) => longer_token(fingerprint.number),
        }
    }

    fn token_at(&self, home: Home) -> Token {
        let number = self.scheme_of(home).number(home);
        match home.code & (LONGER | NET64) {
            0 => shorter_token(number),
            NET64 => net64_token(number),
            _ => longer_token(number),
        }
    }
}
