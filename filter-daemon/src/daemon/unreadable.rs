//! Reports lists that the daemon's user may not read. At a start without a copy of such a list, this is an
//! error, not a reason to run without the list.

use std::path::PathBuf;

use super::error::DaemonError;
use crate::source::file::FileError;

/// Refuses to start without these lists.
pub fn refuse(denied: &[PathBuf]) -> Result<(), DaemonError> {
    let Some(path) = denied.first() else { return Ok(()) };
    let first = FileError::Denied { path: path.clone() };
    match denied.len() {
        1 => Err(DaemonError::Unreadable(first)),
        lists => Err(DaemonError::UnreadableLists { lists, first }),
    }
}
