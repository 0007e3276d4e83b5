//! Entries that are in force, but may not be on disk yet. A kill would lose them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::journal::Done;

/// How many such entries each LAPI has, by its name.
#[derive(Clone, Default)]
pub struct UnwrittenEntries(Arc<Mutex<BTreeMap<String, u64>>>);

impl UnwrittenEntries {
    /// Adds entries of each LAPI. They count until the journal calls the result.
    pub fn add(&self, entries: BTreeMap<String, u64>) -> Done {
        let mut unwritten = self.lock();
        for (name, count) in &entries {
            *unwritten.entry(name.clone()).or_default() += count;
        }
        let this = self.clone();
        // If the disk has refused them, the status of the journal reports that.
        Box::new(move |_| this.remove(entries))
    }

    /// The number of such entries of this LAPI.
    pub fn of(&self, name: &str) -> u64 {
        self.lock().get(name).copied().unwrap_or(0)
    }

    fn remove(&self, entries: BTreeMap<String, u64>) {
        let mut unwritten = self.lock();
        for (name, count) in entries {
            if let Some(left) = unwritten.get_mut(&name) {
                *left = left.saturating_sub(count);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.0.lock().expect("counting cannot panic")
    }
}
