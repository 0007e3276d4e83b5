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
use super::kind::{Entries, Entry, Key, Kind, Live};
use super::maps::Maps;
use super::needs::SixTargets;
use super::staged::OrderedBoth;
use super::store::Built;

/// Entries gathered at once: about a millisecond of work.
const PAGE: usize = 8192;

/// The larger table, and the changes that it lacks.
pub struct Growth<K: Kind> {
    kind: K,
    stage: Stage<K>,
    since: Vec<Change<K>>,
}

enum Stage<K: Kind> {
    /// The map is being made.
    Ordered {
        map: OrderedBoth,
        copied: Option<Entries<K>>,
    },
    Gathering(Box<Gathering<K>>),
    Filling(JoinHandle<Result<Live<K>, Full>>),
}

/// Reads the wanted entries page by page.
struct Gathering<K: Kind> {
    after: Option<Prefix6>,
    entries: Vec<Entry<K>>,
    /// The table for the entries, until all are gathered.
    larger: Option<Live<K>>,
}

/// Why a larger table could not be made.
pub enum NotMade {
    /// An entry found no room under the table's key.
    Full,
    /// The kernel refused its map.
    Refused(KernelError),
}

enum Change<K: Kind> {
    Entered(Entry<K>),
    Relabelled(Entry<K>),
    Left(Key<K>),
}

impl<K: Kind> Growth<K> {
    /// Starts moving all entries of `live`, if there is a table yet, to a larger one whose map is being made.
    pub fn begin(live: Option<&Live<K>>, kind: K, map: OrderedBoth) -> Self {
        Self { kind, stage: Stage::Ordered { map, copied: K::copied(live) }, since: Vec::new() }
    }

    /// The settings that a judge needs for the larger table.
    pub const fn kind(&self) -> &K {
        &self.kind
    }

    /// True if the thread has added every entry to the larger table.
    pub fn is_filled(&self) -> bool {
        matches!(&self.stage, Stage::Filling(thread) if thread.is_finished())
    }

    /// Does the next step, until the larger table is being filled. Fails if the table cannot be made.
    pub fn step(&mut self, wanted: &impl SixTargets, maps: &mut Maps) -> Result<(), KernelError> {
        self.step_on(wanted, maps, false)
    }

    fn step_on(&mut self, wanted: &impl SixTargets, maps: &mut Maps, waits: bool) -> Result<(), KernelError> {
        match &mut self.stage {
            Stage::Ordered { map, copied } => {
                if let Some((window, labels)) = map.collect(maps, waits)? {
                    let larger = Built::empty(self.kind, window, labels).live;
                    self.stage = match copied.take() {
                        Some(entries) => fill(larger, entries),
                        None => Stage::Gathering(Box::new(Gathering::into(larger))),
                    };
                }
            }
            Stage::Filling(_) => {}
            Stage::Gathering(gathering) => {
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
    pub fn entered(&mut self, entry_in: impl Fn(&K) -> Entry<K>) {
        self.since.push(Change::Entered(entry_in(&self.kind)));
    }

    /// Records that an entry counts for another list.
    pub fn relabelled(&mut self, entry_in: impl Fn(&K) -> Entry<K>) {
        if self.kind.is_labelled() {
            self.since.push(Change::Relabelled(entry_in(&self.kind)));
        }
    }

    /// Records a removed entry. It may have been missing already.
    pub fn left(&mut self, key_in: impl Fn(&K) -> Key<K>) {
        self.since.push(Change::Left(key_in(&self.kind)));
    }

    /// Returns the larger table with all recorded changes. Waits until it is made and filled.
    pub fn finish(mut self, wanted: &impl SixTargets, maps: &mut Maps) -> Result<Built<K>, NotMade> {
        let thread = loop {
            match self.stage {
                Stage::Filling(thread) => break thread,
                Stage::Ordered { .. } | Stage::Gathering(..) => self.step_on(wanted, maps, true)?,
            }
        };
        let mut live = thread.join().unwrap_or(Err(Full))?;
        for change in self.since {
            match change {
                Change::Entered((key, label)) if !live.contains(key) => live.fill(key, label)?,
                Change::Entered((key, label)) | Change::Relabelled((key, label)) => live.relabel(key, label),
                Change::Left(key) if live.contains(key) => live.remove(key),
                Change::Left(_) => {}
            }
        }
        Ok(Built { kind: self.kind, live })
    }
}

impl<K: Kind> Gathering<K> {
    fn into(larger: Live<K>) -> Self {
        Self { after: None, entries: Vec::new(), larger: Some(larger) }
    }
}

impl From<Full> for NotMade {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

impl From<KernelError> for NotMade {
    fn from(refused: KernelError) -> Self {
        Self::Refused(refused)
    }
}

fn fill<K: Kind>(mut larger: Live<K>, entries: impl Iterator<Item = Entry<K>> + Send + 'static) -> Stage<K> {
    Stage::Filling(thread::spawn(move || larger.fill_whole(entries).map(|()| larger)))
}

/// The families whose larger table is being made in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growing {
    pub addresses: bool,
    pub six: bool,
}

impl Growing {
    pub const fn any(self) -> bool {
        self.addresses || self.six
    }

    /// True if a family that grows in `self` no longer grows in `after`.
    pub const fn is_over_in(self, after: Self) -> bool {
        self.addresses && !after.addresses || self.six && !after.six
    }
}

impl BitOr for Growing {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self { addresses: self.addresses || other.addresses, six: self.six || other.six }
    }
}
