//! A file of the socket's, held by a descriptor: what is done to it is done to no other file, whatever somebody who may
//! write to its directory puts in its place meanwhile.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::unistd::{Gid, Uid, fchownat, geteuid};

/// What was found at a path.
pub struct Handle(OwnedFd);

impl Handle {
    /// Holds the socket that we have just made there.
    pub fn of_our_socket(path: &Path) -> io::Result<Self> {
        Self::of(path, SFlag::S_IFSOCK, geteuid())
    }

    /// Holds the socket there, which is this user's already, or that we have just made.
    pub fn of_socket_for(path: &Path, user: Uid) -> io::Result<Self> {
        Self::of(path, SFlag::S_IFSOCK, user).or_else(|_| Self::of_our_socket(path))
    }

    /// Holds the directory that we have just made there.
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

    /// A descriptor that only names a file cannot be asked to change its mode, but its own name can.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        let name = format!("/proc/self/fd/{}", self.0.as_raw_fd());
        fs::set_permissions(name, Permissions::from_mode(mode))
    }

    /// Gives it to a user, or to a group, or to both.
    pub fn give(&self, user: Option<Uid>, group: Option<Gid>) -> Result<(), Errno> {
        fchownat(&self.0, "", user, group, AtFlags::AT_EMPTY_PATH)
    }
}
