//! A configuration on trial. It stays in force if a user confirms it, and is rolled back when its time is
//! over. Until it is confirmed, the current generation on disk is the earlier one. This filterd restores it, or
//! the next one does at its start.

mod beside;
mod owed;
mod start;
mod told;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::warn;

use super::reload::Loaded;
use crate::blocklist::Timestamp;
use crate::clock;
use crate::control::ServerHandle;
use crate::state::{Generation, GenerationName, StateStore, TrialHead};
use crate::text::{Explanation, printable};
use owed::{OwedRecord, TrialRecord};

/// How long until a failed rollback is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// The trial of a configuration, and its state.
pub struct Trial {
    store: StateStore,
    state: TrialState,
    /// The record that could not be written.
    owed: Option<OwedRecord>,
    /// The lists of the previous configuration. No live list may have their names meanwhile.
    names: Vec<Arc<str>>,
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
        head: TrialHead,
        since: Timestamp,
        until: Timestamp,
        is_in_force: bool,
        /// Who had asked for an earlier reload that was rolled back, if one was.
        rolled_back: Option<String>,
        restart: Option<TrialRestart>,
    },
    /// The user confirmed it, which is being stored.
    Confirmed,
    /// Its time is over or a user rejected it, and the rollback runs. `refused` says when a failed rollback
    /// is tried again, and why it failed.
    Over { head: TrialHead, since: Timestamp, refused: Option<(Instant, Explanation)> },
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
    pub fn none(store: &StateStore) -> Self {
        Self {
            store: store.clone(),
            state: TrialState::None,
            owed: None,
            names: Vec::new(),
            lost: Vec::new(),
            found: MatchingFiles::default(),
            is_known: false,
            beside: None,
        }
    }

    /// Begins a trial of this generation, which is on disk when this returns. `file` is the checksum of the
    /// configuration's file, and `names` are the lists in force.
    pub fn begin(
        &mut self,
        length: Duration,
        (by, file): (&str, u32),
        names: Vec<Arc<str>>,
        generation: Generation,
    ) -> Result<(), String> {
        let head = ending(length, by, file);
        let generation = Generation { trial: Some(head.clone()), ..generation };
        self.store.write(GenerationName::Trial, &generation).map_err(|error| error.to_string())?;
        self.owed = None;
        let (since, until) = (clock::now(), clock::after(length));
        let rolled_back = match &self.state {
            TrialState::RolledBack { by, is_settled: false, .. } => Some(by.clone()),
            TrialState::RolledBack { .. }
            | TrialState::None
            | TrialState::On { .. }
            | TrialState::Confirmed
            | TrialState::Over { .. }
            | TrialState::Lost { .. } => None,
        };
        self.names = names;
        self.state = TrialState::On { head, since, until, is_in_force: false, rolled_back, restart: None };
        self.note_beside();
        Ok(())
    }

    /// Ends a trial that did not take effect.
    pub fn abandon(&mut self) {
        let TrialState::On { rolled_back, .. } = &self.state else { return };
        self.state = match rolled_back.clone() {
            Some(by) => TrialState::RolledBack { since: clock::now(), by, is_settled: false },
            None => TrialState::None,
        };
        self.record(TrialRecord::NoTrial);
        self.note_beside();
    }

    /// Starts the countdown once the configuration is in force. Returns when it ends.
    pub fn begin_countdown(&mut self, length: Duration) -> Option<Timestamp> {
        let TrialState::On { head, until, is_in_force, .. } = &mut self.state else { return None };
        (*until, *is_in_force) = (clock::after(length), true);
        // The record on disk ends a little earlier, until the generation is saved.
        *head = ending(length, &head.by, head.file);
        Some(*until)
    }

    /// What the record of a trial that is on says. None if none is on.
    pub fn head(&self) -> Option<TrialHead> {
        if let TrialState::On { head, .. } = &self.state { Some(head.clone()) } else { None }
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
        match std::mem::replace(&mut self.state, TrialState::None) {
            TrialState::On { head, .. } => {
                let why = if is_unwanted { "was rolled back by a user" } else { "was not confirmed in time" };
                warn!("the configuration of {} {why}; rolling back", head.by);
                self.state = TrialState::Over { head: head.clone(), since: clock::now(), refused: None };
                // The next start rolls back as well, if this filterd dies before the end.
                self.record(TrialRecord::RolledBack(head));
            }
            TrialState::Over { head, since, .. } => {
                self.state = TrialState::Over { head, since, refused: None };
            }
            other @ (TrialState::None
            | TrialState::Confirmed
            | TrialState::RolledBack { .. }
            | TrialState::Lost { .. }) => self.state = other,
        }
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
        if let TrialState::Over { head, .. } = &mut self.state {
            head.file = loaded.checksum;
        }
    }

    /// Whether the configuration's file matches the restored copy.
    pub fn found_its_file(&self) -> bool {
        self.found.config
    }

    /// Records that the previous configuration is in force again.
    pub fn end_rollback(&mut self) {
        let TrialState::Over { head, .. } = &self.state else { return };
        let (head, is_settled) = (head.clone(), self.found.all);
        self.state = TrialState::RolledBack { since: clock::now(), by: head.by.clone(), is_settled };
        self.record(if is_settled { TrialRecord::Nothing } else { TrialRecord::RolledBack(head) });
        self.note_beside();
    }

    /// Confirms the trial, which is to be stored. Returns false if no trial is in force.
    pub fn confirm(&mut self) -> bool {
        let is_on = matches!(self.state, TrialState::On { is_in_force: true, .. });
        if is_on {
            self.state = TrialState::Confirmed;
        }
        is_on
    }

    /// Records whether the confirmation could be stored.
    pub fn end_confirmation(&mut self, stored: Result<(), String>) {
        if let TrialState::Confirmed = self.state {
            self.state = TrialState::None;
        }
        self.note_record(TrialRecord::Confirmed, stored);
        self.note_beside();
    }

    /// Whether the trial was confirmed, which is still being stored.
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
        self.state = TrialState::None;
        self.record(TrialRecord::Nothing);
        self.note_beside();
    }
}

/// The record of a trial that ends after this time.
fn ending(length: Duration, by: &str, file: u32) -> TrialHead {
    let length = i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    let (boot, now) = start::present_boot();
    TrialHead { boot, end: now.saturating_add(length), by: printable::on_one_line(by).to_string(), file }
}

#[cfg(test)]
mod tests;
