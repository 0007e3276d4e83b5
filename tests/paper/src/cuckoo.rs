//! The cuckoo filter of the paper, of any fingerprint and bucket size: filterd's table with partial keys.

use filter_common::WordsMut;
use filter_common::cuckoo::Table;
use filter_common::cuckoo::bucket::Lanes;
use filter_common::cuckoo::geometry::Geometry;

use crate::hash::{Choices, hash};
use crate::hashed::{Fingerprint, Hashed};
use crate::packed::Packed;
use crate::semisorted::SemiSorted;
use crate::{Filter, Forget, Full, kicks};

/// What a filter is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bits of a fingerprint.
    pub fingerprint: u32,
    /// Fingerprints in a bucket: 1, 2, 4 or 8.
    pub bucket: u32,
    /// Bits of a bucket's index.
    pub index_bits: u32,
}

/// How room is made where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// As the paper makes it: random kicks.
    Kicks,
    /// As filterd makes it: the shortest path, found breadth first.
    Path,
}

/// A cuckoo filter whose buckets live in `W`.
#[derive(Debug)]
pub struct Cuckoo<W> {
    table: Table<Hashed, W>,
    bits: u64,
    fingerprint: u32,
    room: Room,
    choices: Choices,
}

/// One that takes `fingerprint` bits a slot.
pub type Plain = Cuckoo<Packed>;

/// One that takes a bit less.
pub type Sorted = Cuckoo<SemiSorted>;

impl Shape {
    fn geometry(self) -> Geometry {
        // A bucket of more than 64 bits takes two words.
        let words = (self.bucket * self.fingerprint).div_ceil(u64::BITS);
        Geometry::new(1 << self.index_bits, words, Lanes::new(self.bucket / words, self.fingerprint))
    }
}

impl Plain {
    /// An empty filter.
    pub fn new(shape: Shape, room: Room) -> Self {
        let geometry = shape.geometry();
        let width = geometry.lanes().count() * geometry.lanes().bits();
        let words = Packed::new(geometry.words().into(), width);
        let bits = words.bits();
        Self::within(shape, room, words, bits)
    }
}

impl Sorted {
    /// An empty filter of buckets of four.
    pub fn new(shape: Shape, room: Room) -> Self {
        assert_eq!(shape.bucket, 4, "only buckets of four are semi-sorted");
        let words = SemiSorted::new(shape.geometry().words().into(), shape.fingerprint);
        let bits = words.bits();
        Self::within(shape, room, words, bits)
    }
}

impl<W: WordsMut> Cuckoo<W> {
    fn within(shape: Shape, room: Room, words: W, bits: u64) -> Self {
        let table = Table::new(Hashed::new(shape.index_bits), shape.geometry(), words);
        Self { table, bits, fingerprint: shape.fingerprint, room, choices: Choices::default() }
    }

    /// How many fingerprints it could hold, were every slot taken.
    pub fn slots(&self) -> u64 {
        self.table.geometry().slots()
    }

    #[inline]
    fn fingerprint(&self, key: u64) -> Fingerprint {
        let hash = hash(key);
        // Zero is for empty slots.
        Fingerprint { place: (hash >> 32) as u32, code: (hash & ((1 << self.fingerprint) - 1)).max(1) }
    }
}

impl<W: WordsMut> Filter for Cuckoo<W> {
    fn insert(&mut self, key: u64) -> Result<(), Full> {
        match self.room {
            Room::Kicks => kicks::insert(&self.table, self.fingerprint(key), &mut self.choices),
            Room::Path => self.table.insert(self.fingerprint(key)),
        }
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.table.contains(self.fingerprint(key))
    }

    fn bits(&self) -> u64 {
        self.bits
    }
}

impl<W: WordsMut> Forget for Cuckoo<W> {
    fn remove(&mut self, key: u64) {
        self.table.remove_one(self.fingerprint(key));
    }
}
