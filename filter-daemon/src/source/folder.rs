//! A folder as a list: its files in the order of their names, as one stream. Files that editors and package
//! managers leave there are skipped and reported.

use std::collections::VecDeque;
use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::file::{self, FileError};
use super::growing::{GrowingFile, UnfinishedLines};
use super::parts;
use super::patience::ReadProgress;
use crate::text::printable;

/// The most files in a folder that is a list.
const MOST_FILES: usize = 1000;

/// The most skipped files that are reported by name.
const MOST_TOLD: usize = 10;

/// The endings of files that editors and package managers leave next to a file.
const BACKUPS: [&str; 14] = [
    "~",
    ".bak",
    ".backup",
    ".old",
    ".orig",
    ".rej",
    ".swp",
    ".swo",
    ".tmp",
    ".dpkg-old",
    ".dpkg-dist",
    ".dpkg-new",
    ".rpmsave",
    ".rpmnew",
];

/// The files of one folder.
#[derive(Debug)]
pub struct Folder {
    files: Vec<PathBuf>,
    left_out: Vec<String>,
}

impl Folder {
    /// The files that are in the folder now.
    ///
    /// # Errors
    /// If the folder cannot be read or has too many files.
    pub fn list(path: &Path) -> Result<Self, FileError> {
        let failed = |error| FileError::new(path, error);
        let (mut files, mut left_out) = (Vec::new(), Vec::new());
        for entry in std::fs::read_dir(path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_backup(&name) || entry.path().is_dir() {
                left_out.push(name);
            } else if files.len() == MOST_FILES {
                return Err(FileError::TooMany { path: path.into(), most: MOST_FILES });
            } else {
                files.push(entry.path());
            }
        }
        files.sort();
        left_out.sort();
        Ok(Self { files, left_out: told(&left_out) })
    }

    /// The names of files that are not part of the list.
    #[must_use]
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Opens each file. Also returns their total length. `unfinished` receives the incomplete last lines that
    /// are left out, and `progress` is updated while files are waited for.
    ///
    /// # Errors
    /// If one of them cannot be opened: then none is read.
    pub fn open(
        self,
        unfinished: UnfinishedLines,
        progress: ReadProgress,
    ) -> Result<(FolderFiles, u64), FileError> {
        let mut length: u64 = 0;
        for path in &self.files {
            let file = file::open(path).map_err(missing_within)?;
            let metadata = file.metadata().map_err(|error| FileError::new(path, error))?;
            length = length.saturating_add(metadata.len());
        }
        let (left, between) = (self.files.into(), VecDeque::new());
        Ok((FolderFiles { left, current: None, between, is_ended: true, unfinished, progress }, length))
    }

    /// The metadata of each file, for comparisons without reading.
    ///
    /// # Errors
    /// If one of them is missing or inaccessible.
    pub fn look(&self) -> io::Result<Vec<(&Path, Metadata)>> {
        self.files.iter().map(|path| Ok((path.as_path(), std::fs::metadata(path)?))).collect()
    }
}

/// A broken link must not count as a missing list, which an operator may have removed on purpose.
fn missing_within(error: FileError) -> FileError {
    let FileError::Missing { path } = error else { return error };
    FileError::Unreadable { path, source: io::Error::other("its target is missing") }
}

fn is_backup(name: &str) -> bool {
    name.starts_with('.') || name.starts_with('#') || BACKUPS.iter().any(|end| name.ends_with(end))
}

fn told(names: &[String]) -> Vec<String> {
    let mut told: Vec<_> = names.iter().take(MOST_TOLD).map(|name| printable::excerpt(name)).collect();
    if names.len() > MOST_TOLD {
        told.push(format!("and {} more", names.len() - MOST_TOLD));
    }
    told
}

/// The contents of all files, one after the other.
pub struct FolderFiles {
    left: VecDeque<PathBuf>,
    current: Option<GrowingFile>,
    /// Bytes between two files that were not returned yet.
    between: VecDeque<u8>,
    /// True if the returned bytes end with a newline.
    is_ended: bool,
    unfinished: UnfinishedLines,
    progress: ReadProgress,
}

impl Read for FolderFiles {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.between.is_empty() {
                return self.between.read(into);
            }
            if let Some(file) = &mut self.current {
                let read = file.read(into)?;
                if read > 0 {
                    self.is_ended = into[read - 1] == b'\n';
                    return Ok(read);
                }
                self.current = None;
            }
            let Some(path) = self.left.pop_front() else { return Ok(0) };
            let file = file::open(&path).map_err(io::Error::other)?;
            self.current =
                Some(GrowingFile::new(&path, file, self.unfinished.clone(), self.progress.clone())?);
            let name = path.file_name().map(|name| printable::line(&name.to_string_lossy()).into_owned());
            self.between.extend((!self.is_ended).then_some(b'\n'));
            self.between.extend(parts::before(&name.unwrap_or_default()));
            self.is_ended = true;
        }
    }
}
