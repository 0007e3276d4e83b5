//! Where a daemon keeps its pins, noted in the lock file beside its socket: whoever finds nobody at the socket can tell
//! whether the filter was left at work.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::lock::Holder;

/// Notes it, for when this daemon is dead.
pub fn write(socket: &Path, pins: &Path) -> io::Result<()> {
    let pins = std::path::absolute(pins)?;
    fs::write(beside(socket), pins.as_os_str().as_bytes())
}

/// What was noted last, if anything was.
pub fn read(socket: &Path) -> io::Result<Option<PathBuf>> {
    match fs::read(beside(socket)) {
        Ok(noted) if noted.starts_with(b"/") => Ok(Some(PathBuf::from(std::ffi::OsString::from_vec(noted)))),
        Ok(_) => Ok(None),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The filterd that has the place of this socket, as far as we may see that.
pub fn whose(socket: &Path) -> Option<u32> {
    Holder::of(&beside(socket)).map(|holder| holder.pid)
}

fn beside(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}
