//! The state directory: nothing lies in it but what is filterd's own, and all of that belongs to whom the daemon becomes.
//!
//! It is looked at before anything is changed; a directory that holds anything else is refused as it is. What is changed
//! then is each time the very object that was looked at: whoever owned the directory before may have laid links in it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::unistd::{Gid, Uid};
use thiserror::Error;

use crate::accounts;
use crate::state_directory::object::Object;
use crate::text::{Explain, printable};

/// What filterd's own files are called, whatever follows behind a dot: journal and configuration, with their copies, and the
/// notes of a pause, of a reload on trial, and of who asks by SSH.
const FILES: [&str; 5] = ["live.redb", "configuration", "pause", "trial", "askers"];

/// What its own directories are called: the last good copies of lists, and what was fetched.
const DIRECTORIES: [&str; 2] = ["lists", "feeds"];

/// What file systems put into their uppermost directory.
const LOST_AND_FOUND: &str = "lost+found";

/// Why a directory is not used.
#[derive(Debug, Error)]
pub enum StateError {
    /// Something lies there that filterd has never made.
    #[error("the state directory {} contains {name}, which is not filterd's", printable::path(directory))]
    Foreign {
        /// The directory.
        directory: PathBuf,
        /// What else there is.
        name: String,
    },
    /// Something that filterd would write to is not as filterd made it.
    #[error("{} is not safe to use: {why}", printable::path(path))]
    Untrusted {
        /// What it is about.
        path: PathBuf,
        /// Why.
        why: String,
        /// What to do about it.
        remedy: String,
    },
    /// The system does not let filterd look, or make it its own.
    #[error("cannot use {}: {error}", printable::path(path))]
    Failed {
        /// What it is about.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl Explain for StateError {
    fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Foreign { .. } => {
                "nothing was changed; give filterd its own directory with --state-dir, or move that file away"
                    .to_owned()
            }
            Self::Untrusted { remedy, .. } => remedy.clone(),
            Self::Failed { error, .. } => match error.raw_os_error().map(Errno::from_raw) {
                Some(Errno::EMFILE | Errno::ENFILE) => {
                    "raise the limit of open files (`ulimit -n`, `LimitNOFILE=` of its unit)".to_owned()
                }
                Some(Errno::EPERM) => {
                    "filterd gives it to its own user, which needs CAP_CHOWN (in a container: `--cap-add CHOWN`); to stay root, pass `--user root`"
                        .to_owned()
                }
                _ => "give filterd another directory with --state-dir".to_owned(),
            },
        })
    }
}

/// What to do where it is not the one any more that filterd may write to, and to no other.
pub const IF_REPLACED: &str = "if the state directory was removed or replaced, restart filterd, which can write only to the one it started with";

/// A state directory, and what of others' may lie in it.
pub struct StateDirectory<'a> {
    path: &'a Path,
    /// Whose it is to be.
    user: Uid,
    group: Gid,
    /// The socket and its lock, if they are in the same directory: looked after elsewhere.
    socket: Option<[OsString; 2]>,
}

impl<'a> StateDirectory<'a> {
    /// The one at `path`, of a filterd that listens at `socket`, which is to be theirs.
    pub fn new(path: &'a Path, socket: &Path, user: Uid, group: Gid) -> Self {
        let parent = socket.parent().filter(|parent| !parent.as_os_str().is_empty());
        let place = fs::canonicalize(parent.unwrap_or(Path::new(".")));
        let is_here = place.is_ok_and(|place| fs::canonicalize(path).is_ok_and(|path| path == place));
        let name = socket.file_name().filter(|_| is_here).map(OsString::from);
        let socket = name.map(|name| {
            let mut lock = name.clone();
            lock.push(".lock");
            [name, lock]
        });
        Self { path, user, group, socket }
    }

    /// Looks at everything, and changes nothing. What is not there, or cannot be opened, holds nothing foreign.
    pub fn inspect(&self) -> Result<(), StateError> {
        self.walk(&|_| Ok(()))
    }

    /// Makes it if it is missing, and everything in it its user's.
    ///
    /// What the disk refuses is left to the journal to tell: without a directory filterd goes on, and says so.
    pub fn give(&self) -> Result<(), StateError> {
        _ = self.make();
        self.walk(&|found| found.give(self.user, self.group))
    }

    /// Only the last one is for us alone: what leads to it must let our user through.
    fn make(&self) -> io::Result<()> {
        if let Some(parent) = self.path.parent() {
            fs::create_dir_all(parent)?;
        }
        DirBuilder::new().mode(0o700).create(self.path)
    }

    /// Whose things are filterd's: those of whom it becomes, of root, and of the user that it is where nobody says otherwise,
    /// also from before that user was listed. Whatever belongs to anybody else, that one has laid there, or may still change.
    fn trusted(&self) -> Vec<Uid> {
        let own = accounts::own().uid;
        let before =
            Some(Uid::from_raw(accounts::UNLISTED)).filter(|_| accounts::holder_of_unlisted().is_none());
        [self.user, Uid::from_raw(0), own].into_iter().chain(before).collect()
    }

    /// Shows everything that is filterd's to `visit`, each after it was looked at, the directory itself last.
    fn walk(&self, visit: &dyn Fn(&Object) -> Result<(), StateError>) -> Result<(), StateError> {
        let Ok(top) = Object::top(self.path) else { return Ok(()) };
        let names = top.entries()?;
        // Before anybody is told to make it filterd's: it may be something else altogether.
        names.iter().try_for_each(|name| self.must_be_own(name))?;
        let theirs = self.trusted();
        top.must_be_a_directory(&theirs)?;
        for name in names {
            if self.is_elsewhere(&name) {
                continue;
            }
            let text = name.to_string_lossy();
            if DIRECTORIES.contains(&&*text) {
                let Some(below) = top.below(&name)? else { continue };
                below.must_be_a_directory(&theirs)?;
                for name in below.entries()? {
                    let Some(file) = below.below(&name)? else { continue };
                    file.must_be_plain(&theirs)?;
                    visit(&file)?;
                }
                visit(&below)?;
            } else {
                let Some(file) = top.below(&name)? else { continue };
                file.must_be_plain(&theirs)?;
                visit(&file)?;
            }
        }
        visit(&top)
    }
}

impl StateDirectory<'_> {
    /// Does filterd, or what it may lie beside, give such names?
    fn must_be_own(&self, name: &OsStr) -> Result<(), StateError> {
        let text = name.to_string_lossy();
        let is_own = DIRECTORIES.contains(&&*text) || FILES.contains(&own_part(&text));
        if is_own || self.is_elsewhere(name) {
            return Ok(());
        }
        let name = printable::excerpt(&text);
        Err(StateError::Foreign { directory: self.path.to_owned(), name })
    }

    /// Is it looked after elsewhere?
    fn is_elsewhere(&self, name: &OsStr) -> bool {
        name == LOST_AND_FOUND
            || self.socket.as_ref().is_some_and(|names| names.iter().any(|socket| socket == name))
    }
}

/// The part of a file's name that says whose it is: `live.redb.damaged-7` is of `live.redb`.
fn own_part(name: &str) -> &str {
    let is_own =
        |own: &&&str| name.strip_prefix(**own).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    FILES.iter().find(is_own).map_or("", |own| own)
}

mod object;

#[cfg(test)]
mod tests;
