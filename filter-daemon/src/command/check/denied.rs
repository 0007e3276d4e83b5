//! Finds files that root may read, but the daemon's own user may not.

use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, faccessat, geteuid};

use super::known::EarlierLists;
use crate::accounts;
use crate::config::Config;
use crate::source::file::FileError;
use crate::text::{Explain, Explanation, printable};

/// A file of the configuration that the daemon's own user may not read.
pub struct Denied {
    path: PathBuf,
    /// The error, with the command that changes this.
    pub explanation: Explanation,
}

impl Denied {
    /// Returns whether filterd would refuse to start: without its configuration, or without a list that has no good copy.
    pub fn keeps_from_starting(&self, file: &Path, config: &Config, known: &EarlierLists) -> bool {
        let mut lists = config.lists.iter().filter(|list| list.path == self.path);
        self.path == file || lists.any(|list| !known.has_good_copy(list))
    }
}

/// Finds the files that the daemon's own user may not read: the lists, and `file` if the daemon reads it. Only root can look as
/// that user.
pub fn to_the_daemon(file: Option<&Path>, config: &Config) -> Vec<Denied> {
    if !geteuid().is_root() {
        return Vec::new();
    }
    let files = config.lists.iter().filter(|list| list.feed.is_none()).map(|list| list.path.as_path());
    let files: Vec<_> = file.into_iter().chain(files).collect();
    let look = || files.into_iter().filter(|path| is_denied(path)).map(denied).collect();
    accounts::on_a_thread_of(&accounts::own(), look).unwrap_or_default()
}

fn is_denied(path: &Path) -> bool {
    faccessat(AT_FDCWD, path, AccessFlags::R_OK, AtFlags::AT_EACCESS) == Err(nix::errno::Errno::EACCES)
}

fn denied(path: &Path) -> Denied {
    let user = accounts::name_of(geteuid());
    let message = format!("filterd runs as user {user}, who may not read {}", printable::path(path));
    let remedy = FileError::Denied { path: path.to_owned() }.remedy();
    Denied { path: path.to_owned(), explanation: Explanation { message, remedy } }
}
