//! A configuration on trial: in force until somebody confirms it, or else until its time is over; then what was before is put
//! back. Until it is confirmed, the last good copies of configuration and lists on disk stay those of before: they are what
//! is put back, by this filterd or, at its start, by the next one.

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

/// How long until what could not be put back is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// Whether a configuration is on trial.
pub struct Trial {
    place: NotePath,
    state: TrialState,
    /// What could not be noted of it.
    owed: Option<UnwrittenNote>,
    /// Lists of before, whose names nobody else may have meanwhile.
    names: Vec<Arc<str>>,
    /// The copies that there should be of its lists, once it is confirmed.
    held: Vec<ListToKeep>,
    /// When what it has let go was to end. A filterd that goes on with it does not know.
    ends: Option<Arc<Expiries>>,
    /// Lists of before that could not be put back.
    lost: Vec<Arc<str>>,
    /// What was found of the files when it was rolled back.
    found: MatchingFiles,
    /// The filterd before has left a record of one.
    is_known: bool,
    /// Where else it is noted, for a start that does not find the record of it.
    beside: Option<ServerHandle>,
}

/// What has become of it.
enum TrialState {
    /// There is none.
    None,
    /// It is being made true, or is.
    On {
        note: TrialNote,
        since: Timestamp,
        until: Timestamp,
        is_in_force: bool,
        was_rolled_back: bool,
        anew: Option<TrialRestart>,
    },
    /// It was confirmed, and its copies are being written.
    Confirmed,
    /// Its time is over, and what was before is being put back; when that is to be tried again, and why.
    Over { note: TrialNote, since: Timestamp, refused: Option<(Instant, Explanation)> },
    /// What was before is in force again; by whom the reload was. Where all files say the same, a start need know nothing of it.
    RolledBack { since: Timestamp, by: String, is_settled: bool },
    /// This start should have gone on with it, or kept what was before, and could not.
    Lost { since: Timestamp, told: Explanation },
}

/// Whether files say what is put back.
#[derive(Clone, Copy, Debug, Default)]
struct MatchingFiles {
    /// The configuration's.
    config: bool,
    /// All of them.
    all: bool,
}

/// What a start within a trial has brought: it reads configuration and lists anew, whatever was on trial before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrialRestart {
    /// What they said then.
    AsRead,
    /// The lists as they were then; the configuration is that of before, since the file was not valid.
    ListsOnly,
}

impl Trial {
    /// None, for a filterd with this state directory.
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

    /// Begins one: on disk when this returns. `names` are those of the lists in force, and `parted` tells what it makes of them.
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

    /// What was to be on trial has not come into force.
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

    /// It is in force: its time begins. Tells until when.
    pub fn begin_countdown(&mut self, length: Duration, to_keep: Vec<ListToKeep>) -> Option<Timestamp> {
        self.held = to_keep;
        let TrialState::On { note, until, is_in_force, .. } = &mut self.state else { return None };
        (*until, *is_in_force) = (clock::after(length), true);
        *note = TrialNote::ending(length, note.checksum, &note.by, note.parted.clone());
        if let Err(error) = self.place.write(note) {
            // The one that was written before holds, and is over a little earlier.
            warn!("{error}");
        }
        Some(*until)
    }

    /// What it has let go was to end so.
    pub fn set_expiries(&mut self, ends: Option<Expiries>) {
        self.ends = ends.map(Arc::new);
    }

    /// When what is put back ends, as far as that is known.
    pub fn ends(&self) -> Option<Arc<Expiries>> {
        self.ends.clone()
    }

    /// The same of one that a start goes on with.
    pub fn hold(&mut self, to_keep: Vec<ListToKeep>) {
        self.held = to_keep;
    }

    /// Is the configuration in force, or coming into force, one on trial, or being taken back?
    pub fn is_on(&self) -> bool {
        matches!(self.state, TrialState::On { .. } | TrialState::Over { .. })
    }

    /// Does this name belong to a list of before?
    pub fn reserves(&self, name: &str) -> bool {
        self.is_on() && self.names.iter().any(|reserved| **reserved == *name)
    }

    /// How long until something is to be done about it.
    pub fn until_due(&self) -> Option<Duration> {
        let owed = self.owed.as_ref().map(|owed| owed.retry.saturating_duration_since(clock::instant()));
        self.until_end().into_iter().chain(owed).min()
    }

    /// Is it to end now?
    pub fn is_due(&self) -> bool {
        self.until_end().is_some_and(|left| left.is_zero())
    }

    /// How long until it is to end.
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

    /// Could it end at this moment?
    pub fn may_end(&self) -> bool {
        matches!(
            self.state,
            TrialState::On { is_in_force: true, .. } | TrialState::Over { refused: Some(_), .. }
        )
    }

    /// Its time is over, or somebody does not want it.
    pub fn begin_rollback(&mut self, is_unwanted: bool) {
        self.state = match std::mem::replace(&mut self.state, TrialState::None) {
            TrialState::On { note, .. } => {
                let why = if is_unwanted { "was rolled back by a user" } else { "was not confirmed in time" };
                warn!("the configuration of {} {why}; rolling back", note.by);
                // Whoever starts next is to know it, too, if this one does not come to its end.
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

    /// What was before could not be put back.
    pub fn note_failed_rollback(&mut self, why: Explanation) {
        tracing::error!("the rollback failed, retrying: {why}");
        if let TrialState::Over { refused, .. } = &mut self.state {
            *refused = Some((clock::instant() + RETRY, why));
        }
    }

    /// These lists of before cannot be put back.
    pub fn set_lost(&mut self, lists: Vec<Arc<str>>) {
        self.lost = lists;
    }

    /// Could this list of before not be put back?
    pub fn has_lost(&self, list: &str) -> bool {
        self.lost.iter().any(|lost| **lost == *list)
    }

    /// This is put back, and found beside the files as they are then: as long as the configuration's has this checksum, a start
    /// does not take it.
    pub fn set_found(&mut self, loaded: &Loaded) {
        let config = loaded.says_its_file;
        self.found = MatchingFiles { config, all: config && loaded.say_their_files() };
        if let TrialState::Over { note, .. } = &mut self.state {
            note.checksum = loaded.checksum;
        }
    }

    /// Does the configuration's file say what was put back?
    pub fn found_its_file(&self) -> bool {
        self.found.config
    }

    /// What was before is in force again.
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

    /// It is not on trial any more: the copies that there should be of it.
    pub fn confirm(&mut self) -> Option<Vec<ListToKeep>> {
        let TrialState::On { note, is_in_force: true, .. } = &self.state else { return None };
        // Until its copies have their places, a start takes them for what was confirmed.
        let note = TrialNote { stage: TrialStage::Confirmed, ..note.clone() };
        (self.state, self.ends) = (TrialState::Confirmed, None);
        self.note(Some(note));
        Some(std::mem::take(&mut self.held))
    }

    /// Was it confirmed, and are its copies still being written?
    pub fn is_confirmed(&self) -> bool {
        matches!(self.state, TrialState::Confirmed)
    }

    /// Is what was before it being put back?
    pub fn is_being_rolled_back(&self) -> bool {
        matches!(self.state, TrialState::Over { .. })
    }

    /// Since when what was before one that nobody confirmed is in force again.
    pub fn rolled_back(&self) -> Option<Timestamp> {
        if let TrialState::RolledBack { since, .. } = self.state { Some(since) } else { None }
    }

    /// There is none from now on, nor was there one.
    pub fn forget(&mut self) {
        (self.state, self.names) = (TrialState::None, Vec::new());
        (self.held, self.ends) = (Vec::new(), None);
        self.note(None);
        self.note_beside();
    }
}

#[cfg(test)]
mod tests;
