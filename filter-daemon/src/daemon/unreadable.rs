//! Lists that the daemon's user may not read: at the start that is a mistake to be mended, and not a list to go without.

use super::error::DaemonError;
use crate::config::Config;
use crate::source::file::{self, FileError};

/// Refuses a configuration with lists that we may not read.
pub fn refuse(config: &Config) -> Result<(), DaemonError> {
    let is_denied = |error: &FileError| matches!(error, FileError::Denied { .. });
    let opened = config.lists.iter().filter_map(|list| file::open(&list.path).err());
    let mut denied: Vec<_> = opened.filter(is_denied).collect();
    match denied.len() {
        0 => Ok(()),
        1 => Err(DaemonError::Unreadable(denied.remove(0))),
        lists => Err(DaemonError::UnreadableLists { lists, first: denied.remove(0) }),
    }
}
