//! An open copy. It can be read even if its name disappears.

use std::fs::File;
use std::io::{self, Seek};

use super::blobs;
use super::files::CopyError;
use super::generation::{ConfigText, Generation};
use super::store::{GenerationName, StateStore};
use crate::blocklist::EntryTimes;
use crate::source::digest::Digest;
use crate::source::reading::AcceptedSource;
use crate::source::{ListFile, ReadOptions};

/// The open copy of one list.
#[derive(Debug)]
pub struct HeldCopy {
    accepted: AcceptedSource,
    list: File,
    times: Option<File>,
}

impl StateStore {
    /// Opens the copy of this list.
    ///
    /// # Errors
    /// If there is none.
    pub fn hold(&self, accepted: &AcceptedSource) -> Result<HeldCopy, CopyError> {
        let times = accepted.times.map(|times| self.blobs.open(times.digest)).transpose()?;
        Ok(HeldCopy { accepted: accepted.clone(), list: self.blobs.open(accepted.digest)?, times })
    }

    /// Writes that copy again if its files are gone.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put_back(&self, held: &HeldCopy) -> Result<(), CopyError> {
        self.put_back_file(&held.list, held.accepted.digest)?;
        match (&held.times, held.accepted.times) {
            (Some(file), Some(saved)) => self.put_back_file(file, saved.digest),
            (None, _) | (_, None) => Ok(()),
        }
    }

    fn put_back_file(&self, mut file: &File, digest: Digest) -> Result<(), CopyError> {
        if self.blobs.has(digest) {
            return Ok(());
        }
        file.rewind().map_err(|_| CopyError::Damaged)?;
        let mut draft = self.draft();
        io::copy(&mut file, &mut draft).map_err(|_| CopyError::Gone)?;
        self.name(draft, digest)
    }

    /// Writes this manifest, and the text of its configuration, again if they are gone.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn put_back_current(&self, current: &Generation, text: Option<&ConfigText>) -> Result<(), CopyError> {
        text.map(|text| self.save_config(text, current)).transpose()?;
        if self.has(GenerationName::Current) { Ok(()) } else { self.write(GenerationName::Current, current) }
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
        let mut file = &self.list;
        file.rewind().map_err(|_| CopyError::Damaged)?;
        blobs::read_list(file, &self.accepted, how)
    }

    /// When its entries were added, and when they end.
    ///
    /// # Errors
    /// If they cannot be read or are damaged.
    pub fn times(&self) -> Result<Option<EntryTimes>, CopyError> {
        let (Some(saved), Some(mut file)) = (&self.accepted.times, self.times.as_ref()) else {
            return Ok(None);
        };
        file.rewind().map_err(|_| CopyError::Damaged)?;
        blobs::read_times(file, saved).map(Some)
    }
}
