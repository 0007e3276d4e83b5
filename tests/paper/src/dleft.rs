//! The d-left counting Bloom filter: four tables, and a pending entry goes where the fewest are.
//!
//! Bonomi, Mitzenmacher, Panigrahy, Singh, Varghese, "An Improved Construction for Counting Bloom Filters" (ESA 2006).
//! A member is one fingerprint, and a permutation for each table cuts it into bucket and remainder: so two fingerprints
//! that meet in one table part in the others, and a removal cannot take the wrong one.

use filter_common::{Words, WordsMut};

use crate::hash::{below, hash};
use crate::packed::Packed;
use crate::{Filter, Forget, Full};

/// Four tables of buckets of eight cells: a remainder of `remainder` bits, and how many members look like it.
#[derive(Clone, Debug)]
pub struct DLeft {
    cells: Packed,
    /// In each of the tables.
    buckets: u64,
    remainder: u32,
}

const TABLES: u64 = 4;
/// Cells in a bucket.
const HEIGHT: u32 = 8;
const COUNT_BITS: u32 = 2;
const MOST: u64 = (1 << COUNT_BITS) - 1;

/// Multiplying by one of them, modulo the number of fingerprints, is a permutation: they are primes above any number
/// of buckets, and below 2^30, so that a product with less than [`FINGERPRINTS`] fits into a word.
const FACTORS: [u64; TABLES as usize] = [433_494_437, 479_001_599, 998_244_353, 1_000_000_007];

/// There are fewer different fingerprints than this.
const FINGERPRINTS: u64 = 1 << 34;

/// Where a member may stand: the first cell of a bucket, and the remainder it has there.
#[derive(Clone, Copy)]
struct Place {
    first: u32,
    remainder: u64,
}

impl DLeft {
    /// An empty filter of about this many bits.
    pub fn new(bits: u64, remainder: u32) -> Self {
        let bucket = u64::from(HEIGHT * (remainder + COUNT_BITS));
        let buckets = bits / (TABLES * bucket);
        assert!(buckets << remainder < FINGERPRINTS, "a filter of {bits} bits has too many fingerprints");
        let cells = Packed::new(TABLES * buckets * u64::from(HEIGHT), remainder + COUNT_BITS);
        Self { cells, buckets, remainder }
    }

    /// How many members it could hold, were every cell taken.
    pub fn slots(&self) -> u64 {
        TABLES * self.buckets * u64::from(HEIGHT)
    }

    fn places(&self, key: u64) -> [Place; TABLES as usize] {
        let fingerprints = self.buckets << self.remainder;
        let fingerprint = below(hash(key), fingerprints);
        std::array::from_fn(|table| {
            let permuted = fingerprint * FACTORS[table] % fingerprints;
            let bucket = table as u64 * self.buckets + (permuted >> self.remainder);
            Place { first: bucket as u32 * HEIGHT, remainder: permuted & ((1 << self.remainder) - 1) }
        })
    }

    fn cells(&self, place: Place) -> impl Iterator<Item = (u32, u64)> + '_ {
        (place.first..place.first + HEIGHT).map(|index| (index, self.cells.load(index)))
    }

    /// The cell at `place` that counts members of its remainder, and its content. A count of zero is an empty cell.
    fn find(&self, place: Place) -> Option<(u32, u64)> {
        self.alike(place).next()
    }

    /// The cells at `place` that count members of its remainder.
    fn alike(&self, place: Place) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.cells(place).filter(move |&(_, cell)| cell & MOST != 0 && cell >> COUNT_BITS == place.remainder)
    }

    /// Cells taken in the bucket of `place`. They are taken from the first on, but not given back in order.
    fn taken(&self, place: Place) -> usize {
        self.cells(place).filter(|(_, cell)| cell & MOST != 0).count()
    }
}

impl Filter for DLeft {
    fn insert(&mut self, key: u64) -> Result<(), Full> {
        let places = self.places(key);
        // A cell that can count no further has another one beside it: of a hundred million members four may look alike.
        let counts = |&place: &Place| self.alike(place).find(|(_, cell)| cell & MOST < MOST);
        if let Some((index, cell)) = places.iter().find_map(counts) {
            self.cells.store(index, cell + 1);
            return Ok(());
        }
        let place = places.into_iter().min_by_key(|&place| self.taken(place)).expect("there are four tables");
        let (index, _) = self.cells(place).find(|(_, cell)| cell & MOST == 0).ok_or(Full)?;
        self.cells.store(index, place.remainder << COUNT_BITS | 1);
        Ok(())
    }

    fn contains(&self, key: u64) -> bool {
        self.places(key).into_iter().any(|place| self.find(place).is_some())
    }

    fn bits(&self) -> u64 {
        self.cells.bits()
    }
}

impl Forget for DLeft {
    fn remove(&mut self, key: u64) {
        if let Some((index, cell)) = self.places(key).into_iter().find_map(|place| self.find(place)) {
            self.cells.store(index, if cell & MOST == 1 { 0 } else { cell - 1 });
        }
    }
}
