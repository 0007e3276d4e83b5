//! A note of a trial that could not be written. The next start would misread the trial, so this is reported,
//! and retried until it succeeds.

use std::time::Instant;

use tracing::{info, warn};

use super::note::TrialNote;
use super::{RETRY, Trial, TrialState};
use crate::blocklist::Timestamp;
use crate::clock;
use crate::text::Explanation;

/// The note that should be on disk, while the file there says otherwise.
pub struct UnwrittenNote {
    /// The note to write, or none to remove it.
    note: Option<TrialNote>,
    pub(super) since: Timestamp,
    pub(super) retry: Instant,
    why: String,
}

impl Trial {
    /// Writes the note for the next start.
    pub(super) fn note(&mut self, note: Option<TrialNote>) {
        let noted = match &note {
            Some(note) => self.place.write(note),
            None => self.place.remove(),
        };
        let owed = self.owed.take();
        self.owed = match noted {
            Ok(()) => {
                owed.iter().for_each(|_| info!("the result of the reload on trial is stored"));
                None
            }
            Err(why) => {
                if owed.is_none() {
                    warn!("cannot store the result of the reload on trial, retrying: {why}");
                }
                let since = owed.map_or_else(clock::now, |owed| owed.since);
                Some(UnwrittenNote { note, since, retry: clock::instant() + RETRY, why })
            }
        };
    }

    /// Tries again to write the note, if it is due.
    pub fn catch_up(&mut self) {
        if let Some(owed) = self.owed.as_ref().filter(|owed| owed.retry <= clock::instant()) {
            self.note(owed.note.clone());
        }
    }

    /// Why the next start would do the wrong thing.
    pub fn unnoted(&self) -> Option<Explanation> {
        let UnwrittenNote { why, .. } = self.owed.as_ref()?;
        let what = match self.state {
            TrialState::RolledBack { .. } => "a reload was rolled back",
            TrialState::None | TrialState::Confirmed | TrialState::Lost { .. } => {
                "nothing is on trial any more"
            }
            TrialState::On { .. } | TrialState::Over { .. } => return None,
        };
        let then = match self.place.is_there() {
            true => "would see a trial, or one that was rolled back, and might restore something else",
            false => "would use the configuration's file as it is: fix it before",
        };
        let remedy = format!(
            "make the state directory writable: filterd retries every 5 s; a start before then {then}"
        );
        Some(Explanation::new(format!("cannot store that {what}: {why}"), remedy))
    }
}
