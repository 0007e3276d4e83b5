//! Errors of the journal, with their remedies.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use crate::lock::PlaceInUse;
use crate::text::{Explain, printable};

/// Why the journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// Another daemon is writing to it.
    #[error(transparent)]
    InUse(#[from] PlaceInUse),
    /// A newer version of filterd wrote it.
    #[error(
        "{} has format {found}, but this filterd knows only up to {known}: a newer one wrote it",
        printable::path(path)
    )]
    Newer {
        path: PathBuf,
        /// The format of the file.
        found: u64,
        /// The newest format that this version knows.
        known: u64,
    },
    /// The system refuses access.
    #[error("cannot open {}: {source}", printable::path(path))]
    Directory {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
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

/// A change could not be written to disk.
#[derive(Clone, Debug, Error)]
#[error("cannot write to {}: {reason}", printable::path(path))]
pub struct NotWritten {
    path: Arc<Path>,
    reason: Arc<str>,
    /// True if nothing can be written until filterd restarts.
    lasts: bool,
}

impl NotWritten {
    pub(super) fn new(path: &Path, reason: &dyn std::error::Error) -> Self {
        Self { path: path.into(), reason: reason.to_string().into(), lasts: false }
    }

    /// An error after which nothing can be written until filterd restarts.
    pub(super) fn until_a_start(path: &Path, reason: &dyn std::error::Error) -> Self {
        Self { lasts: true, ..Self::new(path, reason) }
    }

    /// True if nothing can be written until filterd restarts.
    pub fn lasts(&self) -> bool {
        self.lasts
    }

    /// True if the directory of the journal is missing.
    pub fn has_no_place(&self) -> bool {
        self.path.parent().is_some_and(|directory| !directory.exists())
    }
}
