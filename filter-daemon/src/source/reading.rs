//! The sources of lists: the latest reading of each, the version that was accepted, and any trouble.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::digest::Digest;
use super::peaks::Peaks;
use crate::blocklist::{ListId, Meaning, Timestamp};

/// The latest readings of the sources of all lists.
#[derive(Clone, Debug, Default)]
pub struct SourceReadings(BTreeMap<ListId, SourceReading>);

impl SourceReadings {
    /// The reading of this list's source, if it has one.
    pub fn of(&self, list: ListId) -> Option<&SourceReading> {
        self.0.get(&list)
    }

    /// The same, to be updated.
    pub fn of_mut(&mut self, list: ListId) -> &mut SourceReading {
        self.0.entry(list).or_default()
    }

    /// How long the targets of this list's source stay on it; none if for good.
    pub fn ttl(&self, list: ListId) -> Option<Duration> {
        self.of(list)?.ttl
    }

    /// The version of this list's source that was accepted.
    pub fn accepted(&self, list: ListId) -> Option<&AcceptedSource> {
        self.of(list)?.accepted.as_ref()
    }

    /// The same, to be updated.
    pub fn accepted_mut(&mut self, list: ListId) -> Option<&mut AcceptedSource> {
        self.0.get_mut(&list)?.accepted.as_mut()
    }

    /// All versions that were accepted.
    pub fn all_accepted(&self) -> impl Iterator<Item = (ListId, &AcceptedSource)> {
        self.0.iter().filter_map(|(id, reading)| Some((*id, reading.accepted.as_ref()?)))
    }

    /// Why this list differs from its source, if it does.
    pub fn trouble(&self, list: ListId) -> Option<&ListTrouble> {
        self.of(list)?.trouble.as_ref()
    }

    /// Forgets a list that is gone. Another list may get its number.
    pub fn forget(&mut self, list: ListId) {
        self.0.remove(&list);
    }
}

/// Identifies the contents of a source without reading it. `source` makes and compares stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceStamp(pub [u64; 7]);

/// The latest reading of the source of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceReading {
    /// The path of the file.
    pub path: PathBuf,
    /// The stamp at the last reading; none if the file must be read again in any case.
    pub stamp: Option<SourceStamp>,
    /// How many lines were not understood.
    pub rejected: u64,
    /// The first of these lines, as messages quote them.
    pub examples: Vec<String>,
    /// The format it was read as; empty if it was never read.
    pub format: &'static str,
    /// How many targets were special ranges, in whole or in part; these parts were removed.
    pub special: u64,
    /// How it is read, in the words of `source`. Equal words mean that nothing about it has changed.
    pub how: String,
    /// The limits that it was judged by, in the numbers of `source`.
    pub limits: [u64; 4],
    /// When its database was built, in seconds since 1970; none for sources without a database.
    pub built: Option<u64>,
    /// The latest version that was accepted; none if there never was one.
    pub accepted: Option<AcceptedSource>,
    /// How long the targets that it names stay on the list; for good if none.
    pub ttl: Option<Duration>,
    /// Why the list differs from its source, if it does.
    pub trouble: Option<ListTrouble>,
}

/// An accepted version of a source, which the saved copy also describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedSource {
    /// The name of the list at that time.
    pub name: Arc<str>,
    /// The path of the file.
    pub path: PathBuf,
    /// The stamp of the file; none if it may have been written meanwhile.
    pub stamp: Option<SourceStamp>,
    /// When it was read.
    pub at: Timestamp,
    /// How many targets it named.
    pub entries: u64,
    /// How many lines were not understood.
    pub rejected: u64,
    /// True if the file was missing and the operator accepted that.
    pub is_missing: bool,
    /// The size in bytes.
    pub bytes: u64,
    /// The digest of these bytes.
    pub digest: Digest,
    /// How long its targets stay on the list, and since when that applies; none if for good.
    pub term: Option<EntryTerm>,
    /// The meaning of the list; none if the copy does not record it.
    pub meaning: Option<Meaning>,
    /// The sizes that the list had before it shrank.
    pub peaks: Peaks,
    /// When its entries were added and end, if that is saved.
    pub times: Option<SavedTimes>,
}

/// Where the times of a list's entries are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedTimes {
    pub digest: Digest,
    /// The size in bytes.
    pub bytes: u64,
    /// The seconds to add, so that saved times become those of this process.
    pub shift: i64,
}

/// A time to live, and the moment from which it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryTerm {
    pub ttl: Duration,
    /// No entry counts from an earlier moment.
    pub from: Timestamp,
}

impl AcceptedSource {
    /// Its term with this time to live: the present term, or a new one that starts now.
    pub fn term_of(&self, ttl: Option<Duration>, now: Timestamp) -> Option<EntryTerm> {
        let anew = |ttl| EntryTerm { ttl, from: now };
        ttl.map(|ttl| self.term.filter(|term| term.ttl == ttl).unwrap_or_else(|| anew(ttl)))
    }

    /// When the entries of this version expire with this time to live.
    pub fn until(&self, ttl: Duration, now: Timestamp) -> Timestamp {
        let from = self.term_of(Some(ttl), now).map_or(self.at, |term| term.from.max(self.at));
        from.later_by(ttl.as_secs() as i64)
    }

    /// True if the operator accepted that this path is missing. An acceptance for another path does not
    /// count.
    pub fn may_be_missing(&self, path: &Path) -> bool {
        self.is_missing && self.path == path
    }
}

/// The report on a list that differs from its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListTrouble {
    /// When the trouble began.
    pub since: Timestamp,
    /// The error, and the version that is used instead.
    pub message: String,
    /// How to fix it.
    pub remedy: String,
}
