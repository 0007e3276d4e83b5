//! A larger table made aside, while the one in use goes on changing.
//!
//! What is to be in it is copied from the words of the table in use, where these spell its entries: milliseconds even for
//! ten million. Else it is gathered from what is wanted, a page at a time, so that nobody waits. Then a thread fills the
//! larger table. What enters and leaves meanwhile is noted, and done to the larger table before it takes its place: each
//! of these twice does no harm, so it does not matter whether the copy or the page had seen it already.

use std::ops::BitOr;
use std::thread::{self, JoinHandle};

use filter_common::cuckoo::Full;
use filter_common::target::Prefix6;

use super::kind::{Entry, Key, Kind, Live};
use super::needs::SixTargets;
use super::store::Built;

/// Entries gathered at once: about a millisecond's worth.
const PAGE: usize = 8192;

/// The larger table, and what it does not know yet.
pub struct Growth<K: Kind> {
    kind: K,
    stage: Stage<K>,
    since: Vec<Change<K>>,
}

enum Stage<K: Kind> {
    Gathering(Box<Gathering<K>>),
    Filling(JoinHandle<Result<Live<K>, Full>>),
}

/// What is wanted, read page by page.
struct Gathering<K: Kind> {
    after: Option<Prefix6>,
    entries: Vec<Entry<K>>,
    /// The table that the entries are for, until all are there.
    larger: Option<Live<K>>,
}

enum Change<K: Kind> {
    Entered(Entry<K>),
    Relabelled(Entry<K>),
    Left(Key<K>),
}

impl<K: Kind> Growth<K> {
    /// Begins to put all that `live` holds into a larger, empty table.
    pub fn begin(live: &Live<K>, larger: Built<K>) -> Self {
        let Built { kind, live: larger } = larger;
        let stage = match K::copied(live) {
            Some(entries) => fill(larger, entries),
            None => {
                let gathering = Gathering { after: None, entries: Vec::new(), larger: Some(larger) };
                Stage::Gathering(Box::new(gathering))
            }
        };
        Self { kind, stage, since: Vec::new() }
    }

    /// What a judge must know of the larger table.
    pub const fn kind(&self) -> &K {
        &self.kind
    }

    /// Does what is due next. True if the larger table is filled.
    pub fn step(&mut self, wanted: &impl SixTargets) -> bool {
        match &mut self.stage {
            Stage::Filling(thread) => thread.is_finished(),
            Stage::Gathering(gathering) => {
                let (page, last) = self.kind.page(wanted, gathering.after, PAGE);
                gathering.entries.extend(page);
                gathering.after = last;
                if last.is_none()
                    && let Some(larger) = gathering.larger.take()
                {
                    self.stage = fill(larger, std::mem::take(&mut gathering.entries).into_iter());
                }
                false
            }
        }
    }

    /// Somebody has entered, whether he was there already or not.
    pub fn entered(&mut self, entry_in: impl Fn(&K) -> Entry<K>) {
        self.since.push(Change::Entered(entry_in(&self.kind)));
    }

    /// Somebody who is there counts for another list.
    pub fn relabelled(&mut self, entry_in: impl Fn(&K) -> Entry<K>) {
        if self.kind.is_labelled() {
            self.since.push(Change::Relabelled(entry_in(&self.kind)));
        }
    }

    /// Somebody has left, whether he was there or not.
    pub fn left(&mut self, key_in: impl Fn(&K) -> Key<K>) {
        self.since.push(Change::Left(key_in(&self.kind)));
    }

    /// The larger table, with everything that happened meanwhile; waits until it is filled.
    pub fn finish(mut self, wanted: &impl SixTargets) -> Result<Built<K>, Full> {
        let thread = loop {
            match self.stage {
                Stage::Filling(thread) => break thread,
                Stage::Gathering(..) => _ = self.step(wanted),
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

fn fill<K: Kind>(mut larger: Live<K>, entries: impl Iterator<Item = Entry<K>> + Send + 'static) -> Stage<K> {
    Stage::Filling(thread::spawn(
        move || if larger.fill_all(entries).is_empty() { Ok(larger) } else { Err(Full) },
    ))
}

/// For which families a larger table is being made aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growing {
    /// For IPv4 addresses.
    pub addresses: bool,
    /// For IPv6 prefixes.
    pub six: bool,
}

impl Growing {
    /// For any?
    pub const fn any(self) -> bool {
        self.addresses || self.six
    }

    /// Is it over for a family of these in `after`?
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
