//! What is noted of a trial beside the socket, too: the state directory may be removed, or be another one, and then a start
//! would take what nobody has confirmed without a word.

use tracing::{error, warn};

use super::{Trial, TrialState, told};
use crate::clock;
use crate::control::ServerHandle;

/// How the note of one that is on begins.
const ON: &str = "trial ";

/// How the note of one that was rolled back begins.
const ROLLED_BACK: &str = "rolled-back ";

impl Trial {
    /// From here on it is noted there, too. `before` is what the filterd before has noted there: it is told where nothing is
    /// known of that.
    pub fn note_beside_socket(&mut self, socket: ServerHandle, before: Option<&str>) {
        let lost = before.filter(|_| !self.is_known).and_then(|note| {
            let rolled_back = |by| (by, true);
            note.strip_prefix(ON).map(|by| (by, false)).or(note.strip_prefix(ROLLED_BACK).map(rolled_back))
        });
        if let (TrialState::None, Some((by, was_rolled_back))) = (&self.state, lost) {
            let told = told::lost(by, was_rolled_back);
            error!("{told}");
            self.state = TrialState::Lost { since: clock::now(), told };
            // What is noted there stays until somebody has said what is meant.
            self.beside = Some(socket);
            return;
        }
        self.beside = Some(socket);
        // Where nothing is to be said, and nothing was, the file is left alone.
        if before.is_some() || !matches!(self.state, TrialState::None) {
            self.note_beside();
        }
    }

    pub(super) fn note_beside(&self) {
        let Some(socket) = &self.beside else { return };
        let note = match &self.state {
            TrialState::On { note, .. } | TrialState::Over { note, .. } => Some(format!("{ON}{}", note.by)),
            TrialState::RolledBack { by, is_settled: false, .. } => Some(format!("{ROLLED_BACK}{by}")),
            TrialState::None | TrialState::Confirmed | TrialState::RolledBack { .. } => None,
            TrialState::Lost { .. } => return,
        };
        if let Err(error) = socket.note_trial(note.as_deref()) {
            warn!("cannot store beside the socket whether a reload is on trial: {error}");
        }
    }

    /// Who asked for it, as far as that is known.
    pub(super) fn by(&self) -> &str {
        match &self.state {
            TrialState::On { note, .. } | TrialState::Over { note, .. } => &note.by,
            TrialState::RolledBack { by, .. } => by,
            TrialState::None | TrialState::Confirmed | TrialState::Lost { .. } => "somebody",
        }
    }
}
