//! Decides how a start handles the trial that the earlier filterd left.

use std::path::Path;
use std::sync::Arc;

use tracing::{info, warn};

use super::super::reload::PartedLists;
use super::note::{NotePath, TrialNote, TrialStage};
use super::{Trial, TrialRestart, TrialState, told};
use crate::clock;
use crate::text::Explanation;

/// The decision of a start about the trial of the earlier filterd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtStart {
    /// There is no trial to handle.
    Nothing,
    /// The trial continues after this start.
    GoesOn,
    /// The previous configuration is restored before anything is published.
    RollBack,
    /// The previous configuration stays, unless the file has changed since.
    StayRolledBack {
        /// The checksum of the file at the time of the rollback.
        checksum: u32,
    },
}

impl Trial {
    /// Whether a filterd died after the confirmation, before all copies were in place.
    pub fn was_confirmed(state: &Path) -> bool {
        NotePath::in_directory(state).read().is_some_and(|note| note.stage == TrialStage::Confirmed)
    }

    /// The trial that the earlier filterd left. `names` are the lists of the previous configuration.
    pub fn at_start(state: &Path, names: impl Iterator<Item = Arc<str>>) -> (Self, AtStart) {
        let mut this = Self::none(state);
        let Some(note) = this.place.read() else { return (this, AtStart::Nothing) };
        this.is_known = true;
        match note.stage {
            TrialStage::Confirmed => return (this, AtStart::Nothing),
            TrialStage::RolledBack => {
                let TrialNote { checksum, by, .. } = note;
                this.state = TrialState::RolledBack { since: clock::now(), by, is_settled: false };
                return (this, AtStart::StayRolledBack { checksum });
            }
            TrialStage::On => {}
        }
        let Some(left) = note.left() else {
            warn!(
                "the reload of {} was not confirmed in time: the earlier configuration is in force",
                note.by
            );
            this.state = TrialState::Over { note, since: clock::now(), refused: None };
            return (this, AtStart::RollBack);
        };
        info!("the configuration of {} is on trial for another {} s", note.by, left.as_secs());
        let (since, until) = (clock::now(), clock::after(left));
        this.names = names.collect();
        let anew = Some(TrialRestart::AsRead);
        this.state = TrialState::On { note, since, until, is_in_force: true, was_rolled_back: false, anew };
        (this, AtStart::GoesOn)
    }

    /// The lists of the previous configuration that are gone or renamed on trial.
    pub fn parted(&self) -> PartedLists {
        if let TrialState::On { note, .. } = &self.state {
            note.parted.clone()
        } else {
            PartedLists::default()
        }
    }

    /// Records what became of these lists at the start that continues the trial.
    pub fn parts(&mut self, parted: PartedLists) {
        if let TrialState::On { note, .. } = &mut self.state {
            note.parted = parted;
        }
    }

    /// The start that continues the trial found an invalid configuration, so the previous one is in force.
    pub fn take_lists_only(&mut self) {
        if let TrialState::On { anew, .. } = &mut self.state {
            *anew = Some(TrialRestart::ListsOnly);
        }
    }

    /// Records that this start should have restored the previous configuration, and could not.
    pub fn cannot_be_put_back(&mut self, why: &Explanation) {
        let told = told::cannot_be_put_back(self.by(), why);
        self.state = TrialState::Lost { since: clock::now(), told };
    }

    /// Ends a rollback because a user changed the configuration's file, or wants no configuration. This start
    /// uses that once it is ready.
    pub fn discard(&mut self) {
        (self.state, self.is_known) = (TrialState::None, true);
    }

    /// Updates the note when the filterd of this start is ready.
    pub fn note_start(&mut self) {
        match &self.state {
            TrialState::None => self.forget(),
            TrialState::On { note, .. } if self.place.read().as_ref() != Some(note) => {
                if let Err(error) = self.place.write(note) {
                    // The earlier note stays valid.
                    warn!("{error}");
                }
            }
            TrialState::On { .. }
            | TrialState::Confirmed
            | TrialState::Over { .. }
            | TrialState::RolledBack { .. }
            | TrialState::Lost { .. } => {}
        }
    }
}
