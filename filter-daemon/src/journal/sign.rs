//! A note for the next start: whether everything was on disk when this filterd ended.
//!
//! It is a file of its own, created while there is room. It is overwritten in place, because a full disk
//! has no other block to give. If even that fails, the note is written beside the socket. It is written
//! before the client gets its reply. Only changes that were not confirmed as on disk can be missing.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tracing::{error, warn};

use super::own_file::{open_our_own, open_to_read};
use crate::blocklist::Timestamp;
use crate::text::printable;

/// The name shows that it belongs to the journal.
const FILE: &str = "live.redb.behind";

/// Every note has this length, so that none needs more room than another.
const LENGTH: usize = 64;

const WHOLE: &str = "all is on disk";
const BEHIND: &str = "behind since ";

/// Writes the note to a second place, for a state directory that refuses every write. The time says since
/// when changes are missing; none means that everything is on disk.
pub type SecondPlace = Box<dyn Fn(Option<Timestamp>) -> io::Result<()> + Send>;

/// The file of the note, and its contents.
pub struct LossNote {
    path: PathBuf,
    says: NoteState,
    /// The second place, once it is known.
    beside: Option<SecondPlace>,
    /// True if the note is in the second place.
    is_beside: bool,
    /// True while the note of the last run has not been noted elsewhere.
    must_stay: bool,
    /// Set after the first failure to write it, so that this is logged once.
    is_refused: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NoteState {
    Whole,
    Behind,
    /// The note is missing or damaged.
    Unknown,
}

impl LossNote {
    /// Finds the note in `directory`, or creates it. Also returns since when the journal was incomplete at
    /// the end of the last filterd, if it was.
    pub fn find(directory: &Path) -> (Self, Option<Timestamp>) {
        let path = directory.join(FILE);
        let (says, since) = read(&path).unwrap_or((NoteState::Unknown, None));
        let (must_stay, is_refused) = (since.is_some(), false);
        let mut sign = Self { path, says, beside: None, is_beside: false, must_stay, is_refused };
        if says == NoteState::Unknown
            && let Err(error) = sign.make()
        {
            let path = printable::path(&sign.path);
            warn!(
                "cannot create {path}: {error}; if a full disk loses live entries, a later start may not report it"
            );
        }
        (sign, since)
    }

    /// Notes that the journal is incomplete from now on.
    pub fn begin(&mut self, now: Timestamp) {
        if self.says == NoteState::Behind || self.is_beside {
            return;
        }
        match self.write(&format!("{BEHIND}{}", now.secs())) {
            Ok(()) => self.says = NoteState::Behind,
            Err(_) if self.say_beside(Some(now)) => self.is_beside = true,
            Err(error) if !self.is_refused => {
                self.is_refused = true;
                let path = printable::path(&self.path);
                error!(
                    "cannot store in {path} that live entries are not on disk: {error}; the next start will not report it"
                );
            }
            Err(_) => {}
        }
    }

    /// Sets the second place.
    pub fn set_second_place(&mut self, beside: SecondPlace, behind: Option<Timestamp>) {
        self.beside = Some(beside);
        if let Some(since) = behind {
            self.begin(since);
        }
    }

    fn say_beside(&self, since: Option<Timestamp>) -> bool {
        self.beside.as_ref().is_some_and(|say| say(since).is_ok())
    }

    /// Notes that everything is on disk again.
    pub fn end(&mut self) {
        self.is_refused = false;
        if self.is_beside && self.say_beside(None) {
            self.is_beside = false;
        }
        if self.says == NoteState::Whole || self.must_stay {
            return;
        }
        match self.write(WHOLE) {
            Ok(()) => self.says = NoteState::Whole,
            Err(error) => {
                let path = printable::path(&self.path);
                warn!(
                    "cannot store in {path} that live entries are on disk again: {error}; the next start may report a loss that did not happen"
                );
            }
        }
    }

    /// Removes the note of the last run, after it was noted permanently or acknowledged.
    pub fn forget_before(&mut self, is_behind: bool) {
        self.must_stay = false;
        if !is_behind {
            // The previous filterd may have used the second place.
            self.say_beside(None);
            self.end();
        }
    }

    /// When this returns, the block and the name of the file are on disk.
    fn make(&mut self) -> io::Result<()> {
        self.write(WHOLE)?;
        self.says = NoteState::Whole;
        File::open(self.path.parent().expect("it is a file in the state directory"))?.sync_all()
    }

    /// The path is opened each time, because a removed file would never be read again.
    fn write(&self, word: &str) -> io::Result<()> {
        let file = open_our_own(&self.path)?;
        file.write_all_at(format!("{word:<0$}\n", LENGTH - 1).as_bytes(), 0)?;
        file.sync_data()
    }
}

/// Reads the note; none for anything but a complete note.
fn read(path: &Path) -> Option<(NoteState, Option<Timestamp>)> {
    let file = open_to_read(path).ok()?;
    let mut text = String::new();
    file.take(LENGTH as u64).read_to_string(&mut text).ok()?;
    let word = text.trim_end();
    if word == WHOLE && text.len() == LENGTH {
        return Some((NoteState::Whole, None));
    }
    let since: u64 = word.strip_prefix(BEHIND)?.parse().ok()?;
    Some((NoteState::Behind, Some(Timestamp::from_secs(u32::try_from(since).unwrap_or(u32::MAX)))))
}

#[cfg(test)]
mod tests;
