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

use super::lists::ToKeep;
use super::reload::{Ends, Loaded, Parted};
use crate::blocklist::Timestamp;
use crate::clock;
use crate::control::Handle;
use crate::text::Explanation;
use note::{Note, Place, Stage};
use owed::Owed;
pub use start::AtStart;

/// How long until what could not be put back is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// Whether a configuration is on trial.
pub struct Trial {
    place: Place,
    state: State,
    /// What could not be noted of it.
    owed: Option<Owed>,
    /// Lists of before, whose names nobody else may have meanwhile.
    names: Vec<Arc<str>>,
    /// The copies that there should be of its lists, once it is confirmed.
    held: Vec<ToKeep>,
    /// When what it has let go was to end. A filterd that goes on with it does not know.
    ends: Option<Arc<Ends>>,
    /// Lists of before that could not be put back.
    lost: Vec<Arc<str>>,
    /// What was found of the files when it was rolled back.
    found: Files,
    /// The filterd before has left a record of one.
    is_known: bool,
    /// Where else it is noted, for a start that does not find the record of it.
    beside: Option<Handle>,
}

/// What has become of it.
enum State {
    /// There is none.
    None,
    /// It is being made true, or is.
    On {
        note: Note,
        since: Timestamp,
        until: Timestamp,
        is_in_force: bool,
        was_rolled_back: bool,
        anew: Option<Anew>,
    },
    /// It was confirmed, and its copies are being written.
    Confirmed,
    /// Its time is over, and what was before is being put back; when that is to be tried again, and why.
    Over { note: Note, since: Timestamp, refused: Option<(Instant, Explanation)> },
    /// What was before is in force again; by whom the reload was. Where all files say the same, a start need know nothing of it.
    RolledBack { since: Timestamp, by: String, is_settled: bool },
    /// This start should have gone on with it, or kept what was before, and could not.
    Lost { since: Timestamp, told: Explanation },
}

/// Whether files say what is put back.
#[derive(Clone, Copy, Debug, Default)]
struct Files {
    /// The configuration's.
    config: bool,
    /// All of them.
    all: bool,
}

/// What a start within a trial has brought: it reads configuration and lists anew, whatever was on trial before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anew {
    /// What they said then.
    AsRead,
    /// The lists as they were then; the configuration is that of before, since the file was not valid.
    ListsOnly,
}

impl Trial {
    /// None, for a filterd with this state directory.
    pub fn none(state: &Path) -> Self {
        Self {
            place: Place::in_directory(state),
            state: State::None,
            owed: None,
            names: Vec::new(),
            held: Vec::new(),
            ends: None,
            lost: Vec::new(),
            found: Files::default(),
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
        parted: Parted,
    ) -> Result<(), String> {
        let note = Note::ending(length, checksum, by, parted);
        self.place.write(&note)?;
        self.owed = None;
        let (since, until) = (clock::now(), clock::after(length));
        let was_rolled_back = matches!(self.state, State::RolledBack { is_settled: false, .. });
        self.names = names;
        self.state = State::On { note, since, until, is_in_force: false, was_rolled_back, anew: None };
        self.note_beside();
        Ok(())
    }

    /// What was to be on trial has not come into force.
    pub fn has_come_to_nothing(&mut self) {
        match std::mem::replace(&mut self.state, State::None) {
            State::On { note, was_rolled_back: true, .. } => self.is_rolled_back(&note, false),
            State::On { .. } => self.forget(),
            other @ (State::None
            | State::Confirmed
            | State::Over { .. }
            | State::RolledBack { .. }
            | State::Lost { .. }) => self.state = other,
        }
    }

    /// It is in force: its time begins. Tells until when.
    pub fn is_in_force(&mut self, length: Duration, to_keep: Vec<ToKeep>) -> Option<Timestamp> {
        self.held = to_keep;
        let State::On { note, until, is_in_force, .. } = &mut self.state else { return None };
        (*until, *is_in_force) = (clock::after(length), true);
        *note = Note::ending(length, note.checksum, &note.by, note.parted.clone());
        if let Err(error) = self.place.write(note) {
            // The one that was written before holds, and is over a little earlier.
            warn!("{error}");
        }
        Some(*until)
    }

    /// What it has let go was to end so.
    pub fn knows(&mut self, ends: Option<Ends>) {
        self.ends = ends.map(Arc::new);
    }

    /// When what is put back ends, as far as that is known.
    pub fn ends(&self) -> Option<Arc<Ends>> {
        self.ends.clone()
    }

    /// The same of one that a start goes on with.
    pub fn hold(&mut self, to_keep: Vec<ToKeep>) {
        self.held = to_keep;
    }

    /// Is the configuration in force, or coming into force, one on trial, or being taken back?
    pub fn is_on(&self) -> bool {
        matches!(self.state, State::On { .. } | State::Over { .. })
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
            State::On { until, is_in_force: true, .. } => Some(clock::until(*until)),
            State::Over { refused: Some((retry, _)), .. } => {
                Some(retry.saturating_duration_since(clock::instant()))
            }
            State::On { .. }
            | State::Over { refused: None, .. }
            | State::None
            | State::Confirmed
            | State::RolledBack { .. }
            | State::Lost { .. } => None,
        }
    }

    /// Could it end at this moment?
    pub fn may_end(&self) -> bool {
        matches!(self.state, State::On { is_in_force: true, .. } | State::Over { refused: Some(_), .. })
    }

    /// Its time is over, or somebody does not want it.
    pub fn is_over(&mut self, is_unwanted: bool) {
        self.state = match std::mem::replace(&mut self.state, State::None) {
            State::On { note, .. } => {
                let why = if is_unwanted { "was rolled back by a user" } else { "was not confirmed in time" };
                warn!("the configuration of {} {why}; rolling back", note.by);
                // Whoever starts next is to know it, too, if this one does not come to its end.
                let note = if is_unwanted { note.over() } else { note };
                if is_unwanted && let Err(error) = self.place.write(&note) {
                    warn!("{error}");
                }
                State::Over { note, since: clock::now(), refused: None }
            }
            State::Over { note, since, .. } => State::Over { note, since, refused: None },
            other @ (State::None | State::Confirmed | State::RolledBack { .. } | State::Lost { .. }) => other,
        };
        self.held.clear();
    }

    /// What was before could not be put back.
    pub fn was_not_rolled_back(&mut self, why: Explanation) {
        tracing::error!("the rollback failed, retrying: {why}");
        if let State::Over { refused, .. } = &mut self.state {
            *refused = Some((clock::instant() + RETRY, why));
        }
    }

    /// These lists of before cannot be put back.
    pub fn loses(&mut self, lists: Vec<Arc<str>>) {
        self.lost = lists;
    }

    /// Could this list of before not be put back?
    pub fn has_lost(&self, list: &str) -> bool {
        self.lost.iter().any(|lost| **lost == *list)
    }

    /// This is put back, and found beside the files as they are then: as long as the configuration's has this checksum, a start
    /// does not take it.
    pub fn finds(&mut self, loaded: &Loaded) {
        let config = loaded.says_its_file;
        self.found = Files { config, all: config && loaded.say_their_files() };
        if let State::Over { note, .. } = &mut self.state {
            note.checksum = loaded.checksum;
        }
    }

    /// Does the configuration's file say what was put back?
    pub fn found_its_file(&self) -> bool {
        self.found.config
    }

    /// What was before is in force again.
    pub fn has_rolled_back(&mut self) {
        if let State::Over { note, .. } = &self.state {
            let note = note.clone();
            self.is_rolled_back(&note, self.found.all);
        }
    }

    fn is_rolled_back(&mut self, note: &Note, is_settled: bool) {
        self.state = State::RolledBack { since: clock::now(), by: note.by.clone(), is_settled };
        self.ends = None;
        let note = Note { stage: Stage::RolledBack, ..note.clone() };
        self.note(Some(note).filter(|_| !is_settled));
        self.note_beside();
    }

    /// It is not on trial any more: the copies that there should be of it.
    pub fn confirm(&mut self) -> Option<Vec<ToKeep>> {
        let State::On { note, is_in_force: true, .. } = &self.state else { return None };
        // Until its copies have their places, a start takes them for what was confirmed.
        let note = Note { stage: Stage::Confirmed, ..note.clone() };
        (self.state, self.ends) = (State::Confirmed, None);
        self.note(Some(note));
        Some(std::mem::take(&mut self.held))
    }

    /// Was it confirmed, and are its copies still being written?
    pub fn is_confirmed(&self) -> bool {
        matches!(self.state, State::Confirmed)
    }

    /// Is what was before it being put back?
    pub fn is_being_rolled_back(&self) -> bool {
        matches!(self.state, State::Over { .. })
    }

    /// Since when what was before one that nobody confirmed is in force again.
    pub fn rolled_back(&self) -> Option<Timestamp> {
        if let State::RolledBack { since, .. } = self.state { Some(since) } else { None }
    }

    /// There is none from now on, nor was there one.
    pub fn forget(&mut self) {
        (self.state, self.names) = (State::None, Vec::new());
        (self.held, self.ends) = (Vec::new(), None);
        self.note(None);
        self.note_beside();
    }
}

#[cfg(test)]
mod tests;
