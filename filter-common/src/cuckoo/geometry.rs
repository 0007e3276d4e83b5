//! How large a table is, how its buckets are cut, and how full it may become.

use super::bucket::Lanes;

/// The shape of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    buckets: u32,
    words: u32,
    lanes: Lanes,
}

// No table takes more than 512 MiB: the verifier lets no program reach further into a map.

/// Index bits of the smallest and the largest table of IPv4 addresses: 512 slots and 335 million.
pub const EXACT4_BITS: core::ops::RangeInclusive<u32> = 8..=26;

/// A number of buckets for IPv6 has no more bits than this between its highest and its lowest one: so there are 64 sizes
/// from one power of two to the next, and a table is at most one part in 64 larger than it must be.
const STEP_BITS: u32 = 6;

/// The part of what a table of IPv6 prefixes holds for which it has room beyond that, when it is made: live additions.
const ROOM: u64 = 64;

impl Geometry {
    /// A table of `2^index_bits` buckets of `words` words cut into `lanes`.
    pub const fn new(index_bits: u32, words: u32, lanes: Lanes) -> Self {
        Self { buckets: 1 << index_bits, words, lanes }
    }

    /// A table of IPv4 addresses. A lane holds the 32 bits less the index, and the side: the more buckets, the
    /// narrower the lanes and the more of them in a word.
    pub const fn exact4(index_bits: u32) -> Self {
        let lanes = match index_bits {
            0..=12 => Lanes::new(2, 32),
            13..=16 => Lanes::new(3, 21),
            17..=20 => Lanes::new(4, 16),
            _ => Lanes::new(5, 12),
        };
        Self::new(index_bits, 1, lanes)
    }

    /// A table of IPv6 prefixes in so many buckets: each has four slots of a whole word, and is half a cache line.
    pub const fn six(buckets: u32) -> Self {
        Self { buckets, words: 4, lanes: Lanes::new(1, 64) }
    }

    /// The smallest of these: 512 slots.
    pub const SMALLEST_SIX: Self = Self::six(1 << 7);

    /// The largest: 67 million slots.
    pub const LARGEST_SIX: Self = Self::six(1 << 24);

    /// All of them, the smallest first.
    pub fn all_six() -> impl Iterator<Item = Self> {
        let next = |one: &Self| Some(Self::six(one.buckets + (1 << (one.index_bits() - STEP_BITS))));
        let all = core::iter::successors(Some(Self::SMALLEST_SIX), next);
        all.take_while(|one| one.buckets <= Self::LARGEST_SIX.buckets)
    }

    /// The smallest table of IPv4 addresses that takes `entries` within its limit; none if there is no such table.
    pub fn exact4_for(entries: u64) -> Option<Self> {
        EXACT4_BITS.map(Self::exact4).find(|geometry| geometry.limit() >= entries)
    }

    /// The smallest table of IPv6 prefixes that takes `entries` within its limit, and some more where there is a larger one;
    /// none if there is no table for so many.
    pub fn six_for(entries: u64) -> Option<Self> {
        let all = || Self::all_six().filter(|geometry| geometry.limit() >= entries);
        let with_room = entries.saturating_add(entries / ROOM);
        all().find(|geometry| geometry.limit() >= with_room).or_else(|| all().last())
    }

    /// Whole bits of a bucket's index.
    pub const fn index_bits(&self) -> u32 {
        self.buckets.ilog2()
    }

    /// How many buckets.
    pub const fn buckets(&self) -> u32 {
        self.buckets
    }

    /// Words in a bucket.
    pub const fn bucket_words(&self) -> u32 {
        self.words
    }

    /// How a word is cut.
    pub const fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// Words in the whole table. Where a bucket has several, one more bucket: a verifier that does not know a bucket's first
    /// word by its lowest bits thinks that it may be the last one.
    pub const fn words(&self) -> u32 {
        match self.words {
            1 => self.buckets,
            several => (self.buckets + 1) * several,
        }
    }

    /// Slots in a bucket.
    pub const fn bucket_slots(&self) -> u32 {
        self.words * self.lanes.count()
    }

    /// Slots in the whole table.
    pub const fn slots(&self) -> u64 {
        self.buckets as u64 * self.bucket_slots() as u64
    }

    /// How many entries it takes before it must grow. Kept below the load at which the first insert was ever
    /// refused (`cargo xtask bench load` prints it for every size).
    pub const fn limit(&self) -> u64 {
        self.slots() * self.permille() / 1000
    }

    const fn permille(&self) -> u64 {
        match self.bucket_slots() {
            0..=2 => 800,
            3 => 910,
            4 => 955,
            _ => 965,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_smallest_that_fits() {
        assert_eq!(Geometry::exact4_for(0), Some(Geometry::exact4(8)));
        assert_eq!(Geometry::exact4_for(1_000_000), Some(Geometry::exact4(18)));
        assert_eq!(Geometry::exact4_for(10_000_000), Some(Geometry::exact4(21)));
        assert_eq!(Geometry::exact4_for(u64::MAX), None);
        assert_eq!(Geometry::six_for(0), Some(Geometry::SMALLEST_SIX));
        assert_eq!(Geometry::six_for(Geometry::LARGEST_SIX.limit()), Some(Geometry::LARGEST_SIX));
        assert_eq!(Geometry::six_for(Geometry::LARGEST_SIX.limit() + 1), None);
        assert_eq!(Geometry::six_for(u64::MAX), None);
    }

    /// With the stash; from there on it is a small part of them.
    #[test]
    fn from_100_000_on_an_ipv6_entry_takes_nine_bytes_at_most() {
        let geometries: std::vec::Vec<Geometry> = Geometry::all_six().collect();
        assert_eq!(geometries.last(), Some(&Geometry::LARGEST_SIX));
        for [smaller, geometry] in geometries.array_windows() {
            let most = smaller.limit() - smaller.limit() / (ROOM + 1);
            let most = (1..=most).rev().find(|entries| Geometry::six_for(*entries) == Some(*smaller));
            let fewest = most.expect("each is the right one for some") + 1;
            assert_eq!(Geometry::six_for(fewest), Some(*geometry));
            let bytes = 8 * (u64::from(geometry.words()) + u64::from(crate::stash::WORDS));
            assert!(fewest < 100_000 || bytes <= 9 * fewest, "{bytes} bytes for {fewest}");
        }
    }

    #[test]
    fn a_lane_always_holds_what_the_index_leaves_of_an_address_and_its_side() {
        for bits in EXACT4_BITS {
            assert!(Geometry::exact4(bits).lanes().bits() > 32 - bits, "{bits} index bits");
        }
    }
}
