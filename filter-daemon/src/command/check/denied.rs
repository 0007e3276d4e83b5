//! What root may read, and the user that the daemon becomes may not.

use std::path::Path;

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, faccessat, geteuid};

use crate::accounts;
use crate::config::Config;
use crate::source::file::FileError;
use crate::text::{Explain, Explanation, printable};

/// Each file of the configuration that the daemon's own user may not read, with the command that changes this. Only root can look
/// as that user.
pub fn to_the_daemon(file: &Path, config: &Config) -> Vec<Explanation> {
    if !geteuid().is_root() {
        return Vec::new();
    }
    let files = config.lists.iter().filter(|list| list.feed.is_none()).map(|list| list.path.as_path());
    let files: Vec<_> = [file].into_iter().chain(files).collect();
    let look = || files.into_iter().filter(|path| is_denied(path)).map(told).collect();
    accounts::on_a_thread_of(&accounts::own(), look).unwrap_or_default()
}

fn is_denied(path: &Path) -> bool {
    faccessat(AT_FDCWD, path, AccessFlags::R_OK, AtFlags::AT_EACCESS) == Err(nix::errno::Errno::EACCES)
}

fn told(path: &Path) -> Explanation {
    let user = accounts::name_of(geteuid());
    let message = format!("filterd runs as user {user}, who may not read {}", printable::path(path));
    Explanation { message, remedy: FileError::Denied { path: path.to_owned() }.remedy() }
}
