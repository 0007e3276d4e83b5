//! One hash for all filters, so that none is faster for another's sake, and numbers that look random.

/// 64 bits out of 64: the finaliser of SplitMix64 (Steele, Lea, Flood 2014), a permutation.
#[inline]
pub const fn hash(key: u64) -> u64 {
    let mixed = (key ^ key >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

/// The key of this number. Different numbers have different keys, which look random.
#[inline]
pub const fn key(number: u64) -> u64 {
    hash(number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// A number below `limit`, as evenly as `hash` is random in its upper bits (Lemire, "Fast random integer generation
/// in an interval", 2019).
#[inline]
pub const fn below(hash: u64, limit: u64) -> u64 {
    ((hash as u128 * limit as u128) >> 64) as u64
}

/// Random choices, the same in every run.
#[derive(Clone, Debug, Default)]
pub struct Choices(u64);

impl Choices {
    /// Chooses a number below `limit`.
    pub const fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_add(1);
        below(key(self.0), limit as u64) as u32
    }
}
