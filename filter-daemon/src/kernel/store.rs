//! One cuckoo table in the kernel, and the staged one that replaces it.

use std::ops::Range;

use filter_common::cuckoo::Full;
use filter_common::cuckoo::geometry::Geometry;
use filter_common::sets::SetName;

use super::broker::request::MapName;
use super::kind::{Key, Kind, Live, TableEntry, TableLabels};
use super::maps::Maps;
use super::moving::{Moving, Readers};
use super::staged::{InMap, OrderedMapAndLabels, Staged};
use super::window::Window;
use super::{KernelError, Occupancy};

/// The table that packets read, and a fresh one that no packet reads yet.
pub struct TableStore<K: Kind> {
    set: SetName,
    tables: Staged<BuiltTable<K>>,
    growths: u64,
    /// Moves within earlier tables.
    relocations: u64,
}

/// A table, and the settings that a judge needs to read it.
pub struct BuiltTable<K: Kind> {
    pub kind: K,
    pub live: Live<K>,
}

impl<K: Kind> TableStore<K> {
    pub const fn new(set: SetName) -> Self {
        Self { set, tables: Staged::new(MapName { set, part: K::PART }), growths: 0, relocations: 0 }
    }

    /// The settings for the next judge; none if there is no table.
    pub fn kind(&self) -> Option<&K> {
        self.tables.newest().map(|built| &built.kind)
    }

    pub fn geometry(&self) -> Option<Geometry> {
        self.kind().map(Kind::geometry)
    }

    /// Entries that fit before a larger table must be built.
    pub fn limit(&self) -> u64 {
        self.geometry().map_or(0, |geometry| geometry.limit())
    }

    /// Entries in the newest table.
    pub fn entries(&self) -> u64 {
        self.newest_live().map_or(0, Moving::entries)
    }

    /// Starts making the map of an empty table; other requests are served meanwhile.
    pub fn order(
        &self,
        geometry: Geometry,
        maps: &mut Maps,
    ) -> Result<(K, OrderedMapAndLabels), KernelError> {
        let kind = K::new(maps.number(), geometry, maps.want_labels(self.set));
        let (words, of_labels) = (kind.words(), kind.label_words());
        let ordered = self.tables.order_with_labels(kind.generation(), words, of_labels, maps)?;
        Ok((kind, ordered))
    }

    /// Makes an empty table.
    pub fn build(&self, geometry: Geometry, maps: &mut Maps) -> Result<BuiltTable<K>, KernelError> {
        let kind = K::new(maps.number(), geometry, maps.want_labels(self.set));
        let window = self.tables.make(kind.generation(), kind.words(), maps)?;
        let labels = self.tables.make_labels(kind.generation(), kind.label_words(), maps)?;
        Ok(BuiltTable::empty(kind, window, labels))
    }

    /// Plans to put a filled table in place of the current one.
    pub fn put(&mut self, built: BuiltTable<K>, maps: &mut Maps) {
        self.tables.put(built, maps);
    }

    /// Discards a table that was never used.
    pub fn forget(&self, kind: &K, maps: &mut Maps) {
        self.tables.forget(kind.generation(), kind.is_labelled(), maps);
    }

    /// Plans to have no table.
    pub fn drop_next(&mut self, maps: &mut Maps) {
        self.tables.drop_next(maps);
    }

    pub fn discard(&mut self, maps: &mut Maps) {
        self.tables.discard(maps);
    }

    /// True if there is a table that packets do not read yet.
    pub const fn has_fresh(&self) -> bool {
        self.tables.fresh().is_some()
    }

    /// True if there is a fresh table without entries.
    pub fn is_fresh_and_empty(&self) -> bool {
        self.tables.fresh().is_some_and(|built| built.live.entries() == 0)
    }

    /// The table that packets read after the next publication.
    pub fn newest_live(&self) -> Option<&Live<K>> {
        self.tables.newest().map(|built| &built.live)
    }

    /// The table that packets read now.
    pub fn current_live(&self) -> Option<&Live<K>> {
        self.tables.current().map(|built| &built.live)
    }

    /// The words of the table that packets read.
    pub fn words(&self) -> Option<&Window> {
        self.current_live().map(|live| live.table().words().all())
    }

    /// The labels of the table that packets read.
    pub fn labels(&self) -> Option<&Window> {
        self.current_live().and_then(|live| live.table().labels().all().as_ref()).map(|labels| &labels.0)
    }

    /// True if the newest table has labels, or if there is none.
    pub fn is_labelled(&self) -> bool {
        self.kind().is_none_or(Kind::is_labelled)
    }

    /// Prefetches the homes of these keys, so that the processor waits for memory once instead of once a key.
    pub fn prefetch(&self, key_in: impl Fn(&K, usize) -> Key<K>, count: usize) {
        if let Some(built) = self.tables.newest() {
            (0..count).for_each(|at| built.live.table().prefetch(key_in(&built.kind, at)));
        }
    }

    /// Adds an entry. If it is there already, only its label changes: no entry may be in the table twice.
    pub fn enter(&mut self, entry_in: impl Fn(&K) -> TableEntry<K>) -> Result<(), Full> {
        let is_fresh = self.has_fresh();
        let Some(built) = self.tables.newest_mut() else { return Err(Full) };
        let (key, label) = entry_in(&built.kind);
        if built.live.contains(key) {
            built.live.relabel(key, label);
            Ok(())
        } else if is_fresh {
            built.live.fill(key, label)
        } else {
            built.live.add(key, label)
        }
    }

    /// Adds the entries of these numbers until one finds no room. Returns how many were processed before that
    /// one. For entries that are there already only the label changes.
    pub fn enter_all(
        &mut self,
        entry_in: impl Fn(&K, usize) -> TableEntry<K>,
        numbers: Range<usize>,
    ) -> usize {
        let readers = if self.has_fresh() { Readers::Nobody } else { Readers::Packets };
        let Some(BuiltTable { kind, live }) = self.tables.newest_mut() else { return 0 };
        let kind = *kind;
        live.enter_all(numbers.map(|number| entry_in(&kind, number)), readers)
    }

    /// Adds all entries of these numbers to the fresh table, which must contain none of them. Returns those
    /// that found no room.
    pub fn fill_all(
        &mut self,
        entry_in: impl Fn(&K, usize) -> TableEntry<K>,
        numbers: Range<usize>,
    ) -> Vec<TableEntry<K>> {
        let Some(BuiltTable { kind, live }) = self.tables.fresh_mut() else { return Vec::new() };
        let kind = *kind;
        live.fill_all(numbers.map(|number| entry_in(&kind, number)))
    }

    /// Replaces the label of an entry in all tables that hold it.
    pub fn relabel(&mut self, entry_in: impl Fn(&K) -> TableEntry<K>) {
        self.tables.fresh_mut().into_iter().for_each(|built| built.relabel(&entry_in));
        self.tables.current_mut().into_iter().for_each(|built| built.relabel(&entry_in));
    }

    /// Releases the labels of the current table: no judge reads them.
    pub fn forget_labels(&mut self) {
        self.tables.current_mut().into_iter().for_each(BuiltTable::forget_labels);
    }

    /// Removes a key from all tables that hold it.
    pub fn leave(&mut self, key_in: impl Fn(&K) -> Key<K>) {
        self.leave_fresh(&key_in);
        self.tables.current_mut().into_iter().for_each(|built| built.take_out(&key_in));
    }

    /// Removes a key from the fresh table only.
    pub fn leave_fresh(&mut self, key_in: impl Fn(&K) -> Key<K>) {
        self.tables.fresh_mut().into_iter().for_each(|built| built.take_out(&key_in));
    }

    pub fn publish(&mut self) {
        let before = self.occupancy();
        if self.tables.publish() {
            let Occupancy { entries, capacity, bytes, .. } = self.occupancy();
            self.growths += u64::from(before.capacity > 0 && capacity > before.capacity);
            self.relocations = before.relocations;
            tracing::info!(
                "{}: new table with room for {capacity} entries ({} KiB), {entries} in it",
                self.name(),
                bytes / 1024
            );
        }
    }

    /// The table's name in the log.
    fn name(&self) -> String {
        match self.set {
            SetName::Block => K::NAME.to_owned(),
            SetName::Allow => format!("allowed {}", K::NAME),
            SetName::Clause(_) => format!("{} on some ports", K::NAME),
            SetName::Out => format!("blocked destinations: {}", K::NAME),
        }
    }

    /// True if the table is much larger than this many entries need. Small tables never count as roomy.
    pub fn is_roomy_for(&self, entries: u64) -> bool {
        const MUCH: u64 = 8;
        const SMALL: u64 = 16 * 1024;
        self.limit() > SMALL && self.limit() > MUCH * entries
    }

    /// Does the next step for entries that are being moved in the table that packets read.
    pub fn advance(&mut self) -> bool {
        self.tables.current_mut().is_some_and(|built| built.live.advance())
    }

    /// How full the table is that packets read.
    pub fn occupancy(&self) -> Occupancy {
        let (growths, relocations) = (self.growths, self.relocations);
        let none = Occupancy { growths, relocations, ..Occupancy::default() };
        self.current_live().map_or(none, |live| Occupancy {
            entries: live.entries(),
            capacity: live.table().geometry().limit(),
            bytes: live.table().words().all().bytes() + self.labels().map_or(0, Window::bytes),
            growths,
            relocations: relocations + live.moves(),
        })
    }
}

impl<K: Kind> InMap for BuiltTable<K> {
    fn generation(&self) -> u64 {
        self.kind.generation()
    }

    fn is_labelled(&self) -> bool {
        self.kind.is_labelled()
    }
}

impl<K: Kind> BuiltTable<K> {
    /// An empty table in this map, whose words must be zero, with these labels.
    pub fn empty(kind: K, window: Window, labels: TableLabels) -> Self {
        Self { live: Moving::new(kind.scheme(), kind.geometry(), window, labels), kind }
    }

    fn relabel(&mut self, entry_in: impl Fn(&K) -> TableEntry<K>) {
        if self.kind.is_labelled() {
            let (key, label) = entry_in(&self.kind);
            self.live.relabel(key, label);
        }
    }

    fn forget_labels(&mut self) {
        self.kind.forget_labels();
        self.live.forget_labels();
    }

    fn take_out(&mut self, key_in: impl Fn(&K) -> Key<K>) {
        let key = key_in(&self.kind);
        if self.live.contains(key) {
            self.live.remove(key);
        }
    }
}
