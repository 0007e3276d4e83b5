//! A file held by a descriptor. All changes go to this file, even if a user with write access to the
//! directory replaces it meanwhile.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::unistd::{Gid, Uid, fchownat, geteuid};

/// The file that was found at a path.
pub struct FileHandle(OwnedFd);

impl FileHandle {
    /// Holds the socket that this process has just made.
    pub fn of_our_socket(path: &Path) -> io::Result<Self> {
        Self::of(path, SFlag::S_IFSOCK, geteuid())
    }

    /// Holds the socket there, which belongs to this user already or was just made.
    pub fn of_socket_for(path: &Path, user: Uid) -> io::Result<Self> {
        Self::of(path, SFlag::S_IFSOCK, user).or_else(|_| Self::of_our_socket(path))
    }

    /// Holds the directory that this process has just made.
    pub fn of_our_directory(path: &Path) -> io::Result<Self> {
        Self::of(path, SFlag::S_IFDIR, geteuid())
    }

    fn of(path: &Path, kind: SFlag, owner: Uid) -> io::Result<Self> {
        let handle = open(path, OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty())?;
        let found = fstat(&handle)?;
        let found_kind = SFlag::from_bits_truncate(found.st_mode & SFlag::S_IFMT.bits());
        if found_kind != kind || found.st_uid != owner.as_raw() {
            return Err(io::Error::other("it was replaced by another file"));
        }
        Ok(Self(handle))
    }

    /// Changes the mode through /proc, because a descriptor with `O_PATH` does not allow it.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        let name = format!("/proc/self/fd/{}", self.0.as_raw_fd());
        fs::set_permissions(name, Permissions::from_mode(mode))
    }

    /// Changes the owner, the group or both.
    pub fn give(&self, user: Option<Uid>, group: Option<Gid>) -> Result<(), Errno> {
        fchownat(&self.0, "", user, group, AtFlags::AT_EMPTY_PATH)
    }
}
