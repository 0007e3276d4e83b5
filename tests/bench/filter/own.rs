//! filterd's table as a library: with exact addresses as it ships, and with the partial keys of the paper.

use std::cell::Cell;

use filter_common::cuckoo::bucket;
use filter_common::cuckoo::geometry::Geometry;
use filter_common::cuckoo::{Table, exact};
use filter_common::{Words, WordsMut};
use filterd_paper::cuckoo::{Cuckoo, Plain, Room, Shape, Sorted};
use filterd_paper::hash::key;
use filterd_paper::packed::Packed;
use filterd_paper::semisorted::SemiSorted;
use filterd_paper::{Filter, Forget};

use crate::subject::{Changes, Subject};

/// Plain memory.
pub struct Memory(Vec<Cell<u64>>);

impl Words for Memory {
    #[inline]
    fn load(&self, index: u32) -> u64 {
        self.0[index as usize].get()
    }
}

impl WordsMut for Memory {
    #[inline]
    fn store(&self, index: u32, word: u64) {
        self.0[index as usize].set(word);
    }
}

/// How the buckets of an exact table are cut.
pub struct Lanes;

impl Lanes {
    /// As filterd cuts them: the larger the table, the narrower.
    pub const BY_SIZE: u32 = 0;
    /// Into four of sixteen bits, like the 16-bit fingerprints it is compared with.
    pub const SIXTEEN: u32 = 16;
}

/// The filter of IPv4 addresses.
pub struct Exact<const LANES: u32, const TOGETHER: bool = true> {
    table: Table<exact::Exact, Memory>,
    key: exact::Key,
}

impl<const LANES: u32, const TOGETHER: bool> Exact<LANES, TOGETHER> {
    /// The same table, with what is true of all tables of addresses said here, so that the compiler knows it.
    #[inline(always)]
    fn known(&self) -> Table<exact::Exact, &Memory> {
        let geometry = self.table.geometry();
        let scheme = exact::Exact::new(32, self.key, geometry);
        Table::new(scheme, Geometry::new(geometry.buckets(), 1, geometry.lanes()), self.table.words())
    }
}

fn geometry(lanes: u32, members: usize) -> Geometry {
    let by_size = Geometry::exact4_for(members as u64).expect("there are larger tables");
    if lanes == Lanes::BY_SIZE {
        return by_size;
    }
    let cut = |index_bits| Geometry::new(1_u32 << index_bits, 1, bucket::Lanes::new(4, lanes));
    let fits = |geometry: &Geometry| geometry.limit() >= members as u64;
    (17..32).map(cut).find(fits).expect("there are larger tables")
}

impl<const LANES: u32, const TOGETHER: bool> Subject for Exact<LANES, TOGETHER> {
    const NAME: &'static str = match (LANES, TOGETHER) {
        (Lanes::BY_SIZE, true) => "filterd, exact",
        (Lanes::BY_SIZE, false) => "filterd, exact, one at a time",
        (Lanes::SIXTEEN, true) => "filterd, exact, 4 × 16 bits",
        _ => panic!("this one has no name yet"),
    };
    const CHANGES: Changes = Changes::Both;

    fn with_room_for(members: usize) -> Self {
        let geometry = geometry(LANES, members);
        let key = exact::key(std::array::from_fn(|word| key(word as u64)));
        let scheme = exact::Exact::new(32, key, geometry);
        let memory = Memory(vec![Cell::new(0); geometry.words() as usize]);
        Self { table: Table::new(scheme, geometry, memory), key }
    }

    /// As the daemon lets a list in: looking after many members at a time, unless that is not wanted.
    fn of(members: &[u64]) -> Self {
        let filter = Self::with_room_for(members.len());
        let table = filter.known();
        if TOGETHER {
            table.insert_all(members.iter().copied(), |_| ());
        } else {
            members.iter().for_each(|&member| _ = table.insert(member));
        }
        filter
    }

    fn insert(&mut self, member: u64) -> bool {
        self.table.insert(member).is_ok()
    }

    #[inline]
    fn contains(&self, address: u64) -> bool {
        self.known().contains(address)
    }

    #[inline]
    fn remove(&mut self, member: u64) {
        self.table.remove_one(member);
    }

    fn bits(&self) -> u64 {
        u64::from(self.table.geometry().words()) * 64
    }

    fn slots(&self) -> Option<u64> {
        Some(self.table.geometry().slots())
    }
}

/// The paper's filter with fingerprints of so many bits, four in a bucket.
pub struct Partial<W, const FINGERPRINT: u32>(Cuckoo<W>);

/// Where its words live.
pub trait Place: WordsMut + Sized {
    /// Are they sorted there, to save a bit?
    const IS_SORTED: bool;

    fn filter(shape: Shape) -> Cuckoo<Self>;
}

impl Place for Packed {
    const IS_SORTED: bool = false;

    fn filter(shape: Shape) -> Cuckoo<Self> {
        Plain::new(shape, Room::Path)
    }
}

impl Place for SemiSorted {
    const IS_SORTED: bool = true;

    fn filter(shape: Shape) -> Cuckoo<Self> {
        Sorted::new(shape, Room::Path)
    }
}

impl<W: Place, const FINGERPRINT: u32> Subject for Partial<W, FINGERPRINT> {
    const NAME: &'static str = match (FINGERPRINT, W::IS_SORTED) {
        (8, false) => "the paper's cuckoo, f = 8",
        (12, false) => "the paper's cuckoo, f = 12",
        (16, false) => "the paper's cuckoo, f = 16",
        (13, true) => "the paper's cuckoo, f = 13, semi-sorted",
        _ => panic!("this one has no name yet"),
    };
    const CHANGES: Changes = Changes::Both;

    /// Buckets as full as exact ones may become.
    fn with_room_for(members: usize) -> Self {
        let slots = (members as u64 * 1000).div_ceil(955).next_power_of_two();
        Self(W::filter(Shape { fingerprint: FINGERPRINT, bucket: 4, index_bits: slots.ilog2() - 2 }))
    }

    fn insert(&mut self, member: u64) -> bool {
        self.0.insert(member).is_ok()
    }

    #[inline]
    fn contains(&self, address: u64) -> bool {
        self.0.contains(address)
    }

    fn remove(&mut self, member: u64) {
        self.0.remove(member);
    }

    fn bits(&self) -> u64 {
        self.0.bits()
    }

    fn slots(&self) -> Option<u64> {
        Some(self.0.slots())
    }
}
