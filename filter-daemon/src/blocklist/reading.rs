//! How the source of a list was found: what was read, what was believed of it, and what is wrong with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{Meaning, Peaks, Timestamp};

/// What identifies the contents of a source without reading it; whoever reads sources makes them, and compares them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(pub [u64; 7]);

/// How the source of a list was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The file.
    pub path: PathBuf,
    /// What it was when it was last read; none if it is to be read again in any case.
    pub stamp: Option<Stamp>,
    /// How many of its lines were not understood.
    pub rejected: u64,
    /// The first of them, as they are told.
    pub examples: Vec<String>,
    /// What it was read as; nothing if it never was.
    pub format: &'static str,
    /// How many of its targets were special ranges, or in part, and were taken out.
    pub special: u64,
    /// How it is read, in words of whoever reads sources: the same where nothing about it has changed.
    pub how: String,
    /// By which limits it was judged, in numbers of whoever reads sources.
    pub limits: [u64; 4],
    /// When the database that it was chosen out of was made, in seconds since 1970; none where there is none.
    pub built: Option<u64>,
    /// What was last believed of it; none if nothing ever was.
    pub accepted: Option<Accepted>,
    /// How long what it names stays on the list; for good if none.
    pub ttl: Option<Duration>,
    /// Why the list is not what its source says.
    pub trouble: Option<Trouble>,
}

/// What is known of a source that was believed, and so of the copy that is kept of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// What the list was called.
    pub name: Arc<str>,
    /// The file.
    pub path: PathBuf,
    /// What it was; none if it was written meanwhile, perhaps.
    pub stamp: Option<Stamp>,
    /// When it was read.
    pub at: Timestamp,
    /// How many targets it named.
    pub entries: u64,
    /// How many of its lines were not understood.
    pub rejected: u64,
    /// It was not there, and the operator said that it is meant.
    pub is_missing: bool,
    /// How many bytes it had.
    pub bytes: u64,
    /// Over these.
    pub checksum: u32,
    /// How long what it names stays on the list, and since when that is so; none if for good.
    pub term: Option<Term>,
    /// What it meant to be on the list; none if nobody wrote that down.
    pub meaning: Option<Meaning>,
    /// How long it was before it became shorter.
    pub peaks: Peaks,
}

/// A length of time, and from when it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// So long.
    pub ttl: Duration,
    /// Nothing counts from before.
    pub from: Timestamp,
}

impl Accepted {
    /// Its term where what it names stays so long: the one that it has, or one that begins now.
    pub fn term_of(&self, ttl: Option<Duration>, now: Timestamp) -> Option<Term> {
        let anew = |ttl| Term { ttl, from: now };
        ttl.map(|ttl| self.term.filter(|term| term.ttl == ttl).unwrap_or_else(|| anew(ttl)))
    }

    /// When a list that was read as this says ends, if it stays so long.
    pub fn until(&self, ttl: Duration, now: Timestamp) -> Timestamp {
        let from = self.term_of(Some(ttl), now).map_or(self.at, |term| term.from.max(self.at));
        from.later_by(ttl.as_secs() as i64)
    }

    /// Has the operator said that nothing need be at this path? What was said of another one says nothing of it.
    pub fn may_be_missing(&self, path: &Path) -> bool {
        self.is_missing && self.path == path
    }
}

/// What the operator is told of a list that is not what its source says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Since when it is so.
    pub since: Timestamp,
    /// What is wrong, and what is in force instead.
    pub message: String,
    /// What to do.
    pub remedy: String,
}
