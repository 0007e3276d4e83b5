//! A folder as a list: its files in the order of their names, as one stream. What editors and package managers leave there is
//! none of it, and told.

use std::collections::VecDeque;
use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::file::{self, FileError};
use super::growing::{Growing, Unfinished};
use super::parts;
use super::patience::Progress;
use crate::text::printable;

/// More files than anybody keeps a list in.
const MOST_FILES: usize = 1000;

/// More of what was left out is not told one by one.
const MOST_TOLD: usize = 10;

/// What editors and package managers put beside a file, by how its name ends.
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

/// The files of a folder.
#[derive(Debug)]
pub struct Folder {
    files: Vec<PathBuf>,
    left_out: Vec<String>,
}

impl Folder {
    /// Those that are there now.
    ///
    /// # Errors
    /// When they may not be listed, or are too many.
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

    /// What of it is no part of the list.
    #[must_use]
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Opens each of them, and tells their length together. What is not taken of them, as somebody writes it, is told to
    /// `unfinished`, and that they are waited for to `progress`.
    ///
    /// # Errors
    /// When one of them cannot be opened: then nothing is read of any.
    pub fn open(self, unfinished: Unfinished, progress: Progress) -> Result<(Files, u64), FileError> {
        let mut length: u64 = 0;
        for path in &self.files {
            let file = file::open(path).map_err(missing_within)?;
            let metadata = file.metadata().map_err(|error| FileError::new(path, error))?;
            length = length.saturating_add(metadata.len());
        }
        let (left, between) = (self.files.into(), VecDeque::new());
        Ok((Files { left, current: None, between, is_ended: true, unfinished, progress }, length))
    }

    /// What is known of each file without reading it, for those who compare.
    ///
    /// # Errors
    /// When one of them is gone, or not to be seen.
    pub fn look(&self) -> io::Result<Vec<(&Path, Metadata)>> {
        self.files.iter().map(|path| Ok((path.as_path(), std::fs::metadata(path)?))).collect()
    }
}

/// A link that leads nowhere is no list that is gone, which an operator may mean.
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

/// What they say, one after the other.
pub struct Files {
    left: VecDeque<PathBuf>,
    current: Option<Growing>,
    /// What stands between two files, and is not given out yet.
    between: VecDeque<u8>,
    /// Does what was given out end with the end of a line?
    is_ended: bool,
    unfinished: Unfinished,
    progress: Progress,
}

impl Read for Files {
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
            self.current = Some(Growing::new(&path, file, self.unfinished.clone(), self.progress.clone())?);
            let name = path.file_name().map(|name| printable::line(&name.to_string_lossy()).into_owned());
            self.between.extend((!self.is_ended).then_some(b'\n'));
            self.between.extend(parts::before(&name.unwrap_or_default()));
            self.is_ended = true;
        }
    }
}
