//! The trial that the earlier filterd left, for a start.

use std::fs;
use std::sync::Arc;

use tracing::{info, warn};

use super::{Trial, TrialRestart, TrialState, told};
use crate::clock;
use crate::state::{self, FoundFile, GenerationName, StartChoice, StateStore};
use crate::text::Explanation;

/// The kernel's identifier of this boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The identifier of this boot, empty if the kernel does not report it, and the milliseconds since it began.
pub(super) fn present_boot() -> (String, i64) {
    let id = fs::read_to_string(BOOT_ID).unwrap_or_default().trim().to_owned();
    let now = i64::try_from(clock::since_1970().as_millis()).unwrap_or(i64::MAX);
    (id, now.saturating_sub(clock::offset()))
}

impl Trial {
    /// The trial that the earlier filterd left, and what this start does. `names` are the lists of the earlier
    /// configuration.
    pub fn at_start(
        store: &StateStore,
        names: impl Iterator<Item = Arc<str>>,
        file: impl FnOnce() -> FoundFile,
    ) -> (Self, StartChoice) {
        let mut this = Self::none(store);
        let [trial, rejected] =
            [GenerationName::Trial, GenerationName::Rejected].map(|name| (&store.read(name)).into());
        let (id, now) = present_boot();
        let choice = state::at_start(trial, rejected, state::PresentBoot { id: &id, now }, file);
        let since = clock::now();
        this.is_known = choice != StartChoice::TakeFile;
        match &choice {
            StartChoice::TakeFile | StartChoice::TakeChangedFile => {}
            StartChoice::GoOn(head, left) => {
                info!("the configuration of {} is on trial for another {} s", head.by, left.as_secs());
                this.names = names.collect();
                this.state = TrialState::On {
                    head: head.clone(),
                    since,
                    until: clock::after(*left),
                    is_in_force: true,
                    rolled_back: None,
                    restart: Some(TrialRestart::AsRead),
                };
            }
            StartChoice::RollBack(head) => {
                warn!(
                    "the reload of {} was not confirmed in time: the earlier configuration is in force",
                    head.by
                );
                this.state = TrialState::Over { head: head.clone(), since, refused: None };
            }
            StartChoice::StayRolledBack(head) => {
                let by = head.by.clone();
                this.state = TrialState::RolledBack { since, by, is_settled: false };
            }
        }
        (this, choice)
    }

    /// The start that continues the trial found an invalid configuration, so the previous one is in force.
    pub fn take_lists_only(&mut self) {
        if let TrialState::On { restart, .. } = &mut self.state {
            *restart = Some(TrialRestart::ListsOnly);
        }
    }

    /// Records that this start should have restored the previous configuration, and could not.
    pub fn cannot_be_put_back(&mut self, why: &Explanation) {
        let told = told::cannot_be_put_back(self.by(), why);
        self.state = TrialState::Lost { since: clock::now(), told };
    }

    /// Ends a rollback because a user wants no configuration.
    pub fn discard(&mut self) {
        (self.state, self.is_known) = (TrialState::None, true);
    }

    /// Removes the records that no longer count, when the filterd of this start is ready.
    pub fn note_start(&mut self) {
        if let TrialState::None = self.state {
            self.forget();
        }
    }
}
