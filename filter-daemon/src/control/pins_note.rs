//! Where a daemon keeps its pins, noted in the lock file beside its socket: whoever finds nobody at the socket can tell
//! whether the filter was left at work. Beside it stands whether live entries were lost, where nothing in the state directory
//! can say it, since that was removed or its disk takes nothing. The file is open from the beginning, so neither matters.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::lock::Holder;

/// Behind the path, where a filterd has ended with live entries that were not on disk: since when, in seconds since 1970. No
/// path has such a character in it.
const UNSAVED: char = '\0';

/// Notes it, for when this daemon is dead. `unsaved` says since when live entries of an earlier one were not on disk, until
/// that is noted elsewhere.
pub fn write(claim: &File, pins: &Path, unsaved: Option<u64>) -> io::Result<()> {
    let mut note = std::path::absolute(pins)?.into_os_string().into_vec();
    note.extend(unsaved.into_iter().flat_map(|since| format!("{UNSAVED}{since}").into_bytes()));
    claim.write_all_at(&note, 0)?;
    claim.set_len(note.len() as u64)
}

/// What was noted last, if anything was.
pub fn read(socket: &Path) -> io::Result<Option<PathBuf>> {
    Ok(read_all(socket)?.map(|(pins, _)| pins))
}

/// Since when live entries were not on disk when the last one here ended, if it was so.
pub fn unsaved(socket: &Path) -> Option<u64> {
    read_all(socket).ok()??.1
}

fn read_all(socket: &Path) -> io::Result<Option<(PathBuf, Option<u64>)>> {
    match fs::read(beside(socket)) {
        Ok(noted) if noted.starts_with(b"/") => {
            let mut parts = noted.split(|byte| *byte == UNSAVED as u8);
            let pins = OsString::from_vec(parts.next().unwrap_or_default().to_vec());
            let since = parts.next().and_then(|since| std::str::from_utf8(since).ok()?.parse().ok());
            Ok(Some((PathBuf::from(pins), since)))
        }
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
