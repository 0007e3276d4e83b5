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

/// A number of buckets has no more bits than this between its highest and its lowest one: so there are 64 sizes from one
/// power of two to the next, and a table is at most one part in 64 larger than it must be.
const STEP_BITS: u32 = 6;

/// The part of what a table holds for which it has room beyond that, when it is made: live additions.
const ROOM: u64 = 64;

impl Geometry {
    /// A table of so many buckets of `words` words cut into `lanes`.
    pub const fn new(buckets: u32, words: u32, lanes: Lanes) -> Self {
        Self { buckets, words, lanes }
    }

    /// A table of IPv4 addresses in so many buckets. A lane holds what the index does not tell of 32 bits, and the side: the
    /// more buckets, the narrower the lanes and the more of them in a word.
    pub const fn exact4(buckets: u32) -> Self {
        let lanes = match buckets.ilog2() {
            0..=12 => Lanes::new(2, 32),
            13..=16 => Lanes::new(3, 21),
            17..=20 => Lanes::new(4, 16),
            _ => Lanes::new(5, 12),
        };
        Self::new(buckets, 1, lanes)
    }

    /// The smallest of these: 512 slots.
    pub const SMALLEST_EXACT4: Self = Self::exact4(1 << 8);

    /// The largest: 335 million slots.
    pub const LARGEST_EXACT4: Self = Self::exact4(1 << 26);

    /// All of them, the smallest first.
    pub fn all_exact4() -> impl Iterator<Item = Self> {
        all(Self::exact4, Self::SMALLEST_EXACT4, Self::LARGEST_EXACT4)
    }

    /// The smallest table of IPv4 addresses that takes `entries` within its limit, and some more where there is a larger one;
    /// none if there is no table for so many.
    pub fn exact4_for(entries: u64) -> Option<Self> {
        smallest_for(Self::all_exact4(), entries)
    }

    /// A table of IPv6 prefixes in so many buckets: each has four slots of a whole word, and is half a cache line.
    pub const fn six(buckets: u32) -> Self {
        Self::new(buckets, 4, Lanes::new(1, 64))
    }

    /// The smallest of these: 512 slots.
    pub const SMALLEST_SIX: Self = Self::six(1 << 7);

    /// The largest: 67 million slots.
    pub const LARGEST_SIX: Self = Self::six(1 << 24);

    /// All of them, the smallest first.
    pub fn all_six() -> impl Iterator<Item = Self> {
        all(Self::six, Self::SMALLEST_SIX, Self::LARGEST_SIX)
    }

    /// The same of IPv6 prefixes as [`exact4_for`](Self::exact4_for) of addresses.
    pub fn six_for(entries: u64) -> Option<Self> {
        smallest_for(Self::all_six(), entries)
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

    /// Words in the whole table. There is one more bucket: a verifier that does not know a bucket's first word by its lowest
    /// bits thinks that it may be the last one.
    pub const fn words(&self) -> u32 {
        (self.buckets + 1) * self.words
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

/// All sizes from one to the other.
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

    /// Each size, and the fewest entries for which it is made.
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

    /// With the stash; from there on it is a small part of them.
    fn bytes(geometry: Geometry) -> u64 {
        8 * (u64::from(geometry.words()) + u64::from(crate::stash::WORDS))
    }

    #[test]
    fn from_100_000_on_an_ipv6_entry_takes_nine_bytes_at_most() {
        assert_eq!(Geometry::all_six().last(), Some(Geometry::LARGEST_SIX));
        for (geometry, fewest) in sizes(Geometry::all_six(), Geometry::six_for) {
            assert!(fewest < 100_000 || bytes(geometry) <= 9 * fewest, "{geometry:?} for {fewest}");
        }
    }

    /// But for the first sizes with lanes of 16 bits, which are no smaller than they must be to have such lanes.
    #[test]
    fn from_500_000_on_an_address_takes_two_and_a_quarter_bytes_at_most() {
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
    fn a_lane_always_holds_what_the_index_leaves_of_an_address_and_its_side() {
        for geometry in Geometry::all_exact4() {
            let stretch = (1_u64 << 32).div_ceil(geometry.buckets().into());
            assert!(1 << (geometry.lanes().bits() - 1) >= stretch, "{geometry:?}");
        }
    }
}
