//! Notes the last two rows of the journal in a file next to it, so that a start can detect a lost commit.
//!
//! redb keeps two commits. If the pages of the newest one are damaged, it silently continues with the one
//! before. The note is written after each commit, without a sync. It therefore survives when filterd is
//! killed, and after a power failure it names at worst an older row. It counts only if the last row found
//! is the one that it names as the row before. Changes by another program are therefore never taken for a
//! loss.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::own_file::open_our_own;

/// Identifies a row by number and checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowId {
    number: u64,
    /// The checksum of the row, with which the row begins.
    sum: u32,
}

/// The length of the line, which is fixed and fits the longest one.
const LENGTH: usize = 80;

impl RowId {
    /// The identity of the row with this number and these bytes.
    pub fn new(number: u64, bytes: &[u8]) -> Self {
        let sum = bytes.first_chunk().map_or(0, |sum| u32::from_le_bytes(*sum));
        Self { number, sum }
    }

    /// The number of the following row.
    pub const fn next(self) -> u64 {
        self.number + 1
    }
}

/// Notes that `last` was written to this journal after `before`.
pub fn write(journal: &Path, last: RowId, before: Option<RowId>) -> io::Result<()> {
    let words =
        [Some(last), before].into_iter().flatten().map(|RowId { number, sum }| format!("{number} {sum}"));
    let line = words.collect::<Vec<_>>().join(" ");
    open_our_own(&path_of(journal))?.write_all_at(format!("{line:<0$}\n", LENGTH - 1).as_bytes(), 0)
}

/// True if there is a note beside this journal.
pub fn is_there(journal: &Path) -> bool {
    path_of(journal).exists()
}

/// True if the last row of this journal is the one before the row that was written last. `found` is none if
/// it has no rows.
pub fn is_a_commit_behind(journal: &Path, found: Option<RowId>) -> bool {
    read(&path_of(journal)).is_some_and(|(last, before)| found != Some(last) && found == before)
}

/// Returns none for anything but a complete note.
fn read(path: &Path) -> Option<(RowId, Option<RowId>)> {
    let mut line = String::new();
    File::open(path).ok()?.take(LENGTH as u64).read_to_string(&mut line).ok()?;
    let numbers: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let row = |number, sum| Some(RowId { number, sum: u32::try_from(sum).ok()? });
    match numbers[..] {
        [number, sum] => Some((row(number, sum)?, None)),
        [number, sum, before, its_sum] => Some((row(number, sum)?, Some(row(before, its_sum)?))),
        _ => None,
    }
}

fn path_of(journal: &Path) -> PathBuf {
    let mut name = journal.as_os_str().to_owned();
    name.push(".last");
    name.into()
}
