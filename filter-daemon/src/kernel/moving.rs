//! A table that packets read while it changes: no entry is ever missed, and no pending entry waits.
//!
//! A pending entry that finds a free slot takes it by one store. Where others must move, and each of them from its first home
//! to its second, they are moved at once, from the free end: packets look into first homes first, so they meet everyone in
//! one home or the other. Else the pending entry goes into the stash, where packets find it too, and waits for a batch:
//!
//! 1. *copied*: paths are planned on an overlay, and every entry they move is copied into the stash;
//! 2. a grace period later, *written*: the overlay is stored into the buckets, in any order;
//! 3. another grace period later the copies and the pending entries leave the stash.
//!
//! In between, pending entries take only slots that the overlay does not touch, and a removal reaches all three places.
//! `advance` does one step; its caller waits for a grace period between calls.

mod many;

use std::collections::HashMap;

use filter_common::cuckoo::geometry::Geometry;
use filter_common::cuckoo::scheme::{Home, Scheme, Token};
use filter_common::cuckoo::search::Path;
use filter_common::cuckoo::{Full, Slot, Table};
use filter_common::stash::{self, Stash};
use filter_common::{Rest, WordsMut};

use super::overlay::Overlay;
pub use many::Readers;

/// The most pending entries in one batch. Each moves one or two others at the loads that tables reach, so that a batch
/// fills a quarter of the stash.
const MOST_PENDING: usize = 128;

/// Buckets under running readers, behind their stash.
#[derive(Debug)]
pub struct Moving<S: Scheme, W> {
    table: Table<S, Rest<W>>,
    entries: u64,
    moves: u64,
    waiting: Vec<S::Key>,
    phase: Phase<S::Key>,
    is_ordered: bool,
}

#[derive(Debug)]
enum Phase<K> {
    Calm,
    Copied(HashMap<u32, u64>, Batch<K>),
    Written(Batch<K>),
}

/// Who is in the stash for this batch's sake.
#[derive(Debug)]
struct Batch<K> {
    pending: Vec<K>,
    displaced: Vec<Token>,
}

impl<S, W> Moving<S, W>
where
    S: Scheme + Copy,
    S::Key: PartialEq,
    W: WordsMut,
{
    /// A table in fresh, zeroed words, which begin with its stash.
    pub fn new(scheme: S, geometry: Geometry, words: W) -> Self {
        Self {
            table: Table::new(scheme, geometry, Rest::new(words, stash::WORDS)),
            entries: 0,
            moves: 0,
            waiting: Vec::new(),
            phase: Phase::Calm,
            is_ordered: cfg!(target_arch = "x86_64"),
        }
    }

    /// Do all processors see stores in the order in which they were made, and load in the order of the program? Only then
    /// may entries move without a grace period. Known from the architecture; tests try both.
    #[cfg(test)]
    fn on_ordered_memory(self, is_ordered: bool) -> Self {
        Self { is_ordered, ..self }
    }

    /// The buckets.
    pub fn table(&self) -> &Table<S, Rest<W>> {
        &self.table
    }

    /// How many entries it holds.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// How many entries have moved while packets read the table.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Lets `key` in while nobody reads the table yet. The caller knows that it is not there.
    pub fn fill(&mut self, key: S::Key) -> Result<(), Full> {
        self.fill_at(self.table.scheme().homes(key))
    }

    fn fill_at(&mut self, homes: [Home; 2]) -> Result<(), Full> {
        self.table.insert_at(homes)?;
        self.entries += 1;
        Ok(())
    }

    /// The same for all `keys`; gives back those for which there is no room.
    pub fn fill_all(&mut self, keys: impl IntoIterator<Item = S::Key>) -> Vec<S::Key> {
        let mut refused = Vec::new();
        let counted = keys.into_iter().inspect(|_| self.entries += 1);
        self.table.insert_all(counted, |key| refused.push(key));
        self.entries -= refused.len() as u64;
        refused
    }

    /// Lets `key` in; the next packet sees it. Refused if the stash has no room: then the table must be rebuilt.
    /// The caller knows that it is not there yet.
    pub fn add(&mut self, key: S::Key) -> Result<(), Full> {
        self.add_at(key, self.table.scheme().homes(key))
    }

    fn add_at(&mut self, key: S::Key, homes: [Home; 2]) -> Result<(), Full> {
        if let Some((slot, code)) = self.free_slot(homes) {
            self.table.put(slot, code);
        } else if let Some(path) = self.forward_path(homes) {
            path.writes().for_each(|(slot, code)| self.table.put(slot, code));
            self.moves += path.moves() as u64;
        } else if put_aside(&self.table, self.table.scheme().token(key)) {
            self.waiting.push(key);
        } else {
            return Err(Full);
        }
        self.entries += 1;
        Ok(())
    }

    /// Takes `key` out; the next packet does not see it. The caller knows that it is there.
    pub fn remove(&mut self, key: S::Key) {
        let token = self.table.scheme().token(key);
        self.waiting.retain(|waiting| *waiting != key);
        if let Phase::Copied(planned, _) = &mut self.phase {
            strike(&self.table, planned, key);
        }
        if let Phase::Copied(_, batch) | Phase::Written(batch) = &mut self.phase {
            batch.pending.retain(|pending| *pending != key);
            batch.displaced.retain(|displaced| *displaced != token);
        }
        self.table.remove(key);
        stash_of(&self.table).remove(token);
        self.entries -= 1;
    }

    /// Does the next packet see `key`?
    pub fn contains(&self, key: S::Key) -> bool {
        self.is_at(key, self.table.scheme().homes(key))
    }

    fn is_at(&self, key: S::Key, homes: [Home; 2]) -> bool {
        let stash = stash_of(&self.table);
        homes.into_iter().any(|home| self.table.slot_of(home).is_some())
            || stash.count() != 0 && stash.holds(self.table.scheme().token(key))
    }

    /// Pending entries that have no place in the buckets yet, for whoever rebuilds the table elsewhere.
    pub fn unplaced(&self) -> impl Iterator<Item = S::Key> + '_ {
        let planned: &[S::Key] = match &self.phase {
            Phase::Copied(_, batch) => &batch.pending,
            Phase::Calm | Phase::Written(_) => &[],
        };
        self.waiting.iter().chain(planned).copied()
    }

    /// Do so many pending entries wait that more than a few at a time should wait for them?
    pub fn is_crowded(&self) -> bool {
        self.waiting.len() >= MOST_PENDING
    }

    /// Is a batch under way, or due?
    pub fn is_unsettled(&self) -> bool {
        !matches!(self.phase, Phase::Calm) || !self.waiting.is_empty()
    }

    /// Are there pending entries for whom no batch can make room? Then the table must be rebuilt.
    pub fn is_stuck(&self) -> bool {
        matches!(self.phase, Phase::Calm) && !self.waiting.is_empty()
    }

    /// Does the step that is due. True if another will be due after a grace period.
    pub fn advance(&mut self) -> bool {
        match std::mem::replace(&mut self.phase, Phase::Calm) {
            Phase::Calm => self.begin(),
            Phase::Copied(planned, batch) => {
                planned.into_iter().for_each(|(word, value)| self.table.words().store(word, value));
                self.moves += batch.displaced.len() as u64;
                self.phase = Phase::Written(batch);
                true
            }
            Phase::Written(batch) => {
                self.clear(&batch);
                self.begin()
            }
        }
    }

    /// Plans a batch for those who wait, and copies into the stash whom it will move.
    fn begin(&mut self) -> bool {
        let overlay = Overlay::new(self.table.words(), HashMap::new());
        let view = Table::new(*self.table.scheme(), self.table.geometry(), &overlay);
        let mut batch = Batch { pending: Vec::new(), displaced: Vec::new() };
        let mut left = Vec::new();
        for key in self.waiting.drain(..) {
            if batch.pending.len() < MOST_PENDING && plan(&self.table, &view, key, &mut batch.displaced) {
                batch.pending.push(key);
            } else {
                left.push(key);
            }
        }
        self.waiting = left;
        if batch.pending.is_empty() {
            return false;
        }
        self.phase = Phase::Copied(overlay.into_planned(), batch);
        true
    }

    fn clear(&self, batch: &Batch<S::Key>) {
        let pending = batch.pending.iter().map(|key| self.table.scheme().token(*key));
        for token in pending.chain(batch.displaced.iter().copied()) {
            stash_of(&self.table).remove(token);
        }
    }

    /// A free slot in one of these homes that no plan is about to overwrite.
    fn free_slot(&self, homes: [Home; 2]) -> Option<(Slot, u64)> {
        homes.into_iter().find_map(|home| {
            let mut free = self.table.free_slots(home.bucket);
            free.find(|slot| !self.is_planned(slot.word)).map(|slot| (slot, home.code))
        })
    }

    /// A path that packets may watch, through words that no plan is about to overwrite.
    fn forward_path(&self, homes: [Home; 2]) -> Option<Path> {
        let path = if self.is_ordered { self.table.forward_path_for(homes) } else { None };
        path.filter(|path| path.writes().all(|(slot, _)| !self.is_planned(slot.word)))
    }

    fn is_planned(&self, word: u32) -> bool {
        matches!(&self.phase, Phase::Copied(planned, _) if planned.contains_key(&word))
    }
}

/// Lets `key` into `view`, and copies into the stash whom that moves. False, and nothing done, if there is no path or
/// no room in the stash.
fn plan<S: Scheme, W: WordsMut>(
    table: &Table<S, Rest<W>>,
    view: &Table<S, &Overlay<'_, Rest<W>>>,
    key: S::Key,
    displaced: &mut Vec<Token>,
) -> bool {
    if view.insert_free(key) {
        return true;
    }
    let Some(path) = view.path_for(key) else { return false };
    let mut copied = Vec::with_capacity(path.moves());
    for (slot, code) in path.writes().take(path.moves()) {
        let token = table.scheme().token_at(Home { bucket: table.bucket_of(slot), code });
        if stash_of(table).holds(token) {
            continue;
        }
        if !put_aside(table, token) {
            copied.into_iter().for_each(|token| _ = stash_of(table).remove(token));
            return false;
        }
        copied.push(token);
    }
    displaced.append(&mut copied);
    path.writes().for_each(|(slot, code)| view.put(slot, code));
    true
}

/// Takes `key` out of the words that are planned.
fn strike<S: Scheme + Copy, W: WordsMut>(
    table: &Table<S, Rest<W>>,
    planned: &mut HashMap<u32, u64>,
    key: S::Key,
) {
    let lanes = table.geometry().lanes();
    for home in table.scheme().homes(key) {
        for word in table.bucket_words(home.bucket) {
            if let Some(value) = planned.get_mut(&word) {
                while let Some(at) = lanes.find(*value, home.code) {
                    *value = lanes.with(*value, at, 0);
                }
            }
        }
    }
}

fn put_aside<S: Scheme, W: WordsMut>(table: &Table<S, Rest<W>>, token: Token) -> bool {
    stash_of(table).insert(token)
}

fn stash_of<S: Scheme, W: WordsMut>(table: &Table<S, Rest<W>>) -> Stash<&W> {
    Stash::new(table.words().all())
}

#[cfg(test)]
mod tests;
