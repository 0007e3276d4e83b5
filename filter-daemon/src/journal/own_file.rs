//! Files in the state directory that belong to filterd alone.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::geteuid;

/// Opens this file, and creates it if it is missing. It follows no symbolic link. The file must belong to
/// this user, and other users have no access.
pub fn open_our_own(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags.bits())
        .open(path)?;
    let found = file.metadata()?;
    must_be_ours(&found)?;
    if found.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Opens a file of any owner for reading. It follows no symbolic link, and does not wait for a writer.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}

/// Reads a file of this user that may not be writable.
pub fn read_our_own(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open_to_read(path)?;
    must_be_ours(&file.metadata()?)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn must_be_ours(found: &Metadata) -> io::Result<()> {
    if found.is_file() && found.uid() == geteuid().as_raw() {
        return Ok(());
    }
    // A system error, because the file is not damaged.
    Err(Errno::EPERM.into())
}
