//! What a start finds of the trial of the filterd before, and makes of it.

use std::path::Path;
use std::sync::Arc;

use tracing::{info, warn};

use super::super::reload::PartedLists;
use super::note::{NotePath, TrialNote, TrialStage};
use super::{Trial, TrialRestart, TrialState, told};
use crate::clock;
use crate::text::Explanation;

/// What a start is to do about the trial of the filterd before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtStart {
    /// Nothing.
    Nothing,
    /// It goes on.
    GoesOn,
    /// What was before is put back before anything is published.
    RollBack,
    /// The same, unless the file has changed since.
    StayRolledBack {
        /// The checksum of the file as it was when it was rolled back.
        checksum: u32,
    },
}

impl Trial {
    /// Was one confirmed by a filterd that died before all of it had its place?
    pub fn was_confirmed(state: &Path) -> bool {
        NotePath::in_directory(state).read().is_some_and(|note| note.stage == TrialStage::Confirmed)
    }

    /// The one that the filterd before has left. `names` are those of the lists of before.
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

    /// What the lists of before are on it.
    pub fn parted(&self) -> PartedLists {
        if let TrialState::On { note, .. } = &self.state {
            note.parted.clone()
        } else {
            PartedLists::default()
        }
    }

    /// The start that goes on with it has read this of them.
    pub fn parts(&mut self, parted: PartedLists) {
        if let TrialState::On { note, .. } = &mut self.state {
            note.parted = parted;
        }
    }

    /// The start that goes on with it has found a configuration that is not valid: that of before is in force.
    pub fn take_lists_only(&mut self) {
        if let TrialState::On { anew, .. } = &mut self.state {
            *anew = Some(TrialRestart::ListsOnly);
        }
    }

    /// What was before should have been in force again from this start on, and cannot be.
    pub fn cannot_be_put_back(&mut self, why: &Explanation) {
        let told = told::cannot_be_put_back(self.by(), why);
        self.state = TrialState::Lost { since: clock::now(), told };
    }

    /// Somebody has changed the configuration's file since it was rolled back, or wants none: this start takes that, once it
    /// has its place.
    pub fn discard(&mut self) {
        (self.state, self.is_known) = (TrialState::None, true);
    }

    /// The filterd with this start's configuration is at work.
    pub fn note_start(&mut self) {
        match &self.state {
            TrialState::None => self.forget(),
            TrialState::On { note, .. } if self.place.read().as_ref() != Some(note) => {
                if let Err(error) = self.place.write(note) {
                    // What was written before holds.
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
