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
//!
//! Where labels are kept, each is written before the code it belongs to, in the stash and in its new slot. No verdict depends
//! on them, so they may change at any time, and do so in all places.

mod many;

use std::cell::Cell;
use std::collections::HashMap;

use filter_common::cuckoo::geometry::Geometry;
use filter_common::cuckoo::scheme::{Home, Scheme, Token};
use filter_common::cuckoo::search::Path;
use filter_common::cuckoo::{Full, Slot, Table};
use filter_common::labels::{Label, Labels, LabelsMut, NoLabels, OTHER};
use filter_common::stash::{self, Stash};
use filter_common::{Rest, Words, WordsMut};

use super::overlay::Overlay;
pub use many::Readers;

/// The most pending entries in one batch. Each moves one or two others at the loads that tables reach, so that a batch
/// fills a quarter of the stash.
const MOST_PENDING: usize = 128;

/// Buckets under running readers, behind their stash.
#[derive(Debug)]
pub struct Moving<S: Scheme, W, L = NoLabels> {
    table: Table<S, Rest<W>, Rest<L>>,
    entries: u64,
    moves: u64,
    waiting: Vec<S::Key>,
    phase: Phase<S::Key>,
    is_ordered: bool,
}

#[derive(Debug)]
enum Phase<K> {
    Calm,
    Copied(Planned, Batch<K>),
    Written(Batch<K>),
}

/// What is about to be written: words of buckets, and before them the labels of slots in these.
#[derive(Debug)]
struct Planned {
    words: HashMap<u32, u64>,
    labels: HashMap<u32, Label>,
}

/// Who is in the stash for this batch's sake.
#[derive(Debug)]
struct Batch<K> {
    pending: Vec<K>,
    displaced: Vec<Token>,
}

impl<S, W, L> Moving<S, W, L>
where
    S: Scheme + Copy,
    S::Key: PartialEq,
    W: WordsMut,
    L: LabelsMut,
{
    /// A table in fresh, zeroed words, which begin with its stash; so do the labels, if any are kept.
    pub fn new(scheme: S, geometry: Geometry, words: W, labels: L) -> Self {
        let (words, labels) = (Rest::new(words, stash::WORDS), Rest::new(labels, stash::LABELS));
        Self {
            table: Table::labelled(scheme, geometry, words, labels),
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
    pub fn table(&self) -> &Table<S, Rest<W>, Rest<L>> {
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
    pub fn fill(&mut self, key: S::Key, label: Label) -> Result<(), Full> {
        self.fill_at(self.table.scheme().homes(key), label)
    }

    fn fill_at(&mut self, homes: [Home; 2], label: Label) -> Result<(), Full> {
        self.table.insert_at(homes, label)?;
        self.entries += 1;
        Ok(())
    }

    /// The same for all `keys`; gives back those for which there is no room.
    pub fn fill_all(&mut self, keys: impl IntoIterator<Item = (S::Key, Label)>) -> Vec<(S::Key, Label)> {
        let mut refused = Vec::new();
        let counted = keys.into_iter().inspect(|_| self.entries += 1);
        self.table.insert_all_as(counted, |key| refused.push(key));
        self.entries -= refused.len() as u64;
        refused
    }

    /// The same where all of them or nobody is to be in: once one is refused, no more are asked for. In a full table each
    /// of them would be looked for a path in vain, which takes as long as to let hundreds in.
    pub fn fill_whole(&mut self, keys: impl IntoIterator<Item = (S::Key, Label)>) -> Result<(), Full> {
        let refused = Cell::new(0);
        let counted = keys.into_iter().take_while(|_| refused.get() == 0).inspect(|_| self.entries += 1);
        self.table.insert_all_as(counted, |_| refused.update(|count| count + 1));
        self.entries -= refused.get();
        if refused.get() == 0 { Ok(()) } else { Err(Full) }
    }

    /// Lets `key` in; the next packet sees it. Refused if the stash has no room: then the table must be rebuilt.
    /// The caller knows that it is not there yet.
    pub fn add(&mut self, key: S::Key, label: Label) -> Result<(), Full> {
        self.add_at(key, label, self.table.scheme().homes(key))
    }

    fn add_at(&mut self, key: S::Key, label: Label, homes: [Home; 2]) -> Result<(), Full> {
        if let Some((slot, code)) = self.free_slot(homes) {
            self.table.place(slot, code, label);
        } else if let Some(path) = self.forward_path(homes) {
            self.table.follow(&path, label);
            self.moves += path.moves() as u64;
        } else if put_aside(&self.table, self.table.scheme().token(key), label) {
            self.waiting.push(key);
        } else {
            return Err(Full);
        }
        self.entries += 1;
        Ok(())
    }

    /// Replaces the label of `key`, wherever it stands or is about to.
    pub fn relabel(&mut self, key: S::Key, label: Label) {
        let (homes, token) = (self.table.scheme().homes(key), self.table.scheme().token(key));
        self.table.relabel(homes, label);
        stash_of(&self.table).relabel(token, label);
        if let Phase::Copied(planned, _) = &mut self.phase {
            planned.relabel(&self.table, homes, label);
        }
    }

    /// Takes `key` out; the next packet does not see it. The caller knows that it is there.
    pub fn remove(&mut self, key: S::Key) {
        let token = self.table.scheme().token(key);
        self.waiting.retain(|waiting| *waiting != key);
        if let Phase::Copied(planned, _) = &mut self.phase {
            planned.strike(&self.table, self.table.scheme().homes(key));
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

    /// Pending entries that have no place in the buckets yet, with their labels, for whoever rebuilds the table elsewhere.
    pub fn unplaced(&self) -> impl Iterator<Item = (S::Key, Label)> + '_ {
        let planned: &[S::Key] = match &self.phase {
            Phase::Copied(_, batch) => &batch.pending,
            Phase::Calm | Phase::Written(_) => &[],
        };
        let label = |key| stash_of(&self.table).label_of(self.table.scheme().token(key));
        self.waiting.iter().chain(planned).map(move |key| (*key, label(*key).unwrap_or(OTHER)))
    }

    /// How many entries its stash is to hold, and how many that says it holds: packets ask nothing else of it while it is empty.
    pub fn stashed(&self) -> [u64; 2] {
        let in_batch = match &self.phase {
            Phase::Copied(_, batch) | Phase::Written(batch) => batch.pending.len() + batch.displaced.len(),
            Phase::Calm => 0,
        };
        [(self.waiting.len() + in_batch) as u64, stash_of(&self.table).count()]
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
                planned.labels.into_iter().for_each(|(slot, label)| self.table.labels().write(slot, label));
                planned.words.into_iter().for_each(|(word, value)| self.table.words().store(word, value));
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
        let (words, labels) = (Overlay::over(self.table.words()), Overlay::over(self.table.labels()));
        let view = Table::labelled(*self.table.scheme(), self.table.geometry(), &words, &labels);
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
        let planned = Planned { words: words.into_planned(), labels: labels.into_planned() };
        self.phase = Phase::Copied(planned, batch);
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
        matches!(&self.phase, Phase::Copied(planned, _) if planned.words.contains_key(&word))
    }
}

/// Lets `key` into `view`, and copies into the stash whom that moves. False, and nothing done, if there is no path or
/// no room in the stash.
fn plan<S: Scheme, W: WordsMut, L: LabelsMut>(
    table: &Table<S, Rest<W>, Rest<L>>,
    view: &Table<S, impl WordsMut, impl LabelsMut>,
    key: S::Key,
    displaced: &mut Vec<Token>,
) -> bool {
    let label = stash_of(table).label_of(table.scheme().token(key)).unwrap_or(OTHER);
    if view.insert_free_at(view.scheme().homes(key), label) {
        return true;
    }
    let Some(path) = view.path_for(key) else { return false };
    let mut copied = Vec::with_capacity(path.moves());
    for ((slot, code), from) in path.steps() {
        let Some(from) = from else { break };
        let token = table.scheme().token_at(Home { bucket: table.bucket_of(slot), code });
        if stash_of(table).holds(token) {
            continue;
        }
        if !put_aside(table, token, view.label_at(from)) {
            copied.into_iter().for_each(|token| _ = stash_of(table).remove(token));
            return false;
        }
        copied.push(token);
    }
    displaced.append(&mut copied);
    view.follow(&path, label);
    true
}

impl Planned {
    /// Takes whoever has these homes out of the words that are planned.
    fn strike<S: Scheme, W: WordsMut, L>(&mut self, table: &Table<S, Rest<W>, Rest<L>>, homes: [Home; 2]) {
        let lanes = table.geometry().lanes();
        for home in homes {
            for word in table.bucket_words(home.bucket) {
                if let Some(value) = self.words.get_mut(&word) {
                    while let Some(at) = lanes.find(*value, home.code) {
                        *value = lanes.with(*value, at, 0);
                    }
                }
            }
        }
    }

    /// Replaces his label where he is about to stand.
    fn relabel<S: Scheme, W: WordsMut, L>(
        &mut self,
        table: &Table<S, Rest<W>, Rest<L>>,
        homes: [Home; 2],
        label: Label,
    ) {
        let lanes = table.geometry().lanes();
        for home in homes {
            for word in table.bucket_words(home.bucket) {
                let at = self.words.get(&word).and_then(|value| lanes.find(*value, home.code));
                if let Some(at) = at {
                    self.labels.insert(table.number_of(Slot { word, at }), label);
                }
            }
        }
    }
}

impl<S: Scheme, W: Words, L> Moving<S, W, Option<L>> {
    /// Gives its labels up: nobody asks for them any more.
    pub fn forget_labels(&mut self) {
        *self.table.labels_mut().all_mut() = None;
    }
}

fn put_aside<S: Scheme, W: WordsMut, L: LabelsMut>(
    table: &Table<S, Rest<W>, Rest<L>>,
    token: Token,
    label: Label,
) -> bool {
    stash_of(table).insert(token, label)
}

fn stash_of<S: Scheme, W: WordsMut, L: Labels>(table: &Table<S, Rest<W>, Rest<L>>) -> Stash<&W, &L> {
    Stash::labelled(table.words().all(), table.labels().all())
}

#[cfg(test)]
mod tests;
