//! The six filters of the paper's table 3, all of the same size, and what it prints about each.

use pages::arguments::Effort;

/// A filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// Twelve bits a fingerprint, four in a bucket.
    Cuckoo,
    /// Thirteen bits, stored in twelve.
    SemiSorted,
    /// Nine probes.
    Bloom,
    /// Nine probes in one cache line.
    Blocked,
    /// Nine bits a remainder, three flags, nine slots in ten taken.
    Quotient,
    /// Twelve bits a remainder, two to count, eight cells in a bucket.
    DLeft,
}

/// What table 3 says.
#[derive(Clone, Copy, Debug)]
pub struct Printed {
    pub million_items: f64,
    pub bits_per_item: f64,
    pub percent_false: f64,
    pub million_inserts: f64,
}

impl Contender {
    pub const ALL: [Self; 6] =
        [Self::Cuckoo, Self::SemiSorted, Self::Bloom, Self::Blocked, Self::Quotient, Self::DLeft];

    /// How people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cuckoo => "cuckoo",
            Self::SemiSorted => "semi-sorted cuckoo",
            Self::Bloom => "Bloom",
            Self::Blocked => "blocked Bloom",
            Self::Quotient => "quotient",
            Self::DLeft => "d-left counting Bloom",
        }
    }

    /// Table 3 of the paper.
    pub const fn printed(self) -> Printed {
        let (million_items, bits_per_item, percent_false, million_inserts) = match self {
            Self::Cuckoo => (127.78, 12.60, 0.19, 5.00),
            Self::SemiSorted => (128.04, 12.58, 0.09, 3.13),
            Self::Bloom => (123.89, 13.00, 0.19, 3.91),
            Self::Blocked => (123.89, 13.00, 0.43, 7.64),
            Self::Quotient => (120.80, 13.33, 0.18, 1.91),
            Self::DLeft => (103.82, 15.51, 0.76, 4.78),
        };
        Printed { million_items, bits_per_item, percent_false, million_inserts }
    }
}

/// Index bits of the cuckoo filters: all the filters take 2^bits buckets of 48 bits.
pub fn index_bits(effort: Effort) -> u32 {
    effort.of(18, 21, 25)
}

/// Bits that each of the filters takes.
pub fn bits(effort: Effort) -> u64 {
    48 << index_bits(effort)
}

/// The same in MiB.
pub fn mebibytes(effort: Effort) -> f64 {
    bits(effort) as f64 / f64::from(8 << 20)
}
