//! What keeps us from reading a file, and the command that mends it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, Uid, faccessat, getegid, geteuid, getgroups};

use crate::accounts;
use crate::text::printable;

/// In words for whoever may change it: what lets our user read the file at `path`.
pub fn mend(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let user = accounts::name_of(geteuid());
    let command =
        barred(&path).map_or_else(|| open(&path), |directory| format!("chmod o+x {}", shown(&directory)));
    let otherwise = if geteuid().is_root() { "" } else { "; or run it as root (the daemon: `--user root`)" };
    format!("let user {user} read it: `{command}`{otherwise}")
}

/// The first directory on the way that does not let us pass.
fn barred(path: &Path) -> Option<PathBuf> {
    let above: Vec<_> = path.ancestors().skip(1).collect();
    let lets_pass =
        |directory: &Path| faccessat(AT_FDCWD, directory, AccessFlags::X_OK, AtFlags::AT_EACCESS).is_ok();
    above.into_iter().rev().find(|directory| !lets_pass(directory)).map(Path::to_owned)
}

/// The least that lets us read a file that we can reach.
fn open(path: &Path) -> String {
    let (shown, found) = (shown(path), fs::metadata(path).ok());
    let ours = found.as_ref().is_some_and(|found| Uid::from_raw(found.uid()) == geteuid());
    let groups = getgroups().unwrap_or_default();
    let is_in_group = |group: u32| groups.iter().chain([&getegid()]).any(|gid| gid.as_raw() == group);
    if ours {
        format!("chmod u+r {shown}")
    } else if found.is_some_and(|found| is_in_group(found.gid())) {
        format!("chmod g+r {shown}")
    } else {
        format!("chgrp {} {shown} && chmod g+r {shown}", accounts::group_name_of(getegid()))
    }
}

fn shown(path: &Path) -> String {
    printable::path(path).to_string()
}
