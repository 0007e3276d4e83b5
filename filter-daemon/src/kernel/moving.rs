//! A table that packets read while it changes. No lookup misses an entry, and packets find a pending entry at
//! once.
//!
//! A pending entry that finds a free slot takes it by one store. If other entries must move, and each moves
//! from its first home to its second, they are moved at once, starting at the free end. Packets look into
//! first homes first, so they find every entry in one home or the other. This needs a processor that keeps
//! the order of stores and loads (`is_ordered`). In all other cases the pending entry goes into the stash,
//! where packets find it as well, and waits for a batch:
//!
//! - *copied*: paths are planned on an overlay, and every entry that they move is copied into the stash.
//! - *written*: after a grace period the overlay is stored into the buckets, in any order.
//! - After another grace period the copies and the pending entries leave the stash.
//!
//! In between, pending entries take only slots that the overlay does not touch, and a removal covers all
//! three places. `advance` does one step. Its caller waits for a grace period between two calls.
//!
//! If labels are kept, each label is written before the code that it belongs to, in the stash and in its new
//! slot. No verdict depends on labels, so they may change at any time, and they are changed in all places.

mod many;

use std::cell::Cell;
use std::collections::HashMap;

use filter_common::cuckoo::geometry::Geometry;
use filter_common::cuckoo::scheme::{Home, Scheme, Token};
use filter_common::cuckoo::search::Path;
use filter_common::cuckoo::{Full, Table, TableSlot};
use filter_common::labels::{Label, Labels, LabelsMut, NoLabels, OTHER};
use filter_common::stash::{self, Stash};
use filter_common::{Rest, Words, WordsMut};

use super::overlay::Overlay;
pub use many::Readers;

/// The most pending entries in one batch. At the loads that tables reach, each moves one or two other
/// entries, so a batch fills a quarter of the stash.
const MOST_PENDING: usize = 128;

/// Buckets that packets read, placed after their stash.
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

/// The pending stores: words of buckets, and the labels of their slots, which are stored first.
#[derive(Debug)]
struct Planned {
    words: HashMap<u32, u64>,
    labels: HashMap<u32, Label>,
}

/// Entries that are in the stash because of one batch.
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
    /// A table in fresh, zeroed words that begin with its stash. The labels, if any are kept, begin with
    /// those of the stash.
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

    /// Overrides whether all processors see stores in the order in which they were made and load in program
    /// order. Only then may entries move without a grace period. Normally the architecture decides. Tests try
    /// both.
    #[cfg(test)]
    fn on_ordered_memory(self, is_ordered: bool) -> Self {
        Self { is_ordered, ..self }
    }

    pub fn table(&self) -> &Table<S, Rest<W>, Rest<L>> {
        &self.table
    }

    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Entries that have moved while packets read the table.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Adds `key` while no packet reads the table. The caller must know that it is not there.
    pub fn fill(&mut self, key: S::Key, label: Label) -> Result<(), Full> {
        self.fill_at(self.table.scheme().homes(key), label)
    }

    fn fill_at(&mut self, homes: [Home; 2], label: Label) -> Result<(), Full> {
        self.table.insert_at(homes, label)?;
        self.entries += 1;
        Ok(())
    }

    /// Adds all `keys` in the same way. Returns those that found no room.
    pub fn fill_all(&mut self, keys: impl IntoIterator<Item = (S::Key, Label)>) -> Vec<(S::Key, Label)> {
        let mut refused = Vec::new();
        let counted = keys.into_iter().inspect(|_| self.entries += 1);
        self.table.insert_all_as(counted, |key| refused.push(key));
        self.entries -= refused.len() as u64;
        refused
    }

    /// Adds `keys` in the same way, but stops at the first refusal. In a full table each key would be
    /// searched for a path in vain, which takes as long as adding hundreds.
    pub fn fill_whole(&mut self, keys: impl IntoIterator<Item = (S::Key, Label)>) -> Result<(), Full> {
        let refused = Cell::new(0);
        let counted = keys.into_iter().take_while(|_| refused.get() == 0).inspect(|_| self.entries += 1);
        self.table.insert_all_as(counted, |_| refused.update(|count| count + 1));
        self.entries -= refused.get();
        if refused.get() == 0 { Ok(()) } else { Err(Full) }
    }

    /// Adds `key`; the next packet finds it. Refused if the stash has no room: then the table must be
    /// rebuilt. The caller must know that it is not there.
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

    /// Replaces the label of `key` in its current place and in planned ones.
    pub fn relabel(&mut self, key: S::Key, label: Label) {
        let (homes, token) = (self.table.scheme().homes(key), self.table.scheme().token(key));
        self.table.relabel(homes, label);
        stash_of(&self.table).relabel(token, label);
        if let Phase::Copied(planned, _) = &mut self.phase {
            planned.relabel(&self.table, homes, label);
        }
    }

    /// Removes `key`; the next packet does not find it. The caller must know that it is there.
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

    /// True if the next packet finds `key`.
    pub fn contains(&self, key: S::Key) -> bool {
        self.is_at(key, self.table.scheme().homes(key))
    }

    fn is_at(&self, key: S::Key, homes: [Home; 2]) -> bool {
        let stash = stash_of(&self.table);
        homes.into_iter().any(|home| self.table.slot_of(home).is_some())
            || stash.count() != 0 && stash.holds(self.table.scheme().token(key))
    }

    /// Pending entries that have no place in the buckets, with their labels. Used to rebuild the table
    /// elsewhere.
    pub fn unplaced(&self) -> impl Iterator<Item = (S::Key, Label)> + '_ {
        let planned: &[S::Key] = match &self.phase {
            Phase::Copied(_, batch) => &batch.pending,
            Phase::Calm | Phase::Written(_) => &[],
        };
        let label = |key| stash_of(&self.table).label_of(self.table.scheme().token(key));
        self.waiting.iter().chain(planned).map(move |key| (*key, label(*key).unwrap_or(OTHER)))
    }

    /// The entries that the stash should hold, and the number that it says it holds. Packets skip a stash
    /// that says zero.
    pub fn stashed(&self) -> [u64; 2] {
        let in_batch = match &self.phase {
            Phase::Copied(_, batch) | Phase::Written(batch) => batch.pending.len() + batch.displaced.len(),
            Phase::Calm => 0,
        };
        [(self.waiting.len() + in_batch) as u64, stash_of(&self.table).count()]
    }

    /// True if so many pending entries wait that large additions should wait for them.
    pub fn is_crowded(&self) -> bool {
        self.waiting.len() >= MOST_PENDING
    }

    /// True if a batch is in progress or due.
    pub fn is_unsettled(&self) -> bool {
        !matches!(self.phase, Phase::Calm) || !self.waiting.is_empty()
    }

    /// True if no batch can make room for pending entries. Then the table must be rebuilt.
    pub fn is_stuck(&self) -> bool {
        matches!(self.phase, Phase::Calm) && !self.waiting.is_empty()
    }

    /// Does the next step. True if another step is due after a grace period.
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

    /// Plans a batch for waiting entries, and copies the entries that it moves into the stash.
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

    /// A free slot in one of these homes that no plan will overwrite.
    fn free_slot(&self, homes: [Home; 2]) -> Option<(TableSlot, u64)> {
        homes.into_iter().find_map(|home| {
            let mut free = self.table.free_slots(home.bucket);
            free.find(|slot| !self.is_planned(slot.word)).map(|slot| (slot, home.code))
        })
    }

    /// A path of moves that packets may observe, through words that no plan will overwrite.
    fn forward_path(&self, homes: [Home; 2]) -> Option<Path> {
        let path = if self.is_ordered { self.table.forward_path_for(homes) } else { None };
        path.filter(|path| path.writes().all(|(slot, _)| !self.is_planned(slot.word)))
    }

    fn is_planned(&self, word: u32) -> bool {
        matches!(&self.phase, Phase::Copied(planned, _) if planned.words.contains_key(&word))
    }
}

/// Adds `key` to `view`, and copies the entries that this moves into the stash. Returns false without any
/// change if there is no path or no room in the stash.
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
    /// Removes the entry with these homes from the planned words.
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

    /// Replaces the label of the entry with these homes in its planned place.
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
                    self.labels.insert(table.number_of(TableSlot { word, at }), label);
                }
            }
        }
    }
}

impl<S: Scheme, W: Words, L> Moving<S, W, Option<L>> {
    /// Releases the labels: no judge reads them.
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
