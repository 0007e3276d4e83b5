//! What the state directory does not let us note of a trial: the next start would take it for something else than it is. So it
//! is told, and tried again until it is noted.

use std::time::Instant;

use tracing::{info, warn};

use super::note::TrialNote;
use super::{RETRY, Trial, TrialState};
use crate::blocklist::Timestamp;
use crate::clock;
use crate::text::Explanation;

/// What stands there is not what is so.
pub struct UnwrittenNote {
    /// What is to stand there; nothing, where no trial is to be known any more.
    note: Option<TrialNote>,
    pub(super) since: Timestamp,
    pub(super) retry: Instant,
    why: String,
}

impl Trial {
    /// This is what the next start is to find.
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

    /// Tries again to note what could not be noted, if it is time.
    pub fn catch_up(&mut self) {
        if let Some(owed) = self.owed.as_ref().filter(|owed| owed.retry <= clock::instant()) {
            self.note(owed.note.clone());
        }
    }

    /// What the next start does not know, and so would do.
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
