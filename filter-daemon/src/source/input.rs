//! The bytes of a list file on their way to the parser: no more of them than there may be, told of as they come, and, if
//! the list may be believed, written down beside.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use super::file::{self, FileError};
use super::patience::Progress;

/// An open file that may be a list.
pub struct Input<'a> {
    file: File,
    left: u64,
    copy: Option<&'a mut dyn Write>,
    progress: Progress,
}

impl<'a> Input<'a> {
    /// Opens a plain file of at most so many bytes.
    ///
    /// # Errors
    /// When it cannot be opened, or is larger.
    pub fn open(path: &Path, most: u64) -> Result<Self, FileError> {
        let file = file::open(path)?;
        let length = file.metadata().map_err(|error| FileError::new(path, error))?.len();
        if length > most {
            return Err(FileError::TooLarge { path: path.into(), most });
        }
        Ok(Self { file, left: most, copy: None, progress: Progress::default() })
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
