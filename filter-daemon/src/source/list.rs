//! A plain list file: one address, prefix or range a line, `#` and `;` begin comments.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::file::FileError;
use super::format::{Format, How};
use super::input::Input;
use super::limits::{Limits, Seen};
use super::line::{self, Unread};
use super::patience::Progress;
use super::rejected::{Rejected, Rejects};
use super::remarks::Remarks;
use super::special::{self, Special};
use super::{Targets, net64, quad};
use crate::text::lines::{Line, Lines};

/// How many of the lines that were not understood are kept, to be shown to somebody.
const KEPT: usize = 100;

/// What a list file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFile {
    /// The targets it names.
    pub targets: Targets,
    /// How many lines are neither blank nor comments.
    pub lines: u64,
    /// The first hundred of the lines that were not understood.
    pub rejected: Vec<Rejected>,
    /// How many there are in all.
    pub rejected_count: u64,
    /// How many of the targets that it names are special ranges, or in part, and were taken out.
    pub special: u64,
    /// There are more targets than the list may have, and what follows was not read.
    pub is_cut: bool,
    /// What it was read as.
    pub format: Format,
    /// What is to be told of the database that it was chosen out of.
    pub remarks: Remarks,
    /// What it seems to be, if it has lines and not one target; to follow the rest of a sentence.
    pub looks: &'static str,
}

/// As many lines that were not understood are told wherever there is room for a few.
const EXAMPLES: usize = 3;

impl ListFile {
    /// What was not understood of it.
    #[must_use]
    pub fn rejects(&self) -> Rejects {
        let examples = self.rejected.iter().take(EXAMPLES).map(ToString::to_string);
        Rejects { count: self.rejected_count, examples: examples.collect() }
    }

    /// The same in counts.
    #[must_use]
    pub fn seen(&self) -> Seen {
        let (lines, rejected, targets) = (self.lines, self.rejected_count, self.targets.len() as u64);
        Seen::Lines { lines, rejected, targets, is_cut: self.is_cut }
    }
}

/// Reads a list file: at most as many bytes and targets as it may have.
///
/// A line that is no target is skipped and remembered: one slip must not unblock all the others.
///
/// # Errors
/// When the file cannot be read, or is too large.
pub fn read(path: &Path, limits: &Limits, how: &How, progress: Progress) -> Result<ListFile, FileError> {
    parse(path, Input::open(path, limits.most_bytes())?.telling(progress), limits.max_entries, how)
}

/// Reads a list of at most so many targets out of `input`, which is called `path`. What is beyond them is not read.
///
/// # Errors
/// When the input fails.
pub fn parse(path: &Path, input: impl Read, most: u64, how: &How) -> Result<ListFile, FileError> {
    let mut list = Reading::new(path, most, how.special);
    let mut lines = Lines::new(input);
    while let Some(line) = lines.read().map_err(|error| FileError::new(path, error))? {
        let targets = &mut list.list.targets;
        if let Some(address) = quad::parse(line.bytes) {
            targets.addresses.push(address);
            list.understood += 1;
        } else if let Some(net) = net64::parse(line.bytes) {
            targets.nets64.push(net);
            list.understood += 1;
        } else {
            list.take(&line);
        }
        if list.is_full() {
            break;
        }
    }
    // Whoever waits for the input need not wait for the sorting.
    drop(lines);
    Ok(list.finish())
}

struct Reading {
    path: Arc<Path>,
    list: ListFile,
    understood: u64,
    /// As many targets as it may have.
    most: usize,
    /// So many may be in memory, repetitions among them.
    room: usize,
    special: Special,
    // The first line that was not understood, to guess what the file is.
    beginning: Vec<u8>,
}

impl Reading {
    fn new(path: &Path, most: u64, special: Special) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let room = most.saturating_add(most / 4);
        Self {
            path: path.into(),
            list: ListFile::default(),
            understood: 0,
            most,
            room,
            special,
            beginning: Vec::new(),
        }
    }

    fn take(&mut self, line: &Line<'_>) {
        match line::read(line) {
            None => {}
            Some(Ok(span)) if span.into_iter().any(|target| self.special.doubts(target)) => {
                self.reject(&Unread::wide(line));
            }
            Some(Ok(span)) => {
                self.understood += 1;
                span.into_iter().for_each(|target| self.list.targets.push(target));
            }
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

    /// Are there more targets than there may be? What is said twice counts once, so it is looked at closely, and that not
    /// more often than every time a quarter of all has come.
    fn is_full(&mut self) -> bool {
        if self.list.targets.len() <= self.room {
            return false;
        }
        self.list.targets.sort();
        self.list.targets.len() > self.most
    }

    fn finish(self) -> ListFile {
        let mut list = self.list;
        list.lines = self.understood + list.rejected_count;
        list.targets.sort();
        list.is_cut = list.targets.len() > self.most;
        list.targets.truncate(self.most);
        if !self.special.included {
            list.special = special::take_out(&mut list.targets);
        }
        if self.understood == 0 && list.rejected_count > 0 {
            list.looks = looks(&self.beginning);
        }
        list
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
