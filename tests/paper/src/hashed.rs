//! The scheme of Fan et al. (CoNEXT 2014): a fingerprint stands in bucket i or in i xor hash(fingerprint).
//!
//! Unlike the exact scheme it can mistake one key for another, with a chance of slots ÷ 2^fingerprint bits a
//! lookup, and it stores equal fingerprints as often as they are inserted.

use filter_common::cuckoo::scheme::{Home, ONE_KIND, Scheme, Token};
use filter_common::width::Width;

/// Homes of keys that are known by a fingerprint.
#[derive(Clone, Copy, Debug)]
pub struct Hashed {
    index_bits: u32,
}

/// A key as this scheme knows it: where to begin and what to look for. The code is never zero.
///
/// The place has bits of its own, which the table does not store: where an entry stands tells only those that the index
/// takes. So a table cannot be made larger from itself. It could if the place followed from the code, but then only
/// the code would tell keys apart, and a lookup among n entries would be wrong with a chance of n ÷ 2^fingerprint bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// 32 hashed bits, of which the table takes the highest for its index.
    pub place: u32,
    /// The fingerprint as it is stored.
    pub code: u64,
}

impl Hashed {
    /// A scheme for tables of `2^index_bits` buckets.
    #[inline(always)]
    pub const fn new(index_bits: u32) -> Self {
        Self { index_bits }
    }

    /// The two homes of `key`.
    #[inline(always)]
    pub const fn homes_of(&self, key: Fingerprint) -> [Home; 2] {
        let first = Home { bucket: key.place >> (32 - self.index_bits), code: key.code };
        [first, self.across(first)]
    }

    #[inline(always)]
    const fn distance(&self, code: u64) -> u32 {
        let width = Width::new(64);
        (width.spread(code) >> (64 - self.index_bits)) as u32
    }

    #[inline(always)]
    const fn across(&self, home: Home) -> Home {
        Home { bucket: home.bucket ^ self.distance(home.code), code: home.code }
    }
}

impl Scheme for Hashed {
    type Key = Fingerprint;

    #[inline(always)]
    fn homes(&self, key: Fingerprint) -> [Home; 2] {
        self.homes_of(key)
    }

    fn other(&self, home: Home) -> Home {
        self.across(home)
    }

    /// A fingerprint does not tell.
    fn is_first(&self, _home: Home) -> bool {
        false
    }

    fn token(&self, key: Fingerprint) -> Token {
        Token { kind: ONE_KIND, bits: key.code }
    }

    fn token_at(&self, home: Home) -> Token {
        Token { kind: ONE_KIND, bits: home.code }
    }
}
