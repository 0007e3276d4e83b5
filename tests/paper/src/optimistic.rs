//! Lookups beside a writer who moves entries: by version counters, as in MemC3 (Fan, Andersen, Kaminsky, NSDI 2013), and
//! by the direction of the moves, as filterd does.
//!
//! Both are the same exact table in atomic words. `Versioned` lets the writer move anything, and readers look again
//! when the counter of their key has changed. `Directed` lets the writer move entries only from first homes to second
//! ones, which readers cannot miss; what finds no such path is refused here, and waits in the stash in filterd.

use std::sync::atomic::{AtomicU64, Ordering};

use filter_common::cuckoo::exact::{self, Exact};
use filter_common::cuckoo::geometry::Geometry;
use filter_common::cuckoo::search::Path;
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
struct Shared(Vec<AtomicU64>);

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

type Addresses = Table<Exact, Rest<Shared>>;

/// An empty table whose buckets begin behind `head` words.
fn table(index_bits: u32, head: u32) -> Addresses {
    let geometry = Geometry::exact4(index_bits);
    let key = exact::key(std::array::from_fn(|word| key(word as u64)));
    let words = (0..head + geometry.words()).map(|_| AtomicU64::new(0)).collect();
    Table::new(Exact::new(u32::BITS, key, index_bits, 1), geometry, Rest::new(Shared(words), head))
}

fn store(table: &Addresses, path: &Path) {
    path.writes().for_each(|(slot, code)| table.put(slot, code));
}

/// filterd's way: moves have a direction, and a hot word tells whether to look into the stash.
#[derive(Debug)]
pub struct Directed(Addresses);

impl Directed {
    /// An empty set.
    pub fn new(index_bits: u32) -> Self {
        Self(table(index_bits, stash::WORDS))
    }
}

impl Live for Directed {
    fn insert(&self, address: u32) -> Result<(), Full> {
        if self.0.insert_free(address.into()) {
            return Ok(());
        }
        let path = self.0.forward_path_for(address.into()).ok_or(Full)?;
        store(&self.0, &path);
        Ok(())
    }

    fn remove(&self, address: u32) {
        self.0.remove(address.into());
    }

    #[inline]
    fn contains(&self, address: u32) -> bool {
        let stash = Stash::new(self.0.words().all(), 0);
        let scheme = self.0.scheme();
        self.0.contains(address.into())
            || stash.count() != 0 && stash.holds(scheme.token_bits(scheme.shuffle(address.into())))
    }
}

/// MemC3's way: a counter for each of many classes of keys is odd while a key of its class moves.
#[derive(Debug)]
pub struct Versioned {
    table: Addresses,
    versions: Vec<AtomicU64>,
}

/// As many counters as in MemC3.
const VERSIONS: usize = 8192;

impl Versioned {
    /// An empty set.
    pub fn new(index_bits: u32) -> Self {
        Self { table: table(index_bits, 0), versions: (0..VERSIONS).map(|_| AtomicU64::new(0)).collect() }
    }

    #[inline]
    fn version(&self, address: u64) -> &AtomicU64 {
        &self.versions[hash(address) as usize % VERSIONS]
    }
}

impl Live for Versioned {
    fn insert(&self, address: u32) -> Result<(), Full> {
        if self.table.insert_free(address.into()) {
            return Ok(());
        }
        let path = self.table.path_for(address.into()).ok_or(Full)?;
        for (slot, code) in path.writes() {
            let home = filter_common::cuckoo::scheme::Home { bucket: self.table.bucket_of(slot), code };
            let version = self.version(self.table.scheme().key(home));
            version.fetch_add(1, Ordering::AcqRel);
            self.table.put(slot, code);
            version.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }

    fn remove(&self, address: u32) {
        self.table.remove(address.into());
    }

    #[inline]
    fn contains(&self, address: u32) -> bool {
        let version = self.version(address.into());
        loop {
            let before = version.load(Ordering::Acquire);
            let found = self.table.contains(address.into());
            if before.is_multiple_of(2) && version.load(Ordering::Acquire) == before {
                return found;
            }
        }
    }
}
