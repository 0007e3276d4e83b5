//! The end of a trial that could not be stored. The next start would misread the trial, so this is reported,
//! and retried until it succeeds.

use std::time::Instant;

use tracing::{info, warn};

use super::{RETRY, Trial, TrialState};
use crate::blocklist::Timestamp;
use crate::clock;
use crate::state::{GenerationName, StateStore, TrialHead};
use crate::text::Explanation;

/// What the state directory should say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialRecord {
    /// The generation on trial was rolled back.
    RolledBack(TrialHead),
    /// The generation on trial is the current one.
    Confirmed,
    /// Nothing is on trial. An earlier rollback still counts.
    NoTrial,
    /// Nothing is on trial, and nothing was rolled back.
    Nothing,
}

impl TrialRecord {
    fn write(&self, store: &StateStore) -> Result<(), String> {
        match self {
            Self::RolledBack(head) => store.reject(head),
            Self::Confirmed => store.confirm(),
            Self::NoTrial => store.forget(GenerationName::Trial),
            Self::Nothing => {
                store.forget(GenerationName::Trial)?;
                store.forget(GenerationName::Rejected)
            }
        }
    }
}

/// The record that should be on disk, while the files there say otherwise.
pub struct OwedRecord {
    record: TrialRecord,
    pub(super) since: Timestamp,
    pub(super) retry: Instant,
    why: String,
}

impl Trial {
    /// Writes this record for the next start.
    pub(super) fn record(&mut self, record: TrialRecord) {
        let written = record.write(&self.store);
        self.note_record(record, written);
    }

    pub(super) fn note_record(&mut self, record: TrialRecord, written: Result<(), String>) {
        let owed = self.owed.take();
        self.owed = match written {
            Ok(()) => {
                owed.iter().for_each(|_| info!("the result of the reload on trial is stored"));
                None
            }
            Err(why) => {
                if owed.is_none() {
                    warn!("cannot store the result of the reload on trial, retrying: {why}");
                }
                let since = owed.map_or_else(clock::now, |owed| owed.since);
                Some(OwedRecord { record, since, retry: clock::instant() + RETRY, why })
            }
        };
    }

    /// Tries again to write the record, if it is due.
    pub fn catch_up(&mut self) {
        if let Some(owed) = self.owed.as_ref().filter(|owed| owed.retry <= clock::instant()) {
            self.record(owed.record.clone());
        }
    }

    /// Why the next start would do the wrong thing.
    pub fn unnoted(&self) -> Option<Explanation> {
        let OwedRecord { why, .. } = self.owed.as_ref()?;
        let what = match self.state {
            TrialState::RolledBack { .. } => "a reload was rolled back",
            TrialState::None | TrialState::Confirmed | TrialState::Lost { .. } => {
                "nothing is on trial any more"
            }
            TrialState::On { .. } | TrialState::Over { .. } => return None,
        };
        let is_there = |name| self.store.has(name);
        let then = match is_there(GenerationName::Trial) || is_there(GenerationName::Rejected) {
            true => "would see a trial, or one that was rolled back, and might restore something else",
            false => "would use the configuration's file as it is: fix it before",
        };
        let remedy = format!(
            "make the state directory writable: filterd retries every 5 s; a start before then {then}"
        );
        Some(Explanation::new(format!("cannot store that {what}: {why}"), remedy))
    }
}
