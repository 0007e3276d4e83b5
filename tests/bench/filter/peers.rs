//! The crates that one would take instead, each as its documentation says, with its own hash.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;

use cuckoofilter::CuckooFilter;
use fastbloom::BloomFilter;
use qfilter::Filter as QuotientFilter;
use scalable_cuckoo_filter::ScalableCuckooFilter;
use xorf::{BinaryFuse16, Filter as _};

use crate::subject::{Changes, Subject};

/// False positives that are asked for where one may ask: those of 16-bit fingerprints.
const ERRORS: f64 = 1.2e-4;

pub struct Cuckoofilter(CuckooFilter<DefaultHasher>);

impl Subject for Cuckoofilter {
    const NAME: &'static str = "cuckoofilter 0.5 (f = 8)";
    const CHANGES: Changes = Changes::Both;

    fn with_room_for(members: usize) -> Self {
        Self(CuckooFilter::with_capacity(members))
    }

    fn insert(&mut self, member: u64) -> bool {
        self.0.add(&member).is_ok()
    }

    #[inline]
    fn contains(&self, address: u64) -> bool {
        self.0.contains(&address)
    }

    fn remove(&mut self, member: u64) {
        self.0.delete(&member);
    }

    fn bits(&self) -> u64 {
        self.0.memory_usage() as u64 * 8
    }

    fn slots(&self) -> Option<u64> {
        // A slot is a byte.
        Some((self.bits() / 8).next_power_of_two() / 2)
    }
}

pub struct Scalable(ScalableCuckooFilter<u64>);

impl Subject for Scalable {
    const NAME: &'static str = "scalable_cuckoo_filter 0.5";
    const CHANGES: Changes = Changes::Both;

    fn with_room_for(members: usize) -> Self {
        Self(ScalableCuckooFilter::new(members, ERRORS))
    }

    fn insert(&mut self, member: u64) -> bool {
        self.0.insert(&member);
        true
    }

    #[inline]
    fn contains(&self, address: u64) -> bool {
        self.0.contains(&address)
    }

    fn remove(&mut self, member: u64) {
        self.0.remove(&member);
    }

    fn bits(&self) -> u64 {
        self.0.bits()
    }
}

pub struct Qfilter(QuotientFilter);

impl Subject for Qfilter {
    const NAME: &'static str = "qfilter 0.3";
    const CHANGES: Changes = Changes::Both;

    fn with_room_for(members: usize) -> Self {
        Self(QuotientFilter::new(members as u64, ERRORS).expect("it takes any number of members"))
    }

    fn insert(&mut self, member: u64) -> bool {
        self.0.insert_duplicated(member).is_ok()
    }

    #[inline]
    fn contains(&self, address: u64) -> bool {
        self.0.contains(address)
    }

    fn remove(&mut self, member: u64) {
        self.0.remove(member);
    }

    fn bits(&self) -> u64 {
        self.0.memory_usage() as u64 * 8
    }
}

pub struct Fastbloom(BloomFilter);

impl Subject for Fastbloom {
    const NAME: &'static str = "fastbloom 0.17";
    const CHANGES: Changes = Changes::Insert;

    fn with_room_for(members: usize) -> Self {
        Self(BloomFilter::with_false_pos(ERRORS).expected_items(members))
    }

    fn insert(&mut self, member: u64) -> bool {
        self.0.insert(&member);
        true
    }

    #[inline]
    fn contains(&self, address: u64) -> bool {
        self.0.contains(&address)
    }

    fn remove(&mut self, _member: u64) {}

    fn bits(&self) -> u64 {
        self.0.num_bits() as u64
    }
}

pub struct Fuse(BinaryFuse16);

impl Subject for Fuse {
    const NAME: &'static str = "xorf 0.13, BinaryFuse16";
    const CHANGES: Changes = Changes::None;

    fn with_room_for(_members: usize) -> Self {
        Self::of(&[])
    }

    fn of(members: &[u64]) -> Self {
        Self(BinaryFuse16::try_from(members).expect("no address is there twice"))
    }

    fn insert(&mut self, _member: u64) -> bool {
        false
    }

    #[inline]
    fn contains(&self, address: u64) -> bool {
        self.0.contains(&address)
    }

    fn remove(&mut self, _member: u64) {}

    fn bits(&self) -> u64 {
        self.0.len() as u64 * 16
    }
}

pub struct Set(HashSet<u32>);

impl Subject for Set {
    const NAME: &'static str = "std HashSet of u32";
    const CHANGES: Changes = Changes::Both;

    fn with_room_for(members: usize) -> Self {
        Self(HashSet::with_capacity(members))
    }

    fn insert(&mut self, member: u64) -> bool {
        self.0.insert(member as u32)
    }

    #[inline]
    fn contains(&self, address: u64) -> bool {
        self.0.contains(&(address as u32))
    }

    fn remove(&mut self, member: u64) {
        self.0.remove(&(member as u32));
    }

    /// Of eight slots seven are to be used; each takes its entry and a byte (hashbrown's own rule).
    fn bits(&self) -> u64 {
        self.0.capacity() as u64 * 8 / 7 * (32 + 8)
    }
}
