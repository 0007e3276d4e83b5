//! The cuckoo filter: buckets of codes, in which every entry stands in one of its two homes.
//!
//! `bucket` cuts words into lanes, `geometry` says how many, `scheme` is where an entry may stand (`exact` of IPv4,
//! `six` of IPv6 on `exact64`), `search` finds room. This file is the table itself: reading, and writing
//! where no reader looks on. Writing under running readers is the daemon's `kernel::live`.

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

/// No room: neither a free slot nor a path to one within the limits of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A slot: a lane of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Index of the word in the table.
    pub word: u32,
    /// The bit of the word at which the lane begins.
    pub at: u32,
}

/// Buckets somewhere, who may stand where in them, and a label beside each slot, if any are kept.
#[derive(Clone, Copy, Debug)]
pub struct Table<S, W, L = NoLabels> {
    scheme: S,
    geometry: Geometry,
    words: W,
    labels: L,
}

impl<S: Scheme, W: Words> Table<S, W> {
    /// The table of this shape in `words`, without labels.
    pub const fn new(scheme: S, geometry: Geometry, words: W) -> Self {
        Self::labelled(scheme, geometry, words, NoLabels)
    }
}

impl<S: Scheme, W: Words, L> Table<S, W, L> {
    /// The table of this shape in `words`, with these labels.
    pub const fn labelled(scheme: S, geometry: Geometry, words: W, labels: L) -> Self {
        Self { scheme, geometry, words, labels }
    }

    /// Who may stand where.
    pub const fn scheme(&self) -> &S {
        &self.scheme
    }

    /// The shape.
    pub const fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Where the buckets live.
    pub const fn words(&self) -> &W {
        &self.words
    }

    /// Where the labels live.
    pub const fn labels(&self) -> &L {
        &self.labels
    }

    /// The same, to put others in their place.
    pub const fn labels_mut(&mut self) -> &mut L {
        &mut self.labels
    }

    /// The number of `slot` among all slots, which is that of its label.
    pub const fn number_of(&self, slot: Slot) -> u32 {
        slot.word * self.lanes().count() + self.lanes().number(slot.at)
    }

    /// Does `key` stand in one of its homes? Both are loaded before either is compared, so a hit costs what a miss costs.
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

    /// The slot in which `home` is taken by its code.
    pub fn slot_of(&self, home: Home) -> Option<Slot> {
        self.slot_with(home.bucket, home.code)
    }

    /// A free slot of `bucket`.
    pub fn free_slot(&self, bucket: u32) -> Option<Slot> {
        self.slot_with(bucket, 0)
    }

    /// A free slot in each word of `bucket` that has one.
    pub fn free_slots(&self, bucket: u32) -> impl Iterator<Item = Slot> + '_ {
        self.bucket_words(bucket).filter_map(|word| self.lane_with(word, 0))
    }

    /// The words of `bucket`.
    pub fn bucket_words(&self, bucket: u32) -> core::ops::Range<u32> {
        let first = bucket * self.geometry.bucket_words();
        first..first + self.geometry.bucket_words()
    }

    /// The bucket that `slot` belongs to.
    pub fn bucket_of(&self, slot: Slot) -> u32 {
        slot.word / self.geometry.bucket_words()
    }

    /// Everything in the table, in the order of its buckets.
    pub fn entries(&self) -> impl Iterator<Item = Home> + '_ {
        (0..self.geometry.buckets()).flat_map(|bucket| self.slots(bucket)).filter(|home| home.code != 0)
    }

    fn slots(&self, bucket: u32) -> impl Iterator<Item = Home> + '_ {
        (0..self.geometry.bucket_slots()).map(move |number| self.home_at(bucket, number))
    }

    /// What stands in the slot of this number in `bucket`.
    pub fn home_at(&self, bucket: u32, number: u32) -> Home {
        let slot = self.slot(bucket, number);
        Home { bucket, code: self.lanes().get(self.words.load(slot.word), slot.at) }
    }

    /// The slot of this number in `bucket`.
    pub fn slot(&self, bucket: u32, number: u32) -> Slot {
        let words = self.geometry.bucket_words();
        // Few tables have several words in a bucket and several lanes in a word; a division takes its time.
        let (word, lane) = match words {
            1 => (0, number),
            _ => (number / self.lanes().count(), number % self.lanes().count()),
        };
        Slot { word: bucket * words + word, at: lane * self.lanes().bits() }
    }

    fn slot_with(&self, bucket: u32, code: u64) -> Option<Slot> {
        self.bucket_words(bucket).find_map(|word| self.lane_with(word, code))
    }

    fn lane_with(&self, word: u32, code: u64) -> Option<Slot> {
        Some(Slot { word, at: self.lanes().find(self.words.load(word), code)? })
    }

    const fn lanes(&self) -> bucket::Lanes {
        self.geometry.lanes()
    }
}

impl<S: Scheme, W: Words, L: Labels> Table<S, W, L> {
    /// The label beside `slot`.
    pub fn label_at(&self, slot: Slot) -> Label {
        self.labels.label(self.number_of(slot))
    }

    /// The label of whoever stands in one of these homes.
    pub fn label_of(&self, homes: [Home; 2]) -> Option<Label> {
        let slot = homes.into_iter().find_map(|home| self.slot_of(home))?;
        Some(self.label_at(slot))
    }
}

impl<S: Scheme, W: WordsMut, L: LabelsMut> Table<S, W, L> {
    /// Writes `code` into `slot`, by one store, and before it the label of whoever stands there then.
    pub fn place(&self, slot: Slot, code: u64, label: Label) {
        self.labels.write(self.number_of(slot), label);
        self.put(slot, code);
    }

    /// Makes the moves of a path, and lets a pending entry with this label in.
    pub fn follow(&self, path: &Path, label: Label) {
        for ((slot, code), comes_from) in path.steps() {
            self.place(slot, code, comes_from.map_or(label, |from| self.label_at(from)));
        }
    }

    /// Replaces the label of whoever stands in one of these homes; in both, if he is on his way.
    pub fn relabel(&self, homes: [Home; 2], label: Label) {
        let slots = homes.into_iter().filter_map(|home| self.slot_of(home));
        slots.for_each(|slot| self.labels.write(self.number_of(slot), label));
    }

    /// Writes `code` into `slot`, by one store.
    pub fn put(&self, slot: Slot, code: u64) {
        self.words.store(slot.word, self.lanes().with(self.words.load(slot.word), slot.at, code));
    }

    /// Lets `key` in where a home has a free slot; says whether one had.
    #[inline]
    pub fn insert_free(&self, key: S::Key) -> bool {
        self.insert_free_at(self.scheme.homes(key), OTHER)
    }

    /// The same, for one who has these homes, and a label.
    #[inline]
    pub fn insert_free_at(&self, homes: [Home; 2], label: Label) -> bool {
        homes.into_iter().any(|home| self.take_free(home, label))
    }

    #[inline]
    fn take_free(&self, home: Home, label: Label) -> bool {
        let slot = self.free_slot(home.bucket);
        slot.inspect(|&slot| self.place(slot, home.code, label)).is_some()
    }

    /// Lets `key` in, moving others aside where it must. The caller knows that it is not there yet.
    ///
    /// Each entry is written to its new slot before the old one is overwritten, so none is ever nowhere; yet a
    /// reader that loads its two buckets around a move can miss it. Only for tables that nobody reads.
    #[inline]
    pub fn insert(&self, key: S::Key) -> Result<(), Full> {
        self.insert_at(self.scheme.homes(key), OTHER)
    }

    /// The same, for one who has these homes, and a label.
    #[inline]
    pub fn insert_at(&self, homes: [Home; 2], label: Label) -> Result<(), Full> {
        if self.insert_free_at(homes, label) { Ok(()) } else { self.take_by_moves(homes, label) }
    }

    #[inline]
    fn take_by_moves(&self, homes: [Home; 2], label: Label) -> Result<(), Full> {
        if self.take_by_one_move(homes, label) { Ok(()) } else { self.take_by_path(homes, label) }
    }

    /// Nearly always it is enough that one entry moves, and to see that takes less than to search.
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
                        let slot = Slot { word, at };
                        self.place(free, other.code, self.label_at(slot));
                        self.place(slot, home.code, label);
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Apart, so that nobody else pays for the memory that a search takes.
    #[cold]
    #[inline(never)]
    fn take_by_path(&self, homes: [Home; 2], label: Label) -> Result<(), Full> {
        let path = search::path(self, homes, |_| true).ok_or(Full)?;
        self.follow(&path, label);
        Ok(())
    }

    /// A path by which `key` can come in, as the table now stands.
    pub fn path_for(&self, key: S::Key) -> Option<Path> {
        search::path(self, self.scheme.homes(key), |_| true)
    }

    /// A path to one of these homes, moving entries only from their first homes to their second ones.
    pub fn forward_path_for(&self, homes: [Home; 2]) -> Option<Path> {
        search::path(self, homes, |home| self.scheme.is_first(home))
    }

    /// Takes `key` out of every slot in which it stands; says how many there were.
    pub fn remove(&self, key: S::Key) -> u32 {
        let mut removed = 0;
        while self.remove_one(key) {
            removed += 1;
        }
        removed
    }

    /// Takes `key` out of one slot; says whether there was any. For schemes in which keys can look alike: another
    /// slot may stand for another key.
    #[inline]
    pub fn remove_one(&self, key: S::Key) -> bool {
        let slot = self.scheme.homes(key).into_iter().find_map(|home| self.slot_of(home));
        slot.inspect(|&slot| self.put(slot, 0)).is_some()
    }
}

#[cfg(test)]
pub(crate) mod tests;
