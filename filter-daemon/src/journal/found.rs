//! The findings when the journal was opened: its size, losses and damage.

use std::path::PathBuf;

use crate::blocklist::Timestamp;

/// The result of opening the journal.
#[derive(Debug, Default)]
pub struct JournalFindings {
    /// The number of targets that its changes name.
    pub targets: u64,
    /// The number of damaged rows. Their changes are lost.
    pub damaged_rows: u64,
    /// The number of records of a kind that only a newer version knows. The next compaction removes them.
    pub skipped: u64,
    /// True if there was no journal or an empty one, and no copy.
    pub is_new: bool,
    /// True if the latest commit is missing: its page was damaged, and redb used the commit before.
    pub is_a_commit_behind: bool,
    /// True if the last row is from another boot, or from before the clock was set.
    pub is_of_another_time: bool,
    /// How many seconds the clock was behind the last record, if that record is from another boot.
    pub clock_behind: Option<u64>,
    /// Since when the journal was incomplete, if it was when the last filterd ended.
    pub behind: Option<Timestamp>,
    /// The damage that made the file unreadable, and its replacement.
    pub damage: Option<JournalDamage>,
}

/// The damage of an unreadable file.
#[derive(Debug)]
pub struct JournalDamage {
    pub reason: String,
    /// The new path of the damaged file; none if it was empty or missing.
    pub set_aside: Option<PathBuf>,
    /// The replacement that was read.
    pub instead: Replacement,
}

/// The replacement for an unreadable file.
#[derive(Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The copy, which lacks changes made after it.
    Copy {
        /// When the copy was started.
        made: Timestamp,
    },
    /// Nothing, because the copy cannot be read either.
    DamagedCopy {
        /// Why the copy cannot be read.
        reason: String,
    },
    /// Nothing, because there is no copy yet.
    Nothing,
}
