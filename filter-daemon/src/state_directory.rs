//! Checks the state directory, and gives it to the user that the daemon becomes. It must contain nothing
//! but filterd's own files.
//!
//! All checks come before any change, and a directory with anything else in it is refused untouched. Each
//! later change applies to the very object that was checked, because an earlier owner of the directory may
//! have put links into it.

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

/// The names of filterd's own files, which may continue after a dot. These are the journal with its copies, the
/// manifests of generations, the notes of a pause and of SSH callers, and a configuration of an earlier filterd.
const FILES: [&str; 7] = ["live.redb", "current", "trial", "rejected", "pause", "askers", "configuration"];

/// The names of its own directories: blobs, fetched files, and the copies of lists of an earlier filterd.
const DIRECTORIES: [&str; 3] = ["blobs", "feeds", "lists"];

/// The directory that file systems create at their root.
const LOST_AND_FOUND: &str = "lost+found";

/// Why a directory is refused.
#[derive(Debug, Error)]
pub enum StateError {
    /// It contains something that filterd never makes.
    #[error("the state directory {} contains {name}, which is not filterd's", printable::path(directory))]
    Foreign {
        directory: PathBuf,
        /// The name of the foreign file.
        name: String,
    },
    /// Something that filterd would write to differs from what filterd made.
    #[error("{} is not safe to use: {why}", printable::path(path))]
    Untrusted {
        path: PathBuf,
        /// The reason not to trust it.
        why: String,
        /// How to fix it.
        remedy: String,
    },
    /// It belongs to another user. Only root knows which user the daemon becomes.
    #[error(
        "{} is not safe to use: it belongs to user {owner}, but filterd runs as user {user}",
        printable::path(path)
    )]
    OfAnother {
        path: PathBuf,
        owner: Uid,
        /// The user of this process.
        user: Uid,
        is_directory: bool,
    },
    /// The system refuses to read it, or to change its owner.
    #[error("cannot use {}: {error}", printable::path(path))]
    Failed {
        /// The path that is affected.
        path: PathBuf,
        error: io::Error,
        /// The user of this process.
        user: Uid,
    },
}

/// The remedy for a filterd that was not started by root.
const AS_ROOT: &str = "start filterd as root: sudo filterd run";

impl StateError {
    /// Whether only root can tell if this is a fault.
    pub fn needs_root(&self) -> bool {
        match self {
            Self::OfAnother { user, .. } => !user.is_root(),
            Self::Failed { error, user, .. } => {
                error.kind() == io::ErrorKind::PermissionDenied && !user.is_root()
            }
            Self::Foreign { .. } | Self::Untrusted { .. } => false,
        }
    }
}

impl Explain for StateError {
    fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Foreign { .. } => {
                "nothing was changed; give filterd its own directory with --state-dir, or move that file away"
                    .to_owned()
            }
            Self::Untrusted { remedy, .. } => remedy.clone(),
            Self::OfAnother { path, user, is_directory, .. } if user.is_root() => {
                let all = if *is_directory { " -R" } else { "" };
                format!("if its contents are right: chown{all} {user} {}", printable::path(path))
            }
            Self::OfAnother { .. } => AS_ROOT.to_owned(),
            Self::Failed { error, user, .. } => match error.raw_os_error().map(Errno::from_raw) {
                Some(Errno::EACCES | Errno::EPERM) if !user.is_root() => AS_ROOT.to_owned(),
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

/// The remedy for a state directory that was replaced, because filterd may write only to the original one.
pub const IF_REPLACED: &str = "if the state directory was removed or replaced, restart filterd, which can write only to the one it started with";

/// A state directory, with the other files that may be in it.
pub struct StateDirectory<'a> {
    path: &'a Path,
    /// The owner that everything should have.
    user: Uid,
    group: Gid,
    /// The socket and its lock, if they are in the same directory. Other code handles them.
    socket: Option<[OsString; 2]>,
}

impl<'a> StateDirectory<'a> {
    /// The state directory at `path` of a filterd that listens at `socket`, for this user and group.
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

    /// Checks everything, and changes nothing. A missing directory, or one that cannot be opened, passes.
    pub fn inspect(&self) -> Result<(), StateError> {
        self.walk(&|_| Ok(()))
    }

    /// Creates the directory if it is missing, and gives everything in it to the user.
    ///
    /// Failures of the disk are not reported here: filterd runs without the directory, and the journal
    /// reports it.
    pub fn give(&self) -> Result<(), StateError> {
        _ = self.make();
        self.walk(&|found| found.give(self.user, self.group))
    }

    /// Only the last directory is private; its parents must let the user through.
    fn make(&self) -> io::Result<()> {
        if let Some(parent) = self.path.parent() {
            fs::create_dir_all(parent)?;
        }
        DirBuilder::new().mode(0o700).create(self.path)
    }

    /// The users whose files count as filterd's: the user it becomes, root, and its default user. The ID of
    /// the default user from before it was listed counts as well. Another user may have put a file there,
    /// or may still change it.
    fn trusted(&self) -> Vec<Uid> {
        let own = accounts::own().uid;
        let before =
            Some(Uid::from_raw(accounts::UNLISTED)).filter(|_| accounts::holder_of_unlisted().is_none());
        [self.user, Uid::from_raw(0), own].into_iter().chain(before).collect()
    }

    /// Passes everything of filterd's to `visit`, each object after its checks. The directory itself comes
    /// last.
    fn walk(&self, visit: &dyn Fn(&Object) -> Result<(), StateError>) -> Result<(), StateError> {
        let Ok(top) = Object::top(self.path) else { return Ok(()) };
        let names = top.entries()?;
        // Names are checked first, before an error suggests to change owners: the directory may belong to
        // another program.
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
    /// True if filterd, or a socket or file system in the same place, makes such names.
    fn must_be_own(&self, name: &OsStr) -> Result<(), StateError> {
        let text = name.to_string_lossy();
        let is_own = DIRECTORIES.contains(&&*text) || FILES.contains(&own_part(&text));
        if is_own || self.is_elsewhere(name) {
            return Ok(());
        }
        let name = printable::excerpt(&text);
        Err(StateError::Foreign { directory: self.path.to_owned(), name })
    }

    /// True if other code handles this file.
    fn is_elsewhere(&self, name: &OsStr) -> bool {
        name == LOST_AND_FOUND
            || self.socket.as_ref().is_some_and(|names| names.iter().any(|socket| socket == name))
    }
}

/// The own name that a file name starts with: `live.redb` for `live.redb.damaged-7`.
fn own_part(name: &str) -> &str {
    let is_own =
        |own: &&&str| name.strip_prefix(**own).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    FILES.iter().find(is_own).map_or("", |own| own)
}

mod object;

#[cfg(test)]
mod tests;
