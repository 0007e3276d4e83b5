//! Lists that the daemon's user may not read: where there is no copy of one, that is a mistake to be mended at the start,
//! and not a list to go without.

use std::path::PathBuf;

use super::error::DaemonError;
use crate::source::file::FileError;

/// Refuses to start without these.
pub fn refuse(denied: &[PathBuf]) -> Result<(), DaemonError> {
    let Some(path) = denied.first() else { return Ok(()) };
    let first = FileError::Denied { path: path.clone() };
    match denied.len() {
        1 => Err(DaemonError::Unreadable(first)),
        lists => Err(DaemonError::UnreadableLists { lists, first }),
    }
}
