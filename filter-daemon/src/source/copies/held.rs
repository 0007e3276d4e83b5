//! An open copy. It can be read even if its name disappears.

use std::fs::File;
use std::io::{self, Seek};

use super::{Copies, CopyError, behind, header, open, whole};
use crate::blocklist::EntryTimes;
use crate::clock;
use crate::source::reading::AcceptedSource;
use crate::source::{ListFile, ReadOptions};

/// The open copy of one list.
#[derive(Debug)]
pub struct HeldCopy {
    accepted: AcceptedSource,
    file: File,
}

impl Copies {
    /// Opens the copy of this list.
    ///
    /// # Errors
    /// If there is no copy or it is damaged.
    pub fn hold(&self, accepted: &AcceptedSource) -> io::Result<HeldCopy> {
        let mut file = open(&self.path(accepted))?;
        // The header may have another stamp than `accepted`.
        let accepted = header::read(&mut file, &clock::moment())?;
        Ok(HeldCopy { accepted, file })
    }

    /// Writes that copy again if its file is gone.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put_back(&self, held: &HeldCopy) -> Result<(), CopyError> {
        if self.path(&held.accepted).exists() {
            return Ok(());
        }
        let mut file = &held.file;
        file.rewind().map_err(|_| CopyError::Damaged)?;
        let (draft, times) = self.draft_from(file, &held.accepted)?;
        let whole = draft.finish(&held.accepted, times.as_ref(), self.path(&held.accepted))?;
        whole.sync()?;
        whole.take_name()?;
        self.sync()
    }
}

impl HeldCopy {
    /// The list that the copy belongs to.
    #[must_use]
    pub fn accepted(&self) -> &AcceptedSource {
        &self.accepted
    }

    /// Reads the list in the copy.
    ///
    /// # Errors
    /// If the copy cannot be read or is damaged.
    pub fn read(&self, how: &ReadOptions) -> Result<ListFile, CopyError> {
        let mut file = &self.file;
        file.rewind().map_err(|_| CopyError::Damaged)?;
        let (found, list) = whole(file, how)?;
        if found == self.accepted { Ok(list) } else { Err(CopyError::Damaged) }
    }

    /// The times in the copy: when its entries were added, and when they end.
    ///
    /// # Errors
    /// If the copy cannot be read or is damaged.
    pub fn times(&self) -> Result<Option<EntryTimes>, CopyError> {
        let mut file = &self.file;
        file.rewind().map_err(|_| CopyError::Damaged)?;
        behind::read_from(file, &self.accepted)
    }
}
