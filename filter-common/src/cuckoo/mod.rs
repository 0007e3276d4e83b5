//! The cuckoo filter: buckets of codes, in which every entry is in one of its two homes.
//!
//! `bucket` divides words into lanes, `geometry` defines their number, and `scheme` defines where an entry
//! may be (`exact` for IPv4, `six` for IPv6 on top of `exact64`). `search` finds room. This file has the
//! table itself: reading, and writing while no packet reads it. Writing to a table that packets read is done
//! by the daemon's `kernel::moving`.

pub mod bucket;
mod bulk;
pub mod exact;
pub mod exact64;
pub mod geometry;
pub mod scheme;
pub mod search;
pub mod six;

use crate::labels::{Label, Labels, LabelsMut, NoLabels, OTHER};
use crate::{Words, WordsMut};
use geometry::Geometry;
use scheme::{Home, Scheme};
use search::Path;

/// There is neither a free slot nor a path to one within the limits of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A slot is one lane of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSlot {
    /// The index of the word in the table.
    pub word: u32,
    /// The bit of the word at which the lane begins.
    pub at: u32,
}

/// A table: its words, the scheme that says where entries may be, and a label for each slot if labels are
/// kept.
#[derive(Clone, Copy, Debug)]
pub struct Table<S, W, L = NoLabels> {
    scheme: S,
    geometry: Geometry,
    words: W,
    labels: L,
}

impl<S: Scheme, W: Words> Table<S, W> {
    /// The table of this geometry in `words`, without labels.
    pub const fn new(scheme: S, geometry: Geometry, words: W) -> Self {
        Self::labelled(scheme, geometry, words, NoLabels)
    }
}

impl<S: Scheme, W: Words, L> Table<S, W, L> {
    /// The table of this geometry in `words`, with these labels.
    pub const fn labelled(scheme: S, geometry: Geometry, words: W, labels: L) -> Self {
        Self { scheme, geometry, words, labels }
    }

    /// The scheme that gives the homes of entries.
    pub const fn scheme(&self) -> &S {
        &self.scheme
    }

    /// The geometry of the table.
    pub const fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The words that hold the buckets.
    pub const fn words(&self) -> &W {
        &self.words
    }

    /// The memory that holds the labels.
    pub const fn labels(&self) -> &L {
        &self.labels
    }

    /// Mutable access to the labels, so that they can be replaced.
    pub const fn labels_mut(&mut self) -> &mut L {
        &mut self.labels
    }

    /// The number of `slot` among all slots, which is also the number of its label.
    pub const fn number_of(&self, slot: TableSlot) -> u32 {
        slot.word * self.lanes().count() + self.lanes().number(slot.at)
    }

    /// True if `key` is in one of its homes. Both homes are loaded before either is compared, so a hit costs
    /// as much as a miss.
    #[inline(always)]
    pub fn contains(&self, key: S::Key) -> bool {
        let [first, second] = self.scheme.homes(key);
        let words = self.geometry.bucket_words();
        let (mut found, mut word) = (false, 0);
        while word < words {
            let one = self.words.load(first.bucket * words + word);
            let other = self.words.load(second.bucket * words + word);
            found |= self.lanes().either((one, first.code), (other, second.code));
            word += 1;
        }
        found
    }

    /// The slot that holds the code of `home`.
    pub fn slot_of(&self, home: Home) -> Option<TableSlot> {
        self.slot_with(home.bucket, home.code)
    }

    /// A free slot of `bucket`.
    pub fn free_slot(&self, bucket: u32) -> Option<TableSlot> {
        self.slot_with(bucket, 0)
    }

    /// One free slot from each word of `bucket` that has any.
    pub fn free_slots(&self, bucket: u32) -> impl Iterator<Item = TableSlot> + '_ {
        self.bucket_words(bucket).filter_map(|word| self.lane_with(word, 0))
    }

    /// The range of words that belong to `bucket`.
    pub fn bucket_words(&self, bucket: u32) -> core::ops::Range<u32> {
        let first = bucket * self.geometry.bucket_words();
        first..first + self.geometry.bucket_words()
    }

    /// The bucket that `slot` belongs to.
    pub fn bucket_of(&self, slot: TableSlot) -> u32 {
        slot.word / self.geometry.bucket_words()
    }

    /// All entries of the table, in the order of buckets.
    pub fn entries(&self) -> impl Iterator<Item = Home> + '_ {
        (0..self.geometry.buckets()).flat_map(|bucket| self.slots(bucket)).filter(|home| home.code != 0)
    }

    fn slots(&self, bucket: u32) -> impl Iterator<Item = Home> + '_ {
        (0..self.geometry.bucket_slots()).map(move |number| self.home_at(bucket, number))
    }

    /// The content of the slot with this number in `bucket`.
    pub fn home_at(&self, bucket: u32, number: u32) -> Home {
        let slot = self.slot(bucket, number);
        Home { bucket, code: self.lanes().get(self.words.load(slot.word), slot.at) }
    }

    /// The slot with this number in `bucket`.
    pub fn slot(&self, bucket: u32, number: u32) -> TableSlot {
        let words = self.geometry.bucket_words();
        // Few tables have several words in a bucket and several lanes in a word, and a division is slow.
        let (word, lane) = match words {
            1 => (0, number),
            _ => (number / self.lanes().count(), number % self.lanes().count()),
        };
        TableSlot { word: bucket * words + word, at: lane * self.lanes().bits() }
    }

    fn slot_with(&self, bucket: u32, code: u64) -> Option<TableSlot> {
        self.bucket_words(bucket).find_map(|word| self.lane_with(word, code))
    }

    fn lane_with(&self, word: u32, code: u64) -> Option<TableSlot> {
        Some(TableSlot { word, at: self.lanes().find(self.words.load(word), code)? })
    }

    const fn lanes(&self) -> bucket::Lanes {
        self.geometry.lanes()
    }
}

impl<S: Scheme, W: Words, L: Labels> Table<S, W, L> {
    /// The label of this `slot`.
    pub fn label_at(&self, slot: TableSlot) -> Label {
        self.labels.label(self.number_of(slot))
    }

    /// The label of the entry in one of these homes.
    pub fn label_of(&self, homes: [Home; 2]) -> Option<Label> {
        let slot = homes.into_iter().find_map(|home| self.slot_of(home))?;
        Some(self.label_at(slot))
    }
}

impl<S: Scheme, W: WordsMut, L: LabelsMut> Table<S, W, L> {
    /// Writes `code` into `slot` by one store, after the label of the new entry.
    pub fn place(&self, slot: TableSlot, code: u64, label: Label) {
        self.labels.write(self.number_of(slot), label);
        self.put(slot, code);
    }

    /// Makes the moves of a path, and adds the pending entry with this label.
    pub fn follow(&self, path: &Path, label: Label) {
        for ((slot, code), comes_from) in path.steps() {
            self.place(slot, code, comes_from.map_or(label, |from| self.label_at(from)));
        }
    }

    /// Replaces the label of the entry in one of these homes. An entry that is being moved is in both, and
    /// both labels are replaced.
    pub fn relabel(&self, homes: [Home; 2], label: Label) {
        let slots = homes.into_iter().filter_map(|home| self.slot_of(home));
        slots.for_each(|slot| self.labels.write(self.number_of(slot), label));
    }

    /// Writes `code` into `slot` by one store.
    pub fn put(&self, slot: TableSlot, code: u64) {
        self.words.store(slot.word, self.lanes().with(self.words.load(slot.word), slot.at, code));
    }

    /// Adds `key` if a home has a free slot. Returns whether it was added.
    #[inline]
    pub fn insert_free(&self, key: S::Key) -> bool {
        self.insert_free_at(self.scheme.homes(key), OTHER)
    }

    /// Adds an entry with these homes and a label if a home has a free slot.
    #[inline]
    pub fn insert_free_at(&self, homes: [Home; 2], label: Label) -> bool {
        homes.into_iter().any(|home| self.take_free(home, label))
    }

    #[inline]
    fn take_free(&self, home: Home, label: Label) -> bool {
        let slot = self.free_slot(home.bucket);
        slot.inspect(|&slot| self.place(slot, home.code, label)).is_some()
    }

    /// Adds `key`, and moves other entries if necessary. The caller must know that it is not in the table.
    ///
    /// Each entry is written to its new slot before the old one is overwritten, so no entry is ever missing
    /// from the table. A reader that loads the two buckets of an entry around a move can still miss it, so
    /// use this only for tables that no packet reads.
    #[inline]
    pub fn insert(&self, key: S::Key) -> Result<(), Full> {
        self.insert_at(self.scheme.homes(key), OTHER)
    }

    /// Adds an entry with these homes and a label in the same way.
    #[inline]
    pub fn insert_at(&self, homes: [Home; 2], label: Label) -> Result<(), Full> {
        if self.insert_free_at(homes, label) { Ok(()) } else { self.take_by_moves(homes, label) }
    }

    #[inline]
    fn take_by_moves(&self, homes: [Home; 2], label: Label) -> Result<(), Full> {
        if self.take_by_one_move(homes, label) { Ok(()) } else { self.take_by_path(homes, label) }
    }

    /// One move is nearly always enough, and checking that is cheaper than a search.
    #[inline]
    fn take_by_one_move(&self, homes: [Home; 2], label: Label) -> bool {
        let lanes = self.lanes();
        for home in homes {
            for word in self.bucket_words(home.bucket) {
                let all = self.words.load(word);
                for at in (0..u64::BITS).step_by(lanes.bits() as usize).take(lanes.count() as usize) {
                    let stands = Home { bucket: home.bucket, code: lanes.get(all, at) };
                    let other = self.scheme.other(stands);
                    if let Some(free) = self.free_slot(other.bucket) {
                        let slot = TableSlot { word, at };
                        self.place(free, other.code, self.label_at(slot));
                        self.place(slot, home.code, label);
                        return true;
                    }
                }
            }
        }
        false
    }

    /// A separate function, so that other calls do not pay for the memory that a search takes.
    #[cold]
    #[inline(never)]
    fn take_by_path(&self, homes: [Home; 2], label: Label) -> Result<(), Full> {
        let path = search::path(self, homes, |_| true).ok_or(Full)?;
        self.follow(&path, label);
        Ok(())
    }

    /// A path that makes room for `key` in the table's current state.
    pub fn path_for(&self, key: S::Key) -> Option<Path> {
        search::path(self, self.scheme.homes(key), |_| true)
    }

    /// A path to one of these homes that moves entries only from their first homes to their second ones.
    pub fn forward_path_for(&self, homes: [Home; 2]) -> Option<Path> {
        search::path(self, homes, |home| self.scheme.is_first(home))
    }

    /// Removes `key` from every slot that holds it. Returns the number of slots.
    pub fn remove(&self, key: S::Key) -> u32 {
        let mut removed = 0;
        while self.remove_one(key) {
            removed += 1;
        }
        removed
    }

    /// Removes `key` from one slot. Returns whether there was one. For schemes in which two keys can have the
    /// same code: another slot may belong to another key.
    #[inline]
    pub fn remove_one(&self, key: S::Key) -> bool {
        let slot = self.scheme.homes(key).into_iter().find_map(|home| self.slot_of(home));
        slot.inspect(|&slot| self.put(slot, 0)).is_some()
    }
}

#[cfg(test)]
pub(crate) mod tests;
