//! What the journal held when it was opened.

use std::path::PathBuf;

use crate::blocklist::Timestamp;

/// What the journal held.
#[derive(Debug, Default)]
pub struct Found {
    /// How many targets its changes name.
    pub targets: u64,
    /// Rows that were not what was written: their changes are lost.
    pub damaged_rows: u64,
    /// Records of a kind that only a newer filterd knows. They go with the next compaction.
    pub skipped: u64,
    /// There was none, or an empty one, and no copy of it.
    pub is_new: bool,
    /// What was written last is not in it: its newest page was not what was written, and the commit before was.
    pub is_a_commit_behind: bool,
    /// Its last row is of another boot, or of before the clock was set.
    pub is_of_another_time: bool,
    /// By how many seconds the clock lay before the last record, if that was written in another boot and it did.
    pub clock_behind: Option<u64>,
    /// Since when it was behind, if it was when its last filterd ended.
    pub behind: Option<Timestamp>,
    /// Why the file could not be read, and what was read instead.
    pub damage: Option<Damage>,
}

/// The file could not be read.
#[derive(Debug)]
pub struct Damage {
    /// What is wrong with it.
    pub reason: String,
    /// Where it went; nowhere if there was nothing left of it.
    pub set_aside: Option<PathBuf>,
    /// What was read in its place.
    pub instead: Instead,
}

/// What is read in place of a file that could not be.
#[derive(Debug, PartialEq, Eq)]
pub enum Instead {
    /// The copy. What was added or removed since it was made is not in it.
    Copy {
        /// When it was begun.
        made: Timestamp,
    },
    /// Nothing: the copy cannot be read either.
    DamagedCopy {
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing: there is no copy yet.
    Nothing,
}
