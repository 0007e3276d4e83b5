//! A plain list file: one address, prefix or range a line, `#` and `;` begin comments.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::{self, FileError};
use super::line::{self, Unread};
use super::rejected::Rejected;
use super::{Targets, net64, quad};
use crate::text::lines::{Line, Lines};
use crate::text::{Explain, printable};

/// How many of the lines that were not understood are kept, to be shown to somebody.
const KEPT: usize = 100;

/// What a list file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFile {
    /// The targets it names.
    pub targets: Targets,
    /// The first hundred of the lines that were not understood.
    pub rejected: Vec<Rejected>,
    /// How many there are in all.
    pub rejected_count: u64,
}

/// Why a list file cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// It cannot be opened or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It has lines, but not one target.
    #[error("{}: not one of its {lines} lines is an address, prefix or range{looks}", printable::path(path))]
    NoTargets {
        /// The file.
        path: PathBuf,
        /// How many lines are neither blank nor comments.
        lines: u64,
        /// What it seems to be, to follow the rest of the sentence.
        looks: &'static str,
    },
}

impl Explain for ListError {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::File(error) => error.remedy(),
            Self::NoTargets { .. } => None,
        }
    }
}

/// Reads a list file.
///
/// A line that is no target is skipped and remembered: one slip must not unblock all the others.
///
/// # Errors
/// When the file cannot be read, or there are lines in it but no target.
pub fn read(path: &Path) -> Result<ListFile, ListError> {
    let input = file::open(path)?;
    parse(path, input)
}

fn parse(path: &Path, input: impl Read) -> Result<ListFile, ListError> {
    let mut list = Reading { path: path.into(), list: ListFile::default(), beginning: Vec::new() };
    let mut lines = Lines::new(input);
    while let Some(line) = lines.read().map_err(|error| FileError::new(path, error))? {
        let targets = &mut list.list.targets;
        if let Some(address) = quad::parse(line.bytes) {
            targets.addresses.push(address);
        } else if let Some(net) = net64::parse(line.bytes) {
            targets.nets64.push(net);
        } else {
            list.take(&line);
        }
    }
    list.finish()
}

struct Reading {
    path: Arc<Path>,
    list: ListFile,
    // The first line that was not understood, to guess what the file is.
    beginning: Vec<u8>,
}

impl Reading {
    fn take(&mut self, line: &Line<'_>) {
        match line::read(line) {
            None => {}
            Some(Ok(span)) => span.into_iter().for_each(|target| self.list.targets.push(target)),
            Some(Err(unread)) => self.reject(&unread),
        }
    }

    fn reject(&mut self, unread: &Unread<'_>) {
        if self.list.rejected_count == 0 {
            self.beginning = unread.content.iter().copied().take(16).collect();
        }
        self.list.rejected_count += 1;
        if self.list.rejected.len() < KEPT {
            self.list.rejected.push(unread.of(&self.path));
        }
    }

    fn finish(self) -> Result<ListFile, ListError> {
        let mut list = self.list;
        if list.targets.is_empty() && list.rejected_count > 0 {
            let looks = looks(&self.beginning);
            return Err(ListError::NoTargets {
                path: self.path.to_path_buf(),
                lines: list.rejected_count,
                looks,
            });
        }
        list.targets.sort();
        Ok(list)
    }
}

/// What a file is that begins like this and holds no target.
fn looks(beginning: &[u8]) -> &'static str {
    match beginning {
        [b'<', ..] => ": it looks like HTML, so the download has probably failed",
        [b'{' | b'[', ..] => ": it looks like JSON, and a plain list is needed",
        [0x1f, 0x8b, ..] | [b'P', b'K', ..] => ": it looks compressed, so unpack it first",
        [0, ..] => ": it looks binary",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [_, 0, ..] => ": it looks like UTF-16, so save it as UTF-8",
        _ => "",
    }
}

#[cfg(test)]
mod tests;
