//! A larger table of IPv4 addresses made aside, on a thread of its own, while the one in use goes on changing.
//!
//! The thread works on a copy of the words, which is made in milliseconds even of ten million entries: bucket and code
//! spell the address. What changes meanwhile is noted, and done to the larger table too before it takes its place.

use std::thread::{self, JoinHandle};

use filter_common::Words;
use filter_common::cuckoo::exact::Exact;
use filter_common::cuckoo::{Full, Table};

use super::moving::Moving;
use super::window::Window;

/// A table of IPv4 addresses.
type Addresses = Moving<Exact, Window>;

/// The larger table, and what it does not know yet.
pub struct Growth {
    thread: JoinHandle<Result<Addresses, Full>>,
    since: Vec<Change>,
}

enum Change {
    Added(u64),
    Removed(u64),
}

impl Growth {
    /// Begins to fill `larger` with all that `live` holds.
    pub fn begin(live: &Addresses, mut larger: Addresses) -> Self {
        let table = live.table();
        let words = (0..table.geometry().words()).map(|at| table.words().load(at)).collect();
        let copy = Table::new(*table.scheme(), table.geometry(), Copied(words));
        let unplaced: Vec<u64> = live.unplaced().collect();
        let fill = move || {
            let placed = copy.entries().map(|home| copy.scheme().key(home));
            if larger.fill_all(placed.chain(unplaced)).is_empty() { Ok(larger) } else { Err(Full) }
        };
        Self { thread: thread::spawn(fill), since: Vec::new() }
    }

    /// Is it filled?
    pub fn is_done(&self) -> bool {
        self.thread.is_finished()
    }

    /// `address` has come into the table in use.
    pub fn added(&mut self, address: u64) {
        self.since.push(Change::Added(address));
    }

    /// `address` has left it.
    pub fn removed(&mut self, address: u64) {
        self.since.push(Change::Removed(address));
    }

    /// The larger table, with everything that happened meanwhile; waits until it is filled.
    pub fn finish(self) -> Result<Addresses, Full> {
        let mut larger = self.thread.join().unwrap_or(Err(Full))?;
        for change in self.since {
            match change {
                Change::Added(address) => larger.fill(address)?,
                Change::Removed(address) => larger.remove(address),
            }
        }
        Ok(larger)
    }
}

/// Words as they were.
struct Copied(Vec<u64>);

impl Words for Copied {
    fn load(&self, index: u32) -> u64 {
        self.0.get(index as usize).copied().unwrap_or_default()
    }
}
