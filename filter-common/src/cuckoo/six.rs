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
use crate::permutation::Permutation;

/// Tags of what is exact have one length, whatever the number of buckets: so a judge shifts by a constant.
pub const TAG_BITS: u32 = Geometry::SMALLEST_SIX.buckets().ilog2();
/// In a tag: the kind. That of a longer prefix has bits of its hash above this one.
const LONGER: u64 = 0b0010;
const NET64: u64 = Kind::NET64.bits();

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

/// What is exact: a /64 or a shorter prefix. It is known by its bits in a tag, also where programs tell each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(u32);

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
    up_to_64: UpTo64,
    longer: Longer,
}

/// Homes of those up to /64.
#[derive(Clone, Copy, Debug)]
pub struct UpTo64 {
    permutation: Permutation,
    homes: Exact64,
}

/// Homes of those beyond.
#[derive(Clone, Copy, Debug)]
pub struct Longer(Exact64);

impl Kind {
    /// A /64.
    pub const NET64: Self = Self(0b0100);
    /// A shorter prefix.
    pub const SHORTER: Self = Self(0b1000);

    /// The one that was told by this number.
    #[inline(always)]
    pub const fn told(number: u32) -> Self {
        Self(number)
    }

    /// The number by which it is told.
    #[inline(always)]
    pub const fn number(self) -> u32 {
        self.0
    }

    #[inline(always)]
    const fn bits(self) -> u64 {
        self.0 as u64
    }
}

impl Six {
    /// The scheme for a table of this shape.
    pub const fn new(geometry: Geometry, key: Key) -> Self {
        Self {
            up_to_64: UpTo64::new(key, geometry.buckets()),
            longer: Longer::new(key[2], geometry.buckets(), geometry.index_bits()),
        }
    }

    const fn scheme_of(&self, home: Home) -> &Exact64 {
        if home.code & LONGER != 0 { &self.longer.0 } else { &self.up_to_64.homes }
    }
}

impl UpTo64 {
    /// Of a table of so many buckets.
    #[inline(always)]
    pub const fn new([first, second, third]: Key, buckets: u32) -> Self {
        let permutation = Permutation::new(u64::BITS, [first, second]);
        Self { permutation, homes: Exact64::new(third, buckets, TAG_BITS) }
    }

    /// How a prefix is asked for: the network half of a /64, or what [`shorter_key`] says.
    #[inline(always)]
    pub const fn shuffle(&self, key: u64) -> u64 {
        self.permutation.forward(key)
    }

    /// The homes of one of this kind that is shuffled already.
    #[inline(always)]
    pub const fn homes(&self, kind: Kind, shuffled: u64) -> [Home; 2] {
        self.homes.homes(shuffled, kind.bits())
    }

    /// What it leaves in its first home, or in its second one.
    #[inline(always)]
    pub const fn code(kind: Kind, shuffled: u64, is_first: u32) -> u64 {
        shuffled << TAG_BITS | kind.bits() | is_first as u64
    }
}

impl Longer {
    /// Of a table of so many buckets, whose index has so many whole bits; chosen by the last word of its key.
    #[inline(always)]
    pub const fn new(factor: u64, buckets: u32, index_bits: u32) -> Self {
        Self(Exact64::new(factor, buckets, index_bits))
    }

    /// The homes of a prefix.
    #[inline(always)]
    pub const fn homes(&self, key: Fingerprint) -> [Home; 2] {
        let more = (key.more as u64) >> (u32::BITS + PLAIN_BITS - self.0.tag_bits()) << PLAIN_BITS;
        self.0.homes(key.number, more | LONGER)
    }
}

/// What names one up to /64 that is shuffled already in the stash.
#[inline(always)]
pub const fn token(kind: Kind, shuffled: u64) -> Token {
    Token { kind: kind.bits(), bits: shuffled }
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
            Key6::Net64(network) => self.up_to_64.homes(Kind::NET64, self.up_to_64.shuffle(network)),
            Key6::Shorter(key) => self.up_to_64.homes(Kind::SHORTER, self.up_to_64.shuffle(key)),
            Key6::Longer(fingerprint) => self.longer.homes(fingerprint),
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
            Key6::Net64(network) => token(Kind::NET64, self.up_to_64.shuffle(network)),
            Key6::Shorter(key) => token(Kind::SHORTER, self.up_to_64.shuffle(key)),
            Key6::Longer(fingerprint) => longer_token(fingerprint.number),
        }
    }

    fn token_at(&self, home: Home) -> Token {
        let number = self.scheme_of(home).number(home);
        match home.code & (LONGER | NET64) {
            0 => token(Kind::SHORTER, number),
            NET64 => token(Kind::NET64, number),
            _ => longer_token(number),
        }
    }
}
