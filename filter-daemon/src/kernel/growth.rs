//! Makes a larger table in the background, while the one in use keeps changing.
//!
//! The broker first makes the map in a thread. The entries are copied from the words of the current table if
//! these contain whole entries: this takes milliseconds, even for ten million. Otherwise they are gathered
//! from the wanted targets one page at a time, so that requests are served in between. Then a thread fills
//! the larger table. Changes made meanwhile are recorded, and applied to the larger table before it comes
//! into use. Applying a change twice is harmless, so it does not matter whether the copy or the page
//! contained it already.

use std::ops::BitOr;
use std::thread::{self, JoinHandle};

use filter_common::cuckoo::Full;
use filter_common::target::Prefix6;

use super::KernelError;
use super::kind::{Entries, Key, Kind, Live, TableEntry};
use super::maps::Maps;
use super::needs::SixTargets;
use super::staged::OrderedMapAndLabels;
use super::store::BuiltTable;

/// Entries gathered at once: about a millisecond of work.
const PAGE: usize = 8192;

/// The larger table, and the changes that it lacks.
pub struct Growth<K: Kind> {
    kind: K,
    stage: GrowthStage<K>,
    since: Vec<TableChange<K>>,
}

enum GrowthStage<K: Kind> {
    /// The map is being made.
    Ordered {
        map: OrderedMapAndLabels,
        copied: Option<Entries<K>>,
    },
    Gathering(Box<EntryGathering<K>>),
    Filling(JoinHandle<Result<Live<K>, Full>>),
}

/// Reads the wanted entries page by page.
struct EntryGathering<K: Kind> {
    after: Option<Prefix6>,
    entries: Vec<TableEntry<K>>,
    /// The table for the entries, until all are gathered.
    larger: Option<Live<K>>,
}

/// Why a larger table could not be made.
pub enum GrowthError {
    /// An entry found no room under the table's key.
    Full,
    /// The kernel refused its map.
    Refused(KernelError),
}

enum TableChange<K: Kind> {
    Entered(TableEntry<K>),
    Relabelled(TableEntry<K>),
    Left(Key<K>),
}

impl<K: Kind> Growth<K> {
    /// Starts moving all entries of `live`, if there is a table yet, to a larger one whose map is being made.
    pub fn begin(live: Option<&Live<K>>, kind: K, map: OrderedMapAndLabels) -> Self {
        Self { kind, stage: GrowthStage::Ordered { map, copied: K::copied(live) }, since: Vec::new() }
    }

    /// The settings that a judge needs for the larger table.
    pub const fn kind(&self) -> &K {
        &self.kind
    }

    /// True if the thread has added every entry to the larger table.
    pub fn is_filled(&self) -> bool {
        matches!(&self.stage, GrowthStage::Filling(thread) if thread.is_finished())
    }

    /// Does the next step, until the larger table is being filled. Fails if the table cannot be made.
    pub fn step(&mut self, wanted: &impl SixTargets, maps: &mut Maps) -> Result<(), KernelError> {
        self.step_on(wanted, maps, false)
    }

    fn step_on(&mut self, wanted: &impl SixTargets, maps: &mut Maps, waits: bool) -> Result<(), KernelError> {
        match &mut self.stage {
            GrowthStage::Ordered { map, copied } => {
                if let Some((window, labels)) = map.collect(maps, waits)? {
                    let larger = BuiltTable::empty(self.kind, window, labels).live;
                    self.stage = match copied.take() {
                        Some(entries) => fill(larger, entries),
                        None => GrowthStage::Gathering(Box::new(EntryGathering::into(larger))),
                    };
                }
            }
            GrowthStage::Filling(_) => {}
            GrowthStage::Gathering(gathering) => {
                let (page, last) = self.kind.page(wanted, gathering.after, PAGE);
                gathering.entries.extend(page);
                gathering.after = last;
                if last.is_none()
                    && let Some(larger) = gathering.larger.take()
                {
                    self.stage = fill(larger, std::mem::take(&mut gathering.entries).into_iter());
                }
            }
        }
        Ok(())
    }

    /// Records an added entry. It may have been there already.
    pub fn entered(&mut self, entry_in: impl Fn(&K) -> TableEntry<K>) {
        self.since.push(TableChange::Entered(entry_in(&self.kind)));
    }

    /// Records that an entry counts for another list.
    pub fn relabelled(&mut self, entry_in: impl Fn(&K) -> TableEntry<K>) {
        if self.kind.is_labelled() {
            self.since.push(TableChange::Relabelled(entry_in(&self.kind)));
        }
    }

    /// Records a removed entry. It may have been missing already.
    pub fn left(&mut self, key_in: impl Fn(&K) -> Key<K>) {
        self.since.push(TableChange::Left(key_in(&self.kind)));
    }

    /// Returns the larger table with all recorded changes. Waits until it is made and filled.
    pub fn finish(mut self, wanted: &impl SixTargets, maps: &mut Maps) -> Result<BuiltTable<K>, GrowthError> {
        let thread = loop {
            match self.stage {
                GrowthStage::Filling(thread) => break thread,
                GrowthStage::Ordered { .. } | GrowthStage::Gathering(..) => {
                    self.step_on(wanted, maps, true)?
                }
            }
        };
        let mut live = thread.join().unwrap_or(Err(Full))?;
        for change in self.since {
            match change {
                TableChange::Entered((key, label)) if !live.contains(key) => live.fill(key, label)?,
                TableChange::Entered((key, label)) | TableChange::Relabelled((key, label)) => {
                    live.relabel(key, label)
                }
                TableChange::Left(key) if live.contains(key) => live.remove(key),
                TableChange::Left(_) => {}
            }
        }
        Ok(BuiltTable { kind: self.kind, live })
    }
}

impl<K: Kind> EntryGathering<K> {
    fn into(larger: Live<K>) -> Self {
        Self { after: None, entries: Vec::new(), larger: Some(larger) }
    }
}

impl From<Full> for GrowthError {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

impl From<KernelError> for GrowthError {
    fn from(refused: KernelError) -> Self {
        Self::Refused(refused)
    }
}

fn fill<K: Kind>(
    mut larger: Live<K>,
    entries: impl Iterator<Item = TableEntry<K>> + Send + 'static,
) -> GrowthStage<K> {
    GrowthStage::Filling(thread::spawn(move || larger.fill_whole(entries).map(|()| larger)))
}

/// The families whose larger table is being made in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GrowingFamilies {
    pub addresses: bool,
    pub six: bool,
}

impl GrowingFamilies {
    pub const fn any(self) -> bool {
        self.addresses || self.six
    }

    /// True if a family that grows in `self` no longer grows in `after`.
    pub const fn is_over_in(self, after: Self) -> bool {
        self.addresses && !after.addresses || self.six && !after.six
    }
}

impl BitOr for GrowingFamilies {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self { addresses: self.addresses || other.addresses, six: self.six || other.six }
    }
}
