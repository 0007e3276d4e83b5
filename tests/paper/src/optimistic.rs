//! Lookups beside a writer who moves entries: by version counters, as in MemC3 (Fan, Andersen, Kaminsky, NSDI 2013), and
//! by the direction of the moves, as filterd does.
//!
//! Both are the same exact table in atomic words. `Versioned` lets the writer move anything, and readers look again
//! when the counter of their key has changed. `Directed` lets the writer move entries only from first homes to second
//! ones, which readers cannot miss; what finds no such path is refused here, and waits in the stash in filterd.

use std::sync::atomic::{AtomicU64, Ordering};

use filter_common::cuckoo::exact::{self, Exact};
use filter_common::cuckoo::geometry::Geometry;
use filter_common::cuckoo::scheme::{Home, Scheme};
use filter_common::cuckoo::{Full, Table};
use filter_common::stash::{self, Stash};
use filter_common::{Rest, Words, WordsMut};

use crate::hash::{hash, key};

/// A set of IPv4 addresses that one thread changes while others look things up.
pub trait Live: Sync {
    /// Lets `address` in. One thread at a time, as with `remove`.
    fn insert(&self, address: u32) -> Result<(), Full>;

    /// Takes `address` out.
    fn remove(&self, address: u32);

    /// Is `address` in?
    fn contains(&self, address: u32) -> bool;
}

/// Words that threads share.
#[derive(Debug)]
pub struct Shared(Vec<AtomicU64>);

impl Shared {
    fn zeroed(count: u32) -> Self {
        Self((0..count).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Words for Shared {
    #[inline]
    fn load(&self, index: u32) -> u64 {
        self.0[index as usize].load(Ordering::Acquire)
    }
}

impl WordsMut for Shared {
    #[inline]
    fn store(&self, index: u32, word: u64) {
        self.0[index as usize].store(word, Ordering::Release);
    }
}

type Addresses<W> = Table<Exact, Rest<W>>;

/// A table whose buckets lie in `words` behind the first `head`.
fn table<W: Words>(index_bits: u32, head: u32, words: W) -> Addresses<W> {
    let key = exact::key(std::array::from_fn(|word| key(word as u64)));
    let geometry = Geometry::exact4(1 << index_bits);
    Table::new(Exact::new(u32::BITS, key, geometry), geometry, Rest::new(words, head))
}

/// Words that such a table takes with all that comes before it.
fn size(index_bits: u32, head: u32) -> u32 {
    head + Geometry::exact4(1 << index_bits).words()
}

/// filterd's way: moves have a direction, and a hot word tells whether to look into the stash.
#[derive(Debug)]
pub struct Directed(Addresses<Shared>);

impl Directed {
    /// An empty set.
    pub fn new(index_bits: u32) -> Self {
        Self(table(index_bits, stash::WORDS, Shared::zeroed(size(index_bits, stash::WORDS))))
    }
}

impl Live for Directed {
    fn insert(&self, address: u32) -> Result<(), Full> {
        if self.0.insert_free(address.into()) {
            return Ok(());
        }
        let path = self.0.forward_path_for(self.0.scheme().homes(address.into())).ok_or(Full)?;
        path.writes().for_each(|(slot, code)| self.0.put(slot, code));
        Ok(())
    }

    fn remove(&self, address: u32) {
        self.0.remove(address.into());
    }

    #[inline]
    fn contains(&self, address: u32) -> bool {
        let stash = Stash::new(self.0.words().all());
        let scheme = self.0.scheme();
        self.0.contains(address.into()) || stash.count() != 0 && stash.holds(scheme.token(address.into()))
    }
}

/// MemC3's way: a counter for each of many classes of keys is odd while a key of its class moves. The counters lie before
/// the buckets.
#[derive(Debug)]
pub struct Versioned<W = Shared>(Addresses<W>);

/// As many counters as in MemC3.
pub const VERSIONS: u32 = 8192;

impl Versioned {
    /// An empty set.
    pub fn new(index_bits: u32) -> Self {
        Self::over(index_bits, Shared::zeroed(Self::size(index_bits)))
    }

    /// Words that such a set takes.
    pub fn size(index_bits: u32) -> u32 {
        size(index_bits, VERSIONS)
    }
}

impl<W: Words> Versioned<W> {
    /// The set that `words` make.
    pub fn over(index_bits: u32, words: W) -> Self {
        Self(table(index_bits, VERSIONS, words))
    }

    /// Its words.
    pub fn words(&self) -> &W {
        self.0.words().all()
    }

    /// Is `address` in?
    #[inline]
    pub fn finds(&self, address: u32) -> bool {
        let (words, version) = (self.words(), version(address.into()));
        loop {
            let before = words.load(version);
            let found = self.0.contains(address.into());
            if before.is_multiple_of(2) && words.load(version) == before {
                return found;
            }
        }
    }
}

/// Where the counter of an address stands.
#[inline]
fn version(address: u64) -> u32 {
    (hash(address) % u64::from(VERSIONS)) as u32
}

impl<W: WordsMut> Versioned<W> {
    /// Only one thread writes, so that it may count by a load and a store.
    fn count(&self, version: u32) {
        let words = self.words();
        words.store(version, words.load(version) + 1);
    }
}

impl<W: WordsMut + Sync> Live for Versioned<W> {
    fn insert(&self, address: u32) -> Result<(), Full> {
        if self.0.insert_free(address.into()) {
            return Ok(());
        }
        let path = self.0.path_for(address.into()).ok_or(Full)?;
        for (slot, code) in path.writes() {
            let home = Home { bucket: self.0.bucket_of(slot), code };
            let version = version(self.0.scheme().key(home));
            self.count(version);
            self.0.put(slot, code);
            self.count(version);
        }
        Ok(())
    }

    fn remove(&self, address: u32) {
        self.0.remove(address.into());
    }

    #[inline]
    fn contains(&self, address: u32) -> bool {
        self.finds(address)
    }
}
