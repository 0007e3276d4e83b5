//! A second note of a trial, next to the control socket. The state directory may be removed or replaced, and
//! a start would then use an unconfirmed configuration without a warning.

use tracing::{error, warn};

use super::{Trial, TrialState, told};
use crate::clock;
use crate::control::ServerHandle;

/// The first word of the note while a trial is on.
const ON: &str = "trial ";

/// The first word of the note after a rollback.
const ROLLED_BACK: &str = "rolled-back ";

impl Trial {
    /// Stores the note there from now on. `before` is the note of the earlier filterd. If the state directory
    /// has no record of its trial, this is reported as lost.
    pub fn note_beside_socket(&mut self, socket: ServerHandle, before: Option<&str>) {
        let lost = before.filter(|_| !self.is_known).and_then(|note| {
            let rolled_back = |by| (by, true);
            note.strip_prefix(ON).map(|by| (by, false)).or(note.strip_prefix(ROLLED_BACK).map(rolled_back))
        });
        if let (TrialState::None, Some((by, was_rolled_back))) = (&self.state, lost) {
            let told = told::lost(by, was_rolled_back);
            error!("{told}");
            self.state = TrialState::Lost { since: clock::now(), told };
            // The note stays until an operator has decided.
            self.beside = Some(socket);
            return;
        }
        self.beside = Some(socket);
        // An empty note need not replace a missing one.
        if before.is_some() || !matches!(self.state, TrialState::None) {
            self.note_beside();
        }
    }

    pub(super) fn note_beside(&self) {
        let Some(socket) = &self.beside else { return };
        let note = match &self.state {
            TrialState::On { head, .. } | TrialState::Over { head, .. } => Some(format!("{ON}{}", head.by)),
            TrialState::RolledBack { by, is_settled: false, .. } => Some(format!("{ROLLED_BACK}{by}")),
            TrialState::None | TrialState::Confirmed | TrialState::RolledBack { .. } => None,
            TrialState::Lost { .. } => return,
        };
        if let Err(error) = socket.note_trial(note.as_deref()) {
            warn!("cannot store beside the socket whether a reload is on trial: {error}");
        }
    }

    /// The user who asked for the trial, as far as known.
    pub(super) fn by(&self) -> &str {
        match &self.state {
            TrialState::On { head, .. } | TrialState::Over { head, .. } => &head.by,
            TrialState::RolledBack { by, .. } => by,
            TrialState::None | TrialState::Confirmed | TrialState::Lost { .. } => "somebody",
        }
    }
}
