//! What can go wrong with the journal.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use crate::lock::Taken;
use crate::text::{Explain, printable};

/// Why there is no journal.
#[derive(Debug, Error)]
pub enum JournalError {
    /// Another daemon writes to it.
    #[error(transparent)]
    InUse(#[from] Taken),
    /// It was written by a newer filterd.
    #[error(
        "{} has format {found}, but this filterd knows only up to {known}: a newer one wrote it",
        printable::path(path)
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// Ours.
        known: u64,
    },
    /// The system does not let us.
    #[error("cannot open {}: {source}", printable::path(path))]
    Directory {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Explain for JournalError {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::InUse(taken) => taken.remedy(),
            Self::Newer { .. } => Some(
                "start the newer one, or move this file and live.redb.old away and lose the live entries"
                    .to_owned(),
            ),
            Self::Directory { .. } => None,
        }
    }
}

/// Something is not on disk.
#[derive(Clone, Debug, Error)]
#[error("cannot write to {}: {reason}", printable::path(path))]
pub struct NotWritten {
    path: Arc<Path>,
    reason: Arc<str>,
    /// Nothing will be on disk before filterd starts again.
    lasts: bool,
}

impl NotWritten {
    pub(super) fn new(path: &Path, reason: &dyn std::error::Error) -> Self {
        Self { path: path.into(), reason: reason.to_string().into(), lasts: false }
    }

    /// And nothing can be written until filterd starts again.
    pub(super) fn until_a_start(path: &Path, reason: &dyn std::error::Error) -> Self {
        Self { lasts: true, ..Self::new(path, reason) }
    }

    /// Can nothing be written until filterd starts again?
    pub fn lasts(&self) -> bool {
        self.lasts
    }

    /// Is there not even a directory to write it to?
    pub fn has_no_place(&self) -> bool {
        self.path.parent().is_some_and(|directory| !directory.exists())
    }
}
