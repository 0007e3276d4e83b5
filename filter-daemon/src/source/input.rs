//! The bytes of a list file on their way to the parser: no more of them than there may be, told of as they come, and, if
//! the list may be believed, written down beside.

use std::io::{self, Read, Write};
use std::path::Path;

use super::file::{self, FileError};
use super::folder::Folder;
use super::patience::Progress;

/// An open file, or the files of a folder, that may be a list.
pub struct Input<'a> {
    file: Box<dyn Read>,
    left_out: Vec<String>,
    left: u64,
    copy: Option<&'a mut dyn Write>,
    progress: Progress,
}

impl<'a> Input<'a> {
    /// Opens a plain file, or all files of a folder, of at most so many bytes.
    ///
    /// # Errors
    /// When one cannot be opened, or all of it is larger.
    pub fn open(path: &Path, most: u64) -> Result<Self, FileError> {
        let (file, length, left_out) = if path.is_dir() { folder(path)? } else { plain(path)? };
        if length > most {
            return Err(FileError::TooLarge { path: path.into(), most });
        }
        Ok(Self { file, left_out, left: most, copy: None, progress: Progress::default() })
    }

    /// What of a folder is no part of it.
    #[must_use]
    pub fn left_out(&self) -> Vec<String> {
        self.left_out.clone()
    }

    /// Also writes what is read into `copy`.
    #[must_use]
    pub fn copied_to(mut self, copy: Option<&'a mut dyn Write>) -> Self {
        self.copy = copy;
        self
    }

    /// Also tells `progress` whenever bytes have come, and when no more are needed.
    #[must_use]
    pub fn telling(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self
    }
}

/// What is read, how long it is, and what was left out of it.
type Opened = (Box<dyn Read>, u64, Vec<String>);

fn plain(path: &Path) -> Result<Opened, FileError> {
    let file = file::open(path)?;
    let length = file.metadata().map_err(|error| FileError::new(path, error))?.len();
    Ok((Box::new(file), length, Vec::new()))
}

fn folder(path: &Path) -> Result<Opened, FileError> {
    let folder = Folder::list(path)?;
    let left_out = folder.left_out().to_vec();
    let (files, length) = folder.open()?;
    Ok((Box::new(files), length, left_out))
}

impl Read for Input<'_> {
    /// A file may grow while it is read, and some tell no length.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        if let Some(copy) = &mut self.copy {
            copy.write_all(&buffer[..read])?;
        }
        self.progress.tell();
        Ok(read)
    }
}

/// What comes now, sorting for one, needs no file.
impl Drop for Input<'_> {
    fn drop(&mut self) {
        self.progress.end();
    }
}
