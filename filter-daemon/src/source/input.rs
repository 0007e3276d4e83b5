//! The bytes of a list file on their way to the parser. Limits their number, reports progress, and writes
//! them into the copy of a list that may be accepted.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use super::file::{self, FileError};
use super::folder::Folder;
use super::growing::{GrowingFile, UnfinishedLines};
use super::patience::ReadProgress;

/// An open file, or the files of a folder, to be read as a list.
pub struct ListInput<'a> {
    file: Box<dyn Read + Send>,
    left_out: Vec<String>,
    unfinished: UnfinishedLines,
    left: u64,
    copy: Option<&'a mut (dyn Write + Send)>,
    progress: ReadProgress,
}

impl<'a> ListInput<'a> {
    /// Opens a plain file or all files of a folder, which may have at most `most` bytes together. Other
    /// programs may be writing to them. `progress` is updated whenever bytes are read, and when no more are
    /// needed.
    ///
    /// # Errors
    /// If a file cannot be opened, or all files together are larger.
    pub fn open(path: &Path, most: u64, progress: ReadProgress) -> Result<Self, FileError> {
        let unfinished = UnfinishedLines::default();
        let (file, length, left_out): Opened = if path.is_dir() {
            folder(path, unfinished.clone(), progress.clone())?
        } else {
            let (file, length) = plain(path)?;
            let growing = GrowingFile::new(path, file, unfinished.clone(), progress.clone());
            (Box::new(growing.map_err(|error| FileError::new(path, error))?), length, Vec::new())
        };
        Self { file, left_out, unfinished, left: most, copy: None, progress }.of(path, length)
    }

    /// Opens a plain file that no program writes to, because it was complete before it was renamed.
    ///
    /// # Errors
    /// If it cannot be opened or is larger.
    pub fn open_whole(path: &Path, most: u64, progress: ReadProgress) -> Result<Self, FileError> {
        let (file, length) = plain(path)?;
        let (file, unfinished) = (Box::new(file), UnfinishedLines::default());
        Self { file, left_out: Vec::new(), unfinished, left: most, copy: None, progress }.of(path, length)
    }

    fn of(self, path: &Path, length: u64) -> Result<Self, FileError> {
        if length > self.left {
            return Err(FileError::TooLarge { path: path.into(), most: self.left });
        }
        Ok(self)
    }

    /// The lines that are left out because they are being written. Known after everything is read.
    #[must_use]
    pub fn unfinished(&self) -> UnfinishedLines {
        self.unfinished.clone()
    }

    /// The files of a folder that are not part of the list.
    #[must_use]
    pub fn left_out(&self) -> Vec<String> {
        self.left_out.clone()
    }

    /// Also writes everything that is read into `copy`.
    #[must_use]
    pub fn copied_to(mut self, copy: Option<&'a mut (dyn Write + Send)>) -> Self {
        self.copy = copy;
        self
    }
}

/// The reader, its length, and the files that are left out.
type Opened = (Box<dyn Read + Send>, u64, Vec<String>);

fn plain(path: &Path) -> Result<(File, u64), FileError> {
    let file = file::open(path)?;
    let length = file.metadata().map_err(|error| FileError::new(path, error))?.len();
    Ok((file, length))
}

fn folder(path: &Path, unfinished: UnfinishedLines, progress: ReadProgress) -> Result<Opened, FileError> {
    let folder = Folder::list(path)?;
    let left_out = folder.left_out().to_vec();
    let (files, length) = folder.open(unfinished, progress)?;
    Ok((Box::new(files), length, left_out))
}

impl Read for ListInput<'_> {
    /// The limit is checked here again, because a file may grow while it is read, and some report no length.
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

/// The remaining work, such as sorting, does not read the file.
impl Drop for ListInput<'_> {
    fn drop(&mut self) {
        self.progress.end();
    }
}
