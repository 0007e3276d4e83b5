//! A word for whoever starts next: was all on disk when this one ended?
//!
//! It stands in a file of its own, made while there is room, and is overwritten in place: a disk that is full has no other
//! block to give. Where even that is refused, the word stands beside the socket. Only what a client was not told to be on disk
//! can be missing, and the word is there before the client is told.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tracing::{error, warn};

use super::own_file::{open_our_own, open_to_read};
use crate::blocklist::Timestamp;
use crate::text::printable;

/// The name says that it belongs to the journal.
const FILE: &str = "live.redb.behind";

/// Every word is as long, so that none needs more room than another.
const LENGTH: usize = 64;

const WHOLE: &str = "all is on disk";
const BEHIND: &str = "behind since ";

/// Another place for it, where the state directory takes nothing at all: since when, or that all is on disk.
pub type Beside = Box<dyn Fn(Option<Timestamp>) -> io::Result<()> + Send>;

/// The file, and what it says.
pub struct Sign {
    path: PathBuf,
    says: Says,
    /// The other place, once it is known.
    beside: Option<Beside>,
    /// It stands there.
    is_beside: bool,
    /// What it said at the start is noted nowhere else yet.
    must_stay: bool,
    /// That it cannot be written is told once.
    is_refused: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Says {
    Whole,
    Behind,
    /// It is not there, or another process may have written it.
    Unknown,
}

impl Sign {
    /// The one in `directory`, made if it is not there; and since when the journal was behind when its last filterd ended,
    /// if it was.
    pub fn find(directory: &Path) -> (Self, Option<Timestamp>) {
        let path = directory.join(FILE);
        let (says, since) = read(&path).unwrap_or((Says::Unknown, None));
        let (must_stay, is_refused) = (since.is_some(), false);
        let mut sign = Self { path, says, beside: None, is_beside: false, must_stay, is_refused };
        if says == Says::Unknown
            && let Err(error) = sign.make()
        {
            let path = printable::path(&sign.path);
            warn!(
                "cannot create {path}: {error}; if a full disk loses live entries, a later start may not report it"
            );
        }
        (sign, since)
    }

    /// The journal is behind from now on.
    pub fn begin(&mut self, now: Timestamp) {
        if self.says == Says::Behind || self.is_beside {
            return;
        }
        match self.write(&format!("{BEHIND}{}", now.secs())) {
            Ok(()) => self.says = Says::Behind,
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

    /// From here on there is another place.
    pub fn has_beside(&mut self, beside: Beside, behind: Option<Timestamp>) {
        self.beside = Some(beside);
        if let Some(since) = behind {
            self.begin(since);
        }
    }

    fn say_beside(&self, since: Option<Timestamp>) -> bool {
        self.beside.as_ref().is_some_and(|say| say(since).is_ok())
    }

    /// All of it is on disk again.
    pub fn end(&mut self) {
        self.is_refused = false;
        if self.is_beside && self.say_beside(None) {
            self.is_beside = false;
        }
        if self.says == Says::Whole || self.must_stay {
            return;
        }
        match self.write(WHOLE) {
            Ok(()) => self.says = Says::Whole,
            Err(error) => {
                let path = printable::path(&self.path);
                warn!(
                    "cannot store in {path} that live entries are on disk again: {error}; the next start may report a loss that did not happen"
                );
            }
        }
    }

    /// Forgets what it said at the start, which is noted where it lasts, or acknowledged.
    pub fn forget_before(&mut self, is_behind: bool) {
        self.must_stay = false;
        if !is_behind {
            // The filterd before may have said it there.
            self.say_beside(None);
            self.end();
        }
    }

    /// Another process may write it meanwhile.
    pub fn let_go(&mut self) {
        self.says = Says::Unknown;
    }

    /// Its block and its name are on disk when this returns.
    fn make(&mut self) -> io::Result<()> {
        self.write(WHOLE)?;
        self.says = Says::Whole;
        File::open(self.path.parent().expect("it is a file in the state directory"))?.sync_all()
    }

    /// The path is opened each time: what is written to a file that somebody has removed, nobody will ever read.
    fn write(&self, word: &str) -> io::Result<()> {
        let file = open_our_own(&self.path)?;
        file.write_all_at(format!("{word:<0$}\n", LENGTH - 1).as_bytes(), 0)?;
        file.sync_data()
    }
}

/// What it says. Anything else than a word of ours is none.
fn read(path: &Path) -> Option<(Says, Option<Timestamp>)> {
    let file = open_to_read(path).ok()?;
    let mut text = String::new();
    file.take(LENGTH as u64).read_to_string(&mut text).ok()?;
    let word = text.trim_end();
    if word == WHOLE && text.len() == LENGTH {
        return Some((Says::Whole, None));
    }
    let since: u64 = word.strip_prefix(BEHIND)?.parse().ok()?;
    Some((Says::Behind, Some(Timestamp::from_secs(u32::try_from(since).unwrap_or(u32::MAX)))))
}

#[cfg(test)]
mod tests;
