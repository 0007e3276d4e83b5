//! An object in the state directory, opened without following a link, so that changes apply to what was
//! checked.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::unistd::{Gid, Uid, fchownat, geteuid};

use super::StateError;
use crate::accounts::as_user;
use crate::text::printable;

/// The mode bits that let group and others write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// An open object, and its status when it was opened.
pub struct Object {
    descriptor: OwnedFd,
    path: PathBuf,
    found: FileStat,
}

impl Object {
    /// Opens the directory that the operator named, through any links.
    pub fn top(path: &Path) -> Result<Self, StateError> {
        let opened = open(path, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty());
        Self::opened(opened, path.to_owned())
    }

    /// Opens an object in this directory. A filterd that is being replaced still writes here, so a listed
    /// file may be gone.
    pub fn below(&self, name: &OsStr) -> Result<Option<Self>, StateError> {
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        match as_user(self.owner(), || openat(&self.descriptor, name, flags, Mode::empty())) {
            Err(Errno::ENOENT) => Ok(None),
            opened => Self::opened(opened, self.path.join(name)).map(Some),
        }
    }

    fn opened(opened: nix::Result<OwnedFd>, path: PathBuf) -> Result<Self, StateError> {
        let found = opened.and_then(|descriptor| Ok((fstat(&descriptor)?, descriptor)));
        match found {
            Ok((found, descriptor)) => Ok(Self { descriptor, path, found }),
            Err(error) => Err(refused(&path, error)),
        }
    }

    /// The names of the objects in this directory.
    pub fn entries(&self) -> Result<Vec<OsString>, StateError> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let listed = as_user(self.owner(), || Dir::openat(&self.descriptor, ".", flags, Mode::empty()))
            .and_then(|mut directory| directory.iter().collect::<nix::Result<Vec<_>>>());
        let listed = listed.map_err(|error| refused(&self.path, error))?;
        let names = listed.iter().map(|entry| entry.file_name().to_bytes());
        Ok(names
            .filter(|name| !matches!(*name, b"." | b".."))
            .map(|name| OsStr::from_bytes(name).into())
            .collect())
    }

    /// Checks that it is a directory of these users in which no other user may create or replace anything.
    pub fn must_be_a_directory(&self, theirs: &[Uid]) -> Result<(), StateError> {
        if self.kind() != SFlag::S_IFDIR {
            return Err(self.untrusted("it is not a directory", "find out what created it, and remove it"));
        }
        self.must_be_theirs(theirs)?;
        if self.found.st_mode & WRITABLE_BY_OTHERS == 0 {
            return Ok(());
        }
        let shown = printable::path(&self.path);
        let remedy = format!(
            "check its contents and who wrote them; then run `chmod 700 {shown}`, or give filterd another directory with --state-dir"
        );
        Err(self.untrusted(&self.others_may_write(), &remedy))
    }

    /// Checks that it is a file of these users that no other user may write to.
    pub fn must_be_plain(&self, theirs: &[Uid]) -> Result<(), StateError> {
        let what = match self.kind() {
            SFlag::S_IFREG if self.found.st_mode & WRITABLE_BY_OTHERS == 0 => {
                return self.must_be_theirs(theirs);
            }
            SFlag::S_IFREG => {
                let shown = printable::path(&self.path);
                let remedy = format!("if its contents are right: chmod 600 {shown}");
                return Err(self.untrusted(&self.others_may_write(), &remedy));
            }
            SFlag::S_IFLNK => "it is a link, which filterd never creates",
            SFlag::S_IFDIR => "it is a directory, but should be a file",
            _ => "it is not a plain file",
        };
        Err(self.untrusted(what, "find out what created it, and remove it"))
    }

    /// Changes the owner to this user and group.
    pub fn give(&self, user: Uid, group: Gid) -> Result<(), StateError> {
        if self.found.st_uid == user.as_raw() && self.found.st_gid == group.as_raw() {
            return Ok(());
        }
        if self.kind() == SFlag::S_IFREG && self.found.st_nlink > 1 && self.found.st_uid != user.as_raw() {
            let remedy = "find its other names: the file under each of them would become filterd's";
            return Err(self.untrusted("it has more than one name, and belongs to another user", remedy));
        }
        match fchownat(&self.descriptor, "", Some(user), Some(group), AtFlags::AT_EMPTY_PATH) {
            // The journal reports that nothing can be written there.
            Ok(()) | Err(Errno::EROFS) => Ok(()),
            Err(error) => Err(refused(&self.path, error)),
        }
    }

    /// Checks the owner: root accepts these users, and any other user accepts itself only.
    fn must_be_theirs(&self, theirs: &[Uid]) -> Result<(), StateError> {
        let (owner, ours) = (self.owner(), geteuid());
        if owner == ours || ours.is_root() && theirs.contains(&owner) {
            return Ok(());
        }
        let (path, is_directory) = (self.path.clone(), self.kind() == SFlag::S_IFDIR);
        Err(StateError::OfAnother { path, owner, user: ours, is_directory })
    }

    /// The user that owns it.
    pub fn owner(&self) -> Uid {
        Uid::from_raw(self.found.st_uid)
    }

    fn others_may_write(&self) -> String {
        format!("other users may write to it (mode {:04o})", self.found.st_mode & 0o7777)
    }

    fn kind(&self) -> SFlag {
        SFlag::from_bits_truncate(self.found.st_mode & SFlag::S_IFMT.bits())
    }

    fn untrusted(&self, why: &str, remedy: &str) -> StateError {
        StateError::Untrusted { path: self.path.clone(), why: why.to_owned(), remedy: remedy.to_owned() }
    }
}

fn refused(path: &Path, error: Errno) -> StateError {
    StateError::Failed { path: path.to_owned(), error: error.into(), user: geteuid() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Explain;

    #[test]
    fn system_errors_do_not_blame_the_directory() {
        let told = |error| refused(Path::new("/state/lists"), error).explain().to_string();
        let of_files = told(Errno::EMFILE);
        assert!(of_files.contains("/state/lists: Too many open files"), "{of_files}");
        assert!(of_files.contains("LimitNOFILE") && !of_files.contains("--state-dir"), "{of_files}");
        let of_the_disk = told(Errno::EIO);
        assert!(of_the_disk.contains("--state-dir") && !of_the_disk.contains("trusted"), "{of_the_disk}");
    }
}
