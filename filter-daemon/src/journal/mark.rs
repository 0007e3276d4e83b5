//! Which row was written last, and which one before: a file beside the journal that tells a start what it does not find.
//!
//! redb has two places for commits, and where the newest one's pages are not what was written, it goes on with the one
//! before, without a word. This file is written after each commit, and not brought to disk: it is there when filterd is
//! killed, and where the machine loses its power it says at worst less than there is. It is believed only where the last
//! row found is the very one that it names as the one before, so what another program did to the journal meanwhile is
//! never taken for a loss.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::own_file::open_our_own;

/// A row, as it is known again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    number: u64,
    /// What the row begins with: the sum of the rest.
    sum: u32,
}

/// The longest line there is, and every one is as long.
const LENGTH: usize = 80;

impl Row {
    /// The row of this number, which is these bytes.
    pub fn new(number: u64, bytes: &[u8]) -> Self {
        let sum = bytes.first_chunk().map_or(0, |sum| u32::from_le_bytes(*sum));
        Self { number, sum }
    }

    /// The number behind it.
    pub const fn next(self) -> u64 {
        self.number + 1
    }
}

/// Notes that `last` was written to this journal, behind `before`.
pub fn write(journal: &Path, last: Row, before: Option<Row>) -> io::Result<()> {
    let words =
        [Some(last), before].into_iter().flatten().map(|Row { number, sum }| format!("{number} {sum}"));
    let line = words.collect::<Vec<_>>().join(" ");
    open_our_own(&path_of(journal))?.write_all_at(format!("{line:<0$}\n", LENGTH - 1).as_bytes(), 0)
}

/// Has anything been noted beside this journal?
pub fn is_there(journal: &Path) -> bool {
    path_of(journal).exists()
}

/// Is the last row that was found in this journal, or that there is none, what there was before the last one was written?
pub fn is_a_commit_behind(journal: &Path, found: Option<Row>) -> bool {
    read(&path_of(journal)).is_some_and(|(last, before)| found != Some(last) && found == before)
}

/// Anything else than a line of ours is none.
fn read(path: &Path) -> Option<(Row, Option<Row>)> {
    let mut line = String::new();
    File::open(path).ok()?.take(LENGTH as u64).read_to_string(&mut line).ok()?;
    let numbers: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let row = |number, sum| Some(Row { number, sum: u32::try_from(sum).ok()? });
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
