//! A plain list file: one address, prefix or range a line, `#` and `;` begin comments.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use filter_common::target::Span;

use super::file::{self, FileError};
use super::lines::{Line, Lines};
use super::rejected::{Reason, Rejected, excerpt};
use super::{Targets, net64, quad};

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
    #[error("{}: not one of its {lines} lines is an address, prefix or range{looks}", path.display())]
    NoTargets {
        /// The file.
        path: PathBuf,
        /// How many lines are neither blank nor comments.
        lines: u64,
        /// What it seems to be, to follow the rest of the sentence.
        looks: &'static str,
    },
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
    while let Some(line) = lines.next().map_err(|error| FileError::new(path, error))? {
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
        let bytes = without_byte_order_mark(line);
        let comment = bytes.iter().position(|byte| matches!(byte, b'#' | b';'));
        let content = bytes[..comment.unwrap_or(bytes.len())].trim_ascii();
        if !line.whole && comment.is_none() {
            self.reject(line, content, Reason::TooLong);
        } else if !content.is_empty() {
            match target(&String::from_utf8_lossy(content)) {
                Ok(span) => span.into_iter().for_each(|target| self.list.targets.push(target)),
                Err(reason) => self.reject(line, content, reason),
            }
        }
    }

    fn reject(&mut self, line: &Line<'_>, content: &[u8], reason: Reason) {
        if self.list.rejected_count == 0 {
            self.beginning = content.iter().copied().take(16).collect();
        }
        self.list.rejected_count += 1;
        if self.list.rejected.len() < KEPT {
            let text = excerpt(&String::from_utf8_lossy(content));
            self.list.rejected.push(Rejected { path: self.path.clone(), line: line.number, text, reason });
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

fn without_byte_order_mark<'a>(line: &Line<'a>) -> &'a [u8] {
    let first = if line.number == 1 { line.bytes.strip_prefix("\u{feff}".as_bytes()) } else { None };
    first.unwrap_or(line.bytes)
}

fn target(content: &str) -> Result<Span, Reason> {
    content.parse().map_err(|error| {
        let word = content.split([' ', '\t', ',']).next().unwrap_or(content);
        let more = word != content && word.parse::<Span>().is_ok();
        if more { Reason::More } else { Reason::NoTarget(error) }
    })
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
