//! A configuration on trial. It stays in force if a user confirms it, and is rolled back when its time is
//! over. Until it is confirmed, the last good copies of configuration and lists on disk are the earlier ones.
//! This filterd restores them, or the next one does at its start.

mod beside;
mod note;
mod owed;
mod start;
mod told;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::warn;

use super::lists::ListToKeep;
use super::reload::{Expiries, Loaded, PartedLists};
use crate::blocklist::Timestamp;
use crate::clock;
use crate::control::ServerHandle;
use crate::text::Explanation;
use note::{NotePath, TrialNote, TrialStage};
use owed::UnwrittenNote;
pub use start::AtStart;

/// How long until a failed rollback is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// The trial of a configuration, and its state.
pub struct Trial {
    place: NotePath,
    state: TrialState,
    /// The note that could not be written.
    owed: Option<UnwrittenNote>,
    /// The lists of the previous configuration. No live list may have their names meanwhile.
    names: Vec<Arc<str>>,
    /// The copies to keep of its lists, once it is confirmed.
    held: Vec<ListToKeep>,
    /// When the entries that it removed would have expired. Unknown to a filterd that continues the trial.
    ends: Option<Arc<Expiries>>,
    /// Lists of the previous configuration that could not be restored.
    lost: Vec<Arc<str>>,
    /// Whether files matched the restored copies at the rollback.
    found: MatchingFiles,
    /// The earlier filterd left a record of a trial.
    is_known: bool,
    /// A second place for the note, for a start that does not find the record.
    beside: Option<ServerHandle>,
}

/// The stage of a trial.
enum TrialState {
    /// No configuration is on trial.
    None,
    /// The configuration is in force or about to be.
    On {
        note: TrialNote,
        since: Timestamp,
        until: Timestamp,
        is_in_force: bool,
        was_rolled_back: bool,
        anew: Option<TrialRestart>,
    },
    /// The user confirmed it, and its copies are being written.
    Confirmed,
    /// Its time is over or a user rejected it, and the rollback runs. `refused` says when a failed rollback
    /// is tried again, and why it failed.
    Over { note: TrialNote, since: Timestamp, refused: Option<(Instant, Explanation)> },
    /// The previous configuration is in force again; `by` asked for the reload. If all files match it
    /// (`is_settled`), the next start needs no record.
    RolledBack { since: Timestamp, by: String, is_settled: bool },
    /// This start should have continued the trial or kept the rollback, and could not.
    Lost { since: Timestamp, told: Explanation },
}

/// Whether files match the restored copies.
#[derive(Clone, Copy, Debug, Default)]
struct MatchingFiles {
    /// The file of the configuration.
    config: bool,
    /// The configuration and the files of all lists.
    all: bool,
}

/// The result of a start within a trial. It reads configuration and lists anew, so these are on trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrialRestart {
    /// Configuration and lists are those that this start read.
    AsRead,
    /// The lists are those that this start read. The configuration is the previous one, because the file was
    /// not valid.
    ListsOnly,
}

impl Trial {
    /// No trial, for a filterd with this state directory.
    pub fn none(state: &Path) -> Self {
        Self {
            place: NotePath::in_directory(state),
            state: TrialState::None,
            owed: None,
            names: Vec::new(),
            held: Vec::new(),
            ends: None,
            lost: Vec::new(),
            found: MatchingFiles::default(),
            is_known: false,
            beside: None,
        }
    }

    /// Begins a trial; its note is on disk when this returns. `names` are the lists in force, and `parted`
    /// says what becomes of them.
    pub fn begin(
        &mut self,
        length: Duration,
        by: &str,
        checksum: u32,
        names: Vec<Arc<str>>,
        parted: PartedLists,
    ) -> Result<(), String> {
        let note = TrialNote::ending(length, checksum, by, parted);
        self.place.write(&note)?;
        self.owed = None;
        let (since, until) = (clock::now(), clock::after(length));
        let was_rolled_back = matches!(self.state, TrialState::RolledBack { is_settled: false, .. });
        self.names = names;
        self.state = TrialState::On { note, since, until, is_in_force: false, was_rolled_back, anew: None };
        self.note_beside();
        Ok(())
    }

    /// Ends a trial that did not take effect.
    pub fn abandon(&mut self) {
        match std::mem::replace(&mut self.state, TrialState::None) {
            TrialState::On { note, was_rolled_back: true, .. } => self.note_rollback(&note, false),
            TrialState::On { .. } => self.forget(),
            other @ (TrialState::None
            | TrialState::Confirmed
            | TrialState::Over { .. }
            | TrialState::RolledBack { .. }
            | TrialState::Lost { .. }) => self.state = other,
        }
    }

    /// Starts the countdown once the configuration is in force. Returns when it ends.
    pub fn begin_countdown(&mut self, length: Duration, to_keep: Vec<ListToKeep>) -> Option<Timestamp> {
        self.held = to_keep;
        let TrialState::On { note, until, is_in_force, .. } = &mut self.state else { return None };
        (*until, *is_in_force) = (clock::after(length), true);
        *note = TrialNote::ending(length, note.checksum, &note.by, note.parted.clone());
        if let Err(error) = self.place.write(note) {
            // The note that was written before stays. Its time ends a little earlier.
            warn!("{error}");
        }
        Some(*until)
    }

    /// Remembers when the removed entries would have expired.
    pub fn set_expiries(&mut self, ends: Option<Expiries>) {
        self.ends = ends.map(Arc::new);
    }

    /// When the entries that a rollback restores expire, as far as known.
    pub fn ends(&self) -> Option<Arc<Expiries>> {
        self.ends.clone()
    }

    /// Sets the copies to keep for a trial that a start continues.
    pub fn hold(&mut self, to_keep: Vec<ListToKeep>) {
        self.held = to_keep;
    }

    /// Whether a trial is on or being rolled back. Its configuration need not be in force yet.
    pub fn is_on(&self) -> bool {
        matches!(self.state, TrialState::On { .. } | TrialState::Over { .. })
    }

    /// Whether this name belongs to a list of the previous configuration.
    pub fn reserves(&self, name: &str) -> bool {
        self.is_on() && self.names.iter().any(|reserved| **reserved == *name)
    }

    /// How long until the trial needs attention.
    pub fn until_due(&self) -> Option<Duration> {
        let owed = self.owed.as_ref().map(|owed| owed.retry.saturating_duration_since(clock::instant()));
        self.until_end().into_iter().chain(owed).min()
    }

    /// Whether the rollback is due now.
    pub fn is_due(&self) -> bool {
        self.until_end().is_some_and(|left| left.is_zero())
    }

    /// How long until the rollback is due.
    fn until_end(&self) -> Option<Duration> {
        match &self.state {
            TrialState::On { until, is_in_force: true, .. } => Some(clock::until(*until)),
            TrialState::Over { refused: Some((retry, _)), .. } => {
                Some(retry.saturating_duration_since(clock::instant()))
            }
            TrialState::On { .. }
            | TrialState::Over { refused: None, .. }
            | TrialState::None
            | TrialState::Confirmed
            | TrialState::RolledBack { .. }
            | TrialState::Lost { .. } => None,
        }
    }

    /// Whether the trial could end at this moment.
    pub fn may_end(&self) -> bool {
        matches!(
            self.state,
            TrialState::On { is_in_force: true, .. } | TrialState::Over { refused: Some(_), .. }
        )
    }

    /// Starts the rollback of a trial: its time is over, or a user asked (`is_unwanted`).
    pub fn begin_rollback(&mut self, is_unwanted: bool) {
        self.state = match std::mem::replace(&mut self.state, TrialState::None) {
            TrialState::On { note, .. } => {
                let why = if is_unwanted { "was rolled back by a user" } else { "was not confirmed in time" };
                warn!("the configuration of {} {why}; rolling back", note.by);
                // The next start rolls back as well, if this filterd dies before the end.
                let note = if is_unwanted { note.over() } else { note };
                if is_unwanted && let Err(error) = self.place.write(&note) {
                    warn!("{error}");
                }
                TrialState::Over { note, since: clock::now(), refused: None }
            }
            TrialState::Over { note, since, .. } => TrialState::Over { note, since, refused: None },
            other @ (TrialState::None
            | TrialState::Confirmed
            | TrialState::RolledBack { .. }
            | TrialState::Lost { .. }) => other,
        };
        self.held.clear();
    }

    /// Schedules the next attempt of a rollback that failed.
    pub fn note_failed_rollback(&mut self, why: Explanation) {
        tracing::error!("the rollback failed, retrying: {why}");
        if let TrialState::Over { refused, .. } = &mut self.state {
            *refused = Some((clock::instant() + RETRY, why));
        }
    }

    /// Sets the lists of the previous configuration that cannot be restored.
    pub fn set_lost(&mut self, lists: Vec<Arc<str>>) {
        self.lost = lists;
    }

    /// Whether this list of the previous configuration could not be restored.
    pub fn has_lost(&self, list: &str) -> bool {
        self.lost.iter().any(|lost| **lost == *list)
    }

    /// Compares the restored copies with the files as they are now. A start does not use the configuration's
    /// file as long as it has this checksum.
    pub fn set_found(&mut self, loaded: &Loaded) {
        let config = loaded.says_its_file;
        self.found = MatchingFiles { config, all: config && loaded.say_their_files() };
        if let TrialState::Over { note, .. } = &mut self.state {
            note.checksum = loaded.checksum;
        }
    }

    /// Whether the configuration's file matches the restored copy.
    pub fn found_its_file(&self) -> bool {
        self.found.config
    }

    /// Records that the previous configuration is in force again.
    pub fn end_rollback(&mut self) {
        if let TrialState::Over { note, .. } = &self.state {
            let note = note.clone();
            self.note_rollback(&note, self.found.all);
        }
    }

    fn note_rollback(&mut self, note: &TrialNote, is_settled: bool) {
        self.state = TrialState::RolledBack { since: clock::now(), by: note.by.clone(), is_settled };
        self.ends = None;
        let note = TrialNote { stage: TrialStage::RolledBack, ..note.clone() };
        self.note(Some(note).filter(|_| !is_settled));
        self.note_beside();
    }

    /// Ends the trial by confirming it. Returns the copies to keep.
    pub fn confirm(&mut self) -> Option<Vec<ListToKeep>> {
        let TrialState::On { note, is_in_force: true, .. } = &self.state else { return None };
        // Until the copies are in place, a start uses the prepared ones, as confirmed.
        let note = TrialNote { stage: TrialStage::Confirmed, ..note.clone() };
        (self.state, self.ends) = (TrialState::Confirmed, None);
        self.note(Some(note));
        Some(std::mem::take(&mut self.held))
    }

    /// Whether the trial was confirmed and its copies are still being written.
    pub fn is_confirmed(&self) -> bool {
        matches!(self.state, TrialState::Confirmed)
    }

    /// Whether a rollback runs.
    pub fn is_being_rolled_back(&self) -> bool {
        matches!(self.state, TrialState::Over { .. })
    }

    /// Since when the previous configuration is in force again after a rollback.
    pub fn rolled_back(&self) -> Option<Timestamp> {
        if let TrialState::RolledBack { since, .. } = self.state { Some(since) } else { None }
    }

    /// Removes all record of a trial.
    pub fn forget(&mut self) {
        (self.state, self.names) = (TrialState::None, Vec::new());
        (self.held, self.ends) = (Vec::new(), None);
        self.note(None);
        self.note_beside();
    }
}

#[cfg(test)]
mod tests;
