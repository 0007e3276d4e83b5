//! One cuckoo table in the kernel, and the one that is about to take its place.

use std::ops::Range;

use filter_common::cuckoo::Full;
use filter_common::cuckoo::geometry::Geometry;
use filter_common::sets::SetName;

use super::broker::request::MapName;
use super::kind::{Entry, Key, Kind, Live, TableLabels};
use super::maps::Maps;
use super::moving::{Moving, Readers};
use super::staged::{InMap, OrderedBoth, Staged};
use super::window::Window;
use super::{KernelError, Occupancy};

/// The table that packets read, and a fresh one beside it that none reads yet.
pub struct Store<K: Kind> {
    set: SetName,
    tables: Staged<Built<K>>,
    growths: u64,
    /// How many entries had moved in tables that are gone.
    relocations: u64,
}

/// A table with what a judge must know of it.
pub struct Built<K: Kind> {
    /// What a judge must know.
    pub kind: K,
    /// The table.
    pub live: Live<K>,
}

impl<K: Kind> Store<K> {
    /// Nothing yet.
    pub const fn new(set: SetName) -> Self {
        Self { set, tables: Staged::new(MapName { set, part: K::PART }), growths: 0, relocations: 0 }
    }

    /// What the next judge must know of the table; none if there is no table.
    pub fn kind(&self) -> Option<&K> {
        self.tables.newest().map(|built| &built.kind)
    }

    /// The geometry of the newest table.
    pub fn geometry(&self) -> Option<Geometry> {
        self.kind().map(Kind::geometry)
    }

    /// How many entries fit before the table must be built larger.
    pub fn limit(&self) -> u64 {
        self.geometry().map_or(0, |geometry| geometry.limit())
    }

    /// How many entries the newest table holds.
    pub fn entries(&self) -> u64 {
        self.newest_live().map_or(0, Moving::entries)
    }

    /// Has the map of an empty table made, while others go on.
    pub fn order(&self, geometry: Geometry, maps: &mut Maps) -> Result<(K, OrderedBoth), KernelError> {
        let kind = K::new(maps.number(), geometry, maps.want_labels(self.set));
        let (words, of_labels) = (kind.words(), kind.label_words());
        let ordered = self.tables.order_with_labels(kind.generation(), words, of_labels, maps)?;
        Ok((kind, ordered))
    }

    /// Has an empty table made.
    pub fn build(&self, geometry: Geometry, maps: &mut Maps) -> Result<Built<K>, KernelError> {
        let kind = K::new(maps.number(), geometry, maps.want_labels(self.set));
        let window = self.tables.make(kind.generation(), kind.words(), maps)?;
        let labels = self.tables.make_labels(kind.generation(), kind.label_words(), maps)?;
        Ok(Built::empty(kind, window, labels))
    }

    /// Puts a filled table beside the one in use.
    pub fn put(&mut self, built: Built<K>, maps: &mut Maps) {
        self.tables.put(built, maps);
    }

    /// Lets go of a table that never came into use.
    pub fn forget(&self, kind: &K, maps: &mut Maps) {
        self.tables.forget(kind.generation(), kind.is_labelled(), maps);
    }

    /// Plans that there is no table.
    pub fn drop_next(&mut self, maps: &mut Maps) {
        self.tables.drop_next(maps);
    }

    /// Forgets the plan.
    pub fn discard(&mut self, maps: &mut Maps) {
        self.tables.discard(maps);
    }

    /// Is there a table that packets do not read yet?
    pub const fn has_fresh(&self) -> bool {
        self.tables.fresh().is_some()
    }

    /// Is there one, and nothing in it?
    pub fn is_fresh_and_empty(&self) -> bool {
        self.tables.fresh().is_some_and(|built| built.live.entries() == 0)
    }

    /// Everything the newest table holds, in the words of its scheme.
    pub fn newest_live(&self) -> Option<&Live<K>> {
        self.tables.newest().map(|built| &built.live)
    }

    /// The table that packets read.
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

    /// Has every table labels that there is?
    pub fn is_labelled(&self) -> bool {
        self.kind().is_none_or(Kind::is_labelled)
    }

    /// Brings the homes of these keys near, since they will be wanted soon: memory is waited for once, not once for each.
    pub fn prefetch(&self, key_in: impl Fn(&K, usize) -> Key<K>, count: usize) {
        if let Some(built) = self.tables.newest() {
            (0..count).for_each(|at| built.live.table().prefetch(key_in(&built.kind, at)));
        }
    }

    /// Lets an entry in. If it is there, only its label changes: nobody may stand twice.
    pub fn enter(&mut self, entry_in: impl Fn(&K) -> Entry<K>) -> Result<(), Full> {
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

    /// Lets the entries of these numbers in, until there is no room for one; of those that are there only the label changes.
    /// Tells how many came before that one.
    pub fn enter_all(&mut self, entry_in: impl Fn(&K, usize) -> Entry<K>, numbers: Range<usize>) -> usize {
        let readers = if self.has_fresh() { Readers::Nobody } else { Readers::Packets };
        let Some(Built { kind, live }) = self.tables.newest_mut() else { return 0 };
        let kind = *kind;
        live.enter_all(numbers.map(|number| entry_in(&kind, number)), readers)
    }

    /// Lets all entries of these numbers into the fresh table, none of which is there; gives back those for which there is
    /// no room.
    pub fn fill_all(
        &mut self,
        entry_in: impl Fn(&K, usize) -> Entry<K>,
        numbers: Range<usize>,
    ) -> Vec<Entry<K>> {
        let Some(Built { kind, live }) = self.tables.fresh_mut() else { return Vec::new() };
        let kind = *kind;
        live.fill_all(numbers.map(|number| entry_in(&kind, number)))
    }

    /// Replaces the label of an entry in whatever table holds it.
    pub fn relabel(&mut self, entry_in: impl Fn(&K) -> Entry<K>) {
        self.tables.fresh_mut().into_iter().for_each(|built| built.relabel(&entry_in));
        self.tables.current_mut().into_iter().for_each(|built| built.relabel(&entry_in));
    }

    /// Gives up the labels of the table that packets read: no judge asks for them any more.
    pub fn forget_labels(&mut self) {
        self.tables.current_mut().into_iter().for_each(Built::forget_labels);
    }

    /// Takes a key out of whatever table holds it.
    pub fn leave(&mut self, key_in: impl Fn(&K) -> Key<K>) {
        self.leave_fresh(&key_in);
        self.tables.current_mut().into_iter().for_each(|built| built.take_out(&key_in));
    }

    /// Takes a key out of the fresh table alone.
    pub fn leave_fresh(&mut self, key_in: impl Fn(&K) -> Key<K>) {
        self.tables.fresh_mut().into_iter().for_each(|built| built.take_out(&key_in));
    }

    /// The plan has come true.
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

    /// For the log: what is in it may be blocked or allowed.
    fn name(&self) -> String {
        match self.set {
            SetName::Block => K::NAME.to_owned(),
            SetName::Allow => format!("allowed {}", K::NAME),
            SetName::Clause(_) => format!("{} on some ports", K::NAME),
        }
    }

    /// Is the table much larger than one for so many entries would be? What is small stays as it is.
    pub fn is_roomy_for(&self, entries: u64) -> bool {
        const MUCH: u64 = 8;
        const SMALL: u64 = 16 * 1024;
        self.limit() > SMALL && self.limit() > MUCH * entries
    }

    /// Does the next step for entries on the move in the table that packets read.
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

impl<K: Kind> InMap for Built<K> {
    fn generation(&self) -> u64 {
        self.kind.generation()
    }

    fn is_labelled(&self) -> bool {
        self.kind.is_labelled()
    }
}

impl<K: Kind> Built<K> {
    /// In this map, whose words are zero, and with these labels.
    pub fn empty(kind: K, window: Window, labels: TableLabels) -> Self {
        Self { live: Moving::new(kind.scheme(), kind.geometry(), window, labels), kind }
    }

    fn relabel(&mut self, entry_in: impl Fn(&K) -> Entry<K>) {
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
