//! A configuration on trial: in force until somebody confirms it, or else until its time is over; then what was before is put
//! back. Until it is confirmed, the last good copies of configuration and lists on disk stay those of before: they are what
//! is put back, by this filterd or, at its start, by the next one.

mod note;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{info, warn};

use super::lists::ToKeep;
use crate::blocklist::Timestamp;
use crate::clock;
use crate::control::wire::status::OnTrial;
use crate::control::wire::{About, Fault};
use crate::text::{Explanation, date, printable};
use note::{Note, Place};

/// How long until what could not be put back is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// Whether a configuration is on trial.
pub struct Trial {
    place: Place,
    state: State,
    /// Lists of before, whose names nobody else may have meanwhile.
    names: Vec<Arc<str>>,
    /// The copies that there should be of its lists, once it is confirmed.
    held: Vec<ToKeep>,
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
    /// What was before is in force again.
    RolledBack { since: Timestamp },
}

/// What a start within a trial has brought: it reads configuration and lists anew, whatever was on trial before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anew {
    /// What they said then.
    AsRead,
    /// The lists as they were then; the configuration is that of before, since the file was not valid.
    ListsOnly,
}

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
        /// The checksum of the text that was not confirmed.
        checksum: u32,
    },
}

impl Trial {
    /// None, for a filterd with this state directory.
    pub fn none(state: &Path) -> Self {
        Self { place: Place::in_directory(state), state: State::None, names: Vec::new(), held: Vec::new() }
    }

    /// The one that the filterd before has left. `names` are those of the lists of before.
    pub fn at_start(state: &Path, names: impl Iterator<Item = Arc<str>>) -> (Self, AtStart) {
        let mut this = Self::none(state);
        let Some(note) = this.place.read() else { return (this, AtStart::Nothing) };
        if note.is_rolled_back {
            let checksum = note.checksum;
            this.state = State::RolledBack { since: clock::now() };
            return (this, AtStart::StayRolledBack { checksum });
        }
        let Some(left) = note.left() else {
            warn!("the configuration of {} was not confirmed in time: what was before is in force", note.by);
            this.is_rolled_back(&note);
            return (this, AtStart::RollBack);
        };
        info!("the configuration of {} is on trial for another {} s", note.by, left.as_secs());
        let (since, until) = (clock::now(), clock::after(left));
        this.names = names.collect();
        let anew = Some(Anew::AsRead);
        this.state = State::On { note, since, until, is_in_force: true, was_rolled_back: false, anew };
        (this, AtStart::GoesOn)
    }

    /// Begins one: on disk when this returns. `names` are those of the lists in force.
    pub fn begin(
        &mut self,
        length: Duration,
        by: &str,
        checksum: u32,
        names: Vec<Arc<str>>,
    ) -> Result<(), String> {
        let note = Note::ending(length, checksum, by);
        self.place.write(&note)?;
        let (since, until) = (clock::now(), clock::after(length));
        let was_rolled_back = self.rolled_back().is_some();
        self.names = names;
        self.state = State::On { note, since, until, is_in_force: false, was_rolled_back, anew: None };
        Ok(())
    }

    /// What was to be on trial has not come into force.
    pub fn has_come_to_nothing(&mut self) {
        match std::mem::replace(&mut self.state, State::None) {
            State::On { note, was_rolled_back: true, .. } => self.is_rolled_back(&note),
            State::On { .. } => self.forget(),
            other @ (State::None | State::Confirmed | State::Over { .. } | State::RolledBack { .. }) => {
                self.state = other;
            }
        }
    }

    /// It is in force: its time begins. Tells until when.
    pub fn is_in_force(&mut self, length: Duration, to_keep: Vec<ToKeep>) -> Option<Timestamp> {
        self.held = to_keep;
        let State::On { note, until, is_in_force, .. } = &mut self.state else { return None };
        (*until, *is_in_force) = (clock::after(length), true);
        *note = Note::ending(length, note.checksum, &note.by);
        if let Err(error) = self.place.write(note) {
            // The one that was written before holds, and is over a little earlier.
            warn!("{error}");
        }
        Some(*until)
    }

    /// The same of one that a start goes on with.
    pub fn hold(&mut self, to_keep: Vec<ToKeep>) {
        self.held = to_keep;
    }

    /// Is the configuration in force, or coming into force, one on trial, or being taken back?
    pub fn is_on(&self) -> bool {
        matches!(self.state, State::On { .. } | State::Over { .. })
    }

    /// The start that goes on with it has found a configuration that is not valid: that of before is in force.
    pub fn has_an_invalid_file(&mut self) {
        if let State::On { anew, .. } = &mut self.state {
            *anew = Some(Anew::ListsOnly);
        }
    }

    /// Does this name belong to a list of before?
    pub fn reserves(&self, name: &str) -> bool {
        self.is_on() && self.names.iter().any(|reserved| **reserved == *name)
    }

    /// How long until something is to be done about it.
    pub fn until_due(&self) -> Option<Duration> {
        match &self.state {
            State::On { until, is_in_force: true, .. } => Some(clock::until(*until)),
            State::Over { refused: Some((retry, _)), .. } => {
                Some(retry.saturating_duration_since(clock::instant()))
            }
            State::On { .. }
            | State::Over { refused: None, .. }
            | State::None
            | State::Confirmed
            | State::RolledBack { .. } => None,
        }
    }

    /// Its time is over.
    pub fn is_over(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::None) {
            State::On { note, .. } => {
                warn!("the configuration of {} was not confirmed in time, and is rolled back", note.by);
                State::Over { note, since: clock::now(), refused: None }
            }
            State::Over { note, since, .. } => State::Over { note, since, refused: None },
            other @ (State::None | State::Confirmed | State::RolledBack { .. }) => other,
        };
        self.held.clear();
    }

    /// What was before could not be put back.
    pub fn was_not_rolled_back(&mut self, why: Explanation) {
        tracing::error!("what was before the trial cannot be put back, and is tried again: {why}");
        if let State::Over { refused, .. } = &mut self.state {
            *refused = Some((clock::instant() + RETRY, why));
        }
    }

    /// What was before is in force again.
    pub fn has_rolled_back(&mut self) {
        if let State::Over { note, .. } = std::mem::replace(&mut self.state, State::None) {
            self.is_rolled_back(&note);
        }
    }

    fn is_rolled_back(&mut self, note: &Note) {
        self.state = State::RolledBack { since: clock::now() };
        if let Err(error) = self.place.write(&Note { is_rolled_back: true, ..note.clone() }) {
            warn!("{error}: the next start takes the configuration's file again");
        }
    }

    /// It is not on trial any more: the copies that there should be of it.
    pub fn confirm(&mut self) -> Option<Vec<ToKeep>> {
        if !matches!(self.state, State::On { is_in_force: true, .. }) {
            return None;
        }
        self.state = State::Confirmed;
        Some(std::mem::take(&mut self.held))
    }

    /// Was it confirmed, and are its copies still being written?
    pub fn is_confirmed(&self) -> bool {
        matches!(self.state, State::Confirmed)
    }

    /// Since when what was before one that nobody confirmed is in force again.
    pub fn rolled_back(&self) -> Option<Timestamp> {
        if let State::RolledBack { since } = self.state { Some(since) } else { None }
    }

    /// There is none from now on, nor was there one.
    pub fn forget(&mut self) {
        self.place.remove();
        (self.state, self.names) = (State::None, Vec::new());
        self.held.clear();
    }

    /// As `status` tells it.
    pub fn status(&self) -> Option<OnTrial> {
        let State::On { note, since, until, .. } = &self.state else { return None };
        Some(OnTrial {
            since: clock::on_the_wall(*since),
            until: clock::on_the_wall(*until),
            by: note.by.clone(),
        })
    }

    /// What an operator must know of it. That something was rolled back is told of the configuration.
    pub fn fault(&self) -> Option<Fault> {
        let (since, message, remedy) = match &self.state {
            State::On { note, since, until, anew, .. } => {
                let (until, by) = (date::utc(clock::on_the_wall(*until)), printable::on_one_line(&note.by));
                let (now, remedy) = match anew {
                    None => ("", "`filterd confirm` keeps it"),
                    Some(Anew::AsRead) => (
                        "; filterd has started since, and on trial is what configuration and lists said then",
                        "`filterd confirm` keeps what they said at that start",
                    ),
                    Some(Anew::ListsOnly) => (
                        "; filterd has started since, and its configuration was not valid then: in force is that of \
                         before the trial, with the lists as they were at that start",
                        "`filterd confirm` keeps that, and what was on trial is not taken; else mend the file, wait until \
                         it is rolled back, and `filterd reload --confirm` again",
                    ),
                };
                let message =
                    format!("the configuration of {by} is on trial until {until}, then rolled back{now}");
                (since, message, remedy)
            }
            State::Over { since, refused: None, .. } => {
                let message = "the configuration was not confirmed in time, and is being rolled back";
                (since, message.to_owned(), "what was before is in force in a moment")
            }
            State::Over { since, refused: Some((_, why)), .. } => {
                let message = format!(
                    "the configuration was not confirmed, and cannot be rolled back: {}",
                    why.message
                );
                (since, message, "it is tried again every 5 s; a restart of filterd rolls back, too")
            }
            State::None | State::Confirmed | State::RolledBack { .. } => return None,
        };
        let told = Explanation::new(message, remedy);
        Some(Fault { about: About::Configuration, since: clock::on_the_wall(*since), told })
    }

    /// Why another configuration cannot come now, nor another filterd.
    pub fn refusal(&self) -> Option<Explanation> {
        let State::On { note, until, .. } = &self.state else {
            let message = match &self.state {
                State::Over { .. } => "what was before a reload that was not confirmed is being put back",
                State::Confirmed => "a reload was confirmed, and its copies are being written",
                State::On { .. } | State::None | State::RolledBack { .. } => return None,
            };
            return Some(Explanation::new(message, "try again in a moment"));
        };
        let (until, by) = (date::utc(clock::on_the_wall(*until)), printable::on_one_line(&note.by));
        let message = format!("a reload of {by} is on trial until {until}");
        Some(Explanation::new(
            message,
            "`filterd confirm` keeps what it brought; else wait until it is rolled back",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn begun(state: &Path) -> Trial {
        let mut trial = Trial::none(state);
        trial.begin(MINUTE, "alice (filterd reload)", 7, vec!["drop".into()]).unwrap();
        trial
    }

    fn next_start(state: &Path) -> AtStart {
        Trial::at_start(state, std::iter::empty()).1
    }

    #[test]
    fn a_trial_is_known_to_the_next_start_until_it_is_confirmed() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(next_start(place.path()), AtStart::Nothing);
        let mut trial = begun(place.path());
        assert!(trial.is_on() && trial.reserves("drop") && !trial.reserves("ssh"));
        assert_eq!((trial.until_due(), trial.confirm().is_some()), (None, false), "it is not in force yet");
        assert_eq!(next_start(place.path()), AtStart::GoesOn);
        trial.is_in_force(MINUTE, Vec::new()).unwrap();
        assert!(trial.until_due().is_some_and(|left| left > MINUTE / 2));
        assert!(
            trial.refusal().unwrap().message.starts_with("a reload of alice (filterd reload) is on trial")
        );
        assert!(trial.fault().unwrap().told.message.ends_with("UTC, then rolled back"));
        assert!(trial.confirm().is_some() && trial.is_confirmed() && !trial.is_on());
        assert_eq!(next_start(place.path()), AtStart::GoesOn, "until its copies are on disk");
        trial.forget();
        assert_eq!((next_start(place.path()), trial.fault()), (AtStart::Nothing, None));
    }

    #[test]
    fn a_start_within_it_says_what_is_on_trial_since() {
        let place = tempfile::tempdir().unwrap();
        begun(place.path());
        let (mut trial, _) = Trial::at_start(place.path(), std::iter::empty());
        let told = |trial: &Trial| {
            let told = trial.fault().unwrap().told;
            (told.message, told.remedy.unwrap_or_default())
        };
        assert!(told(&trial).0.ends_with("on trial is what configuration and lists said then"));
        assert_eq!(told(&trial).1, "`filterd confirm` keeps what they said at that start");
        trial.has_an_invalid_file();
        assert!(told(&trial).0.contains("in force is that of before the trial"));
        assert!(
            told(&trial).1.starts_with("`filterd confirm` keeps that, and what was on trial is not taken")
        );
    }

    #[test]
    fn one_that_has_come_to_nothing_leaves_what_was_there_before_it() {
        let place = tempfile::tempdir().unwrap();
        let mut trial = begun(place.path());
        trial.has_come_to_nothing();
        assert_eq!((trial.is_on(), next_start(place.path())), (false, AtStart::Nothing));
        let mut trial = begun(place.path());
        trial.is_over();
        trial.has_rolled_back();
        trial.begin(MINUTE, "bob", 9, Vec::new()).unwrap();
        trial.has_come_to_nothing();
        assert!(trial.rolled_back().is_some());
        assert_eq!(next_start(place.path()), AtStart::StayRolledBack { checksum: 9 });
        trial.has_come_to_nothing();
        assert!(trial.rolled_back().is_some(), "it had not begun");
    }

    #[test]
    fn one_that_is_over_is_rolled_back_and_stays_so_over_a_start() {
        let place = tempfile::tempdir().unwrap();
        let mut trial = begun(place.path());
        trial.is_in_force(Duration::ZERO, Vec::new()).unwrap();
        assert_eq!(next_start(place.path()), AtStart::RollBack);
        let mut trial = begun(place.path());
        trial.is_in_force(MINUTE, Vec::new()).unwrap();
        trial.is_over();
        assert!(trial.is_on() && trial.confirm().is_none() && trial.until_due().is_none());
        trial.was_not_rolled_back("no memory".into());
        assert!(trial.until_due().is_some_and(|left| left <= RETRY));
        assert!(trial.fault().unwrap().told.message.contains("cannot be rolled back: no memory"));
        trial.has_rolled_back();
        assert!(trial.rolled_back().is_some() && !trial.is_on() && trial.refusal().is_none());
        assert_eq!(next_start(place.path()), AtStart::StayRolledBack { checksum: 7 });
        trial.forget();
        assert_eq!(next_start(place.path()), AtStart::Nothing);
    }
}
