//! The size of a table, how its buckets are divided, and how full it may become.

use super::bucket::Lanes;

/// The shape of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    buckets: u32,
    words: u32,
    lanes: Lanes,
}

// No table takes more than 512 MiB, because the verifier lets no program access a map beyond that.

/// The most bits between the highest and the lowest set bit of a number of buckets. There are 64 sizes from
/// one power of two to the next, so a table is at most 1/64 larger than necessary.
const STEP_BITS: u32 = 6;

/// A new table has room for this fraction of its entries in addition, for live additions.
const ROOM: u64 = 64;

impl Geometry {
    /// A table of `buckets` buckets, each of `words` words divided into `lanes`.
    pub const fn new(buckets: u32, words: u32, lanes: Lanes) -> Self {
        Self { buckets, words, lanes }
    }

    /// A table of IPv4 addresses. A lane holds those of the 32 bits that the index does not determine, and
    /// the side. More buckets make narrower lanes, and more of them fit in a word.
    pub const fn exact4(buckets: u32) -> Self {
        let lanes = match buckets.ilog2() {
            0..=12 => Lanes::new(2, 32),
            13..=16 => Lanes::new(3, 21),
            17..=20 => Lanes::new(4, 16),
            _ => Lanes::new(5, 12),
        };
        Self::new(buckets, 1, lanes)
    }

    /// The smallest IPv4 table: 512 slots.
    pub const SMALLEST_EXACT4: Self = Self::exact4(1 << 8);

    /// The largest IPv4 table: 335 million slots.
    pub const LARGEST_EXACT4: Self = Self::exact4(1 << 26);

    /// All sizes of IPv4 tables, the smallest first.
    pub fn all_exact4() -> impl Iterator<Item = Self> {
        all(Self::exact4, Self::SMALLEST_EXACT4, Self::LARGEST_EXACT4)
    }

    /// The smallest table of IPv4 addresses that takes `entries` within its limit, with some spare room if a
    /// larger table exists. None if no table is large enough.
    pub fn exact4_for(entries: u64) -> Option<Self> {
        smallest_for(Self::all_exact4(), entries)
    }

    /// A table of IPv6 prefixes. Each bucket has four slots of one word, which is half a cache line.
    pub const fn six(buckets: u32) -> Self {
        Self::new(buckets, 4, Lanes::new(1, 64))
    }

    /// The smallest IPv6 table: 512 slots.
    pub const SMALLEST_SIX: Self = Self::six(1 << 7);

    /// The largest IPv6 table: 67 million slots.
    pub const LARGEST_SIX: Self = Self::six(1 << 24);

    /// All sizes of IPv6 tables, the smallest first.
    pub fn all_six() -> impl Iterator<Item = Self> {
        all(Self::six, Self::SMALLEST_SIX, Self::LARGEST_SIX)
    }

    /// The smallest table of IPv6 prefixes for `entries`, chosen as [`exact4_for`](Self::exact4_for) does.
    pub fn six_for(entries: u64) -> Option<Self> {
        smallest_for(Self::all_six(), entries)
    }

    /// The number of whole bits of a bucket's index.
    pub const fn index_bits(&self) -> u32 {
        self.buckets.ilog2()
    }

    /// The number of buckets in the table.
    pub const fn buckets(&self) -> u32 {
        self.buckets
    }

    /// The number of words in a bucket.
    pub const fn bucket_words(&self) -> u32 {
        self.words
    }

    /// How a word is divided.
    pub const fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// The number of words in the whole table. It includes one extra bucket. A verifier that does not know
    /// the lowest bits of a bucket's first word assumes that this may be the table's last word.
    pub const fn words(&self) -> u32 {
        (self.buckets + 1) * self.words
    }

    /// The number of slots in a bucket.
    pub const fn bucket_slots(&self) -> u32 {
        self.words * self.lanes.count()
    }

    /// The number of slots in the whole table.
    pub const fn slots(&self) -> u64 {
        self.buckets as u64 * self.bucket_slots() as u64
    }

    /// The most entries that the table takes before it must grow. This is below the load at which an insert
    /// was ever refused (`cargo xtask bench load` prints that load for every size).
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

/// All sizes between two sizes.
fn all(
    of: impl Fn(u32) -> Geometry,
    smallest: Geometry,
    largest: Geometry,
) -> impl Iterator<Item = Geometry> {
    let next = move |one: &Geometry| Some(of(one.buckets + (1 << (one.index_bits() - STEP_BITS))));
    let all = core::iter::successors(Some(smallest), next);
    all.take_while(move |one| one.buckets <= largest.buckets)
}

fn smallest_for(sizes: impl Iterator<Item = Geometry>, entries: u64) -> Option<Geometry> {
    let with_room = entries.saturating_add(entries / ROOM);
    let mut last = None;
    for geometry in sizes.filter(|geometry| geometry.limit() >= entries) {
        last = Some(geometry);
        if geometry.limit() >= with_room {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn the_table_is_the_smallest_that_fits() {
        assert_eq!(Geometry::exact4_for(0), Some(Geometry::SMALLEST_EXACT4));
        assert_eq!(Geometry::exact4_for(1_000_000), Some(Geometry::exact4(65 << 12)));
        assert_eq!(Geometry::exact4_for(Geometry::LARGEST_EXACT4.limit()), Some(Geometry::LARGEST_EXACT4));
        assert_eq!(Geometry::exact4_for(Geometry::LARGEST_EXACT4.limit() + 1), None);
        assert_eq!(Geometry::exact4_for(u64::MAX), None);
        assert_eq!(Geometry::six_for(0), Some(Geometry::SMALLEST_SIX));
        assert_eq!(Geometry::six_for(Geometry::LARGEST_SIX.limit()), Some(Geometry::LARGEST_SIX));
        assert_eq!(Geometry::six_for(Geometry::LARGEST_SIX.limit() + 1), None);
        assert_eq!(Geometry::six_for(u64::MAX), None);
    }

    /// Each size, and the smallest number of entries for which it is chosen.
    fn sizes(
        all: impl Iterator<Item = Geometry>,
        of: fn(u64) -> Option<Geometry>,
    ) -> impl Iterator<Item = (Geometry, u64)> {
        let all: Vec<Geometry> = all.collect();
        let fewest = move |[smaller, geometry]: &[Geometry; 2]| {
            let most = smaller.limit() - smaller.limit() / (ROOM + 1);
            let most = (1..=most).rev().find(|entries| of(*entries) == Some(*smaller));
            let fewest = most.expect("each is the right one for some") + 1;
            assert_eq!(of(fewest), Some(*geometry));
            (*geometry, fewest)
        };
        all.array_windows().map(fewest).collect::<Vec<_>>().into_iter()
    }

    /// Includes the stash, which is a small part of it from this size on.
    fn bytes(geometry: Geometry) -> u64 {
        8 * (u64::from(geometry.words()) + u64::from(crate::stash::WORDS))
    }

    #[test]
    fn ipv6_entry_takes_at_most_nine_bytes() {
        assert_eq!(Geometry::all_six().last(), Some(Geometry::LARGEST_SIX));
        for (geometry, fewest) in sizes(Geometry::all_six(), Geometry::six_for) {
            assert!(fewest < 100_000 || bytes(geometry) <= 9 * fewest, "{geometry:?} for {fewest}");
        }
    }

    /// Excludes the first sizes with lanes of 16 bits, which are larger than necessary because such lanes
    /// need them.
    #[test]
    fn address_takes_at_most_2_25_bytes() {
        assert_eq!(Geometry::all_exact4().last(), Some(Geometry::LARGEST_EXACT4));
        for (geometry, fewest) in sizes(Geometry::all_exact4(), Geometry::exact4_for) {
            let hundredths = match fewest {
                0..90_000 => continue,
                90_000..500_000 => 340,
                _ => 225,
            };
            assert!(100 * bytes(geometry) <= hundredths * fewest, "{geometry:?} for {fewest}");
        }
    }

    #[test]
    fn lane_holds_remaining_address_bits_and_side() {
        for geometry in Geometry::all_exact4() {
            let stretch = (1_u64 << 32).div_ceil(geometry.buckets().into());
            assert!(1 << (geometry.lanes().bits() - 1) >= stretch, "{geometry:?}");
        }
    }
}
