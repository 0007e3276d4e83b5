//! The scheme of the IPv6 table: prefixes up to /64 exactly, longer ones by fingerprint, in one table.
//!
//! Each slot is one word. A code determines the network half of a /64. It determines a shorter prefix by the
//! prefix's own bits, a one after them, and zeros. A longer prefix has 64 hashed bits, and more of them as
//! far as the code has room. Bits of the tag tell these three kinds apart, so no kind is confused with
//! another, and no code is zero.

use super::exact::Key;
use super::exact64::{Exact64, FIRST};
use super::geometry::Geometry;
use super::scheme::{Home, Scheme, Token};
use crate::hash::{self, Address6, Hash};
use crate::permutation::Permutation;

/// The tags of exact prefixes have the same length for any number of buckets, so a judge shifts by a
/// constant.
pub const TAG_BITS: u32 = Geometry::SMALLEST_SIX.buckets().ilog2();
/// The kind in a tag. A longer prefix has bits of its hash above this bit.
const LONGER: u64 = 0b0010;
const NET64: u64 = Kind::NET64.bits();

/// The lowest bits of a longer prefix's tag, which hold no hash bits: the side and the kind.
const PLAIN_BITS: u32 = 2;

/// An entry of the IPv6 table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key6 {
    /// The network half of a /64.
    Net64(u64),
    /// A shorter prefix: its bits, a one after them, and zeros.
    Shorter(u64),
    /// The hash of a longer prefix.
    Longer(Fingerprint),
}

/// The kind of an exact prefix: a /64 or a shorter one. The same bits identify it in a tag and when program
/// functions pass it to one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(u32);

/// The hash of a longer prefix, as the table stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// The bits that a home determines.
    pub number: u64,
    /// Further bits, of which the tag holds as many as it has room for. More buckets leave more room, so more
    /// bits distinguish prefixes.
    pub more: u32,
}

/// The homes of IPv6 prefixes.
#[derive(Clone, Copy, Debug)]
pub struct Six {
    up_to_64: UpTo64,
    longer: Longer,
}

/// The homes of prefixes up to /64.
#[derive(Clone, Copy, Debug)]
pub struct UpTo64 {
    permutation: Permutation,
    homes: Exact64,
}

/// The homes of prefixes longer than /64.
#[derive(Clone, Copy, Debug)]
pub struct Longer(Exact64);

impl Kind {
    /// The kind of a /64.
    pub const NET64: Self = Self(0b0100);
    /// The kind of a shorter prefix.
    pub const SHORTER: Self = Self(0b1000);

    /// Makes a kind from the number that another function passed.
    #[inline(always)]
    pub const fn told(number: u32) -> Self {
        Self(number)
    }

    /// The number by which functions pass this kind.
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
    /// The scheme for a table of this geometry.
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
    /// The scheme for a table of this many buckets.
    #[inline(always)]
    pub const fn new([first, second, third]: Key, buckets: u32) -> Self {
        let permutation = Permutation::new(u64::BITS, [first, second]);
        Self { permutation, homes: Exact64::new(third, buckets, TAG_BITS) }
    }

    /// Shuffles a key before a lookup: the network half of a /64, or the result of [`shorter_key`].
    #[inline(always)]
    pub const fn shuffle(&self, key: u64) -> u64 {
        self.permutation.forward(key)
    }

    /// The homes of a shuffled key of this kind.
    #[inline(always)]
    pub const fn homes(&self, kind: Kind, shuffled: u64) -> [Home; 2] {
        self.homes.homes(shuffled, kind.bits())
    }

    /// The code in the first home of a shuffled key (`is_first` is 1), or in its second home.
    #[inline(always)]
    pub const fn code(kind: Kind, shuffled: u64, is_first: u32) -> u64 {
        shuffled << TAG_BITS | kind.bits() | is_first as u64
    }
}

impl Longer {
    /// The scheme for a table of `buckets` buckets, whose index has `index_bits` whole bits. The factor is
    /// the last word of the table's key.
    #[inline(always)]
    pub const fn new(factor: u64, buckets: u32, index_bits: u32) -> Self {
        Self(Exact64::new(factor, buckets, index_bits))
    }

    /// The homes of a longer prefix.
    #[inline(always)]
    pub const fn homes(&self, key: Fingerprint) -> [Home; 2] {
        let more = (key.more as u64) >> (u32::BITS + PLAIN_BITS - self.0.tag_bits()) << PLAIN_BITS;
        self.0.homes(key.number, more | LONGER)
    }
}

/// The stash token of a shuffled prefix up to /64.
#[inline(always)]
pub const fn token(kind: Kind, shuffled: u64) -> Token {
    Token { kind: kind.bits(), bits: shuffled }
}

/// The stash token of a longer prefix.
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

/// The key of the prefix of this network half whose length has this bit (`levels`): 1 for 64, 2 for 63, and
/// so on.
#[inline(always)]
pub const fn shorter_key(network: u64, bit: u64) -> u64 {
    network & bit.wrapping_neg() | bit >> 1
}

/// The fingerprint of a prefix, from the parts of its hash.
///
/// Each part is linear in the address, so the places of consecutive prefixes would be evenly spaced. Under
/// one key in seven some buckets would then overflow long before the table is full. The product of two parts
/// is not linear, and consecutive prefixes fill a table as random ones do. One factor is odd, so for any
/// fixed value of it the product permutes the numbers. Number and factor therefore stay independent, which
/// keeps a false match as unlikely as 8 ÷ 2^62.
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
