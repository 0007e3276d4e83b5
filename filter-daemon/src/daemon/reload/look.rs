//! A look at the file of a list, in a thread of its own: what it says, unless it is as it was.

use std::fs::Metadata;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::matching::KnownList;
use crate::blocklist::{SourceReading, SourceStamp};
use crate::config::ListConfig;
use crate::source::copies::beside;
use crate::source::file::FileError;
use crate::source::folder::Folder;
use crate::source::input::ListInput;
use crate::source::patience::ReadProgress;
use crate::source::{Copies, Draft, ListFile, database, list};

/// What a look at a file brings.
pub enum FileCheck {
    /// It is as it was.
    Unchanged,
    /// It was read.
    Read(Box<FileContents>),
}

/// What a file says, what it was when it was opened, and its bytes, unless there is a copy of them.
pub type FileContents = (ListFile, Option<SourceStamp>, Option<Draft>);

/// What the thread that reads has to know.
pub struct FileChecker {
    list: ListConfig,
    /// Where its file is.
    file: PathBuf,
    /// What the file was when it was read last.
    before: Option<SourceStamp>,
    /// What it was when its copy was made.
    copied: Option<SourceStamp>,
    /// Where what is read is written down; none where it is not.
    copies: Option<Copies>,
}

impl FileChecker {
    /// Of `list`, which was `before`, written down among `copies`.
    pub fn new(list: &ListConfig, file: PathBuf, before: Option<&KnownList>, copies: Option<Copies>) -> Self {
        let reading = before.map(|before| &before.reading);
        let accepted = reading.and_then(|reading| reading.accepted.as_ref());
        Self {
            // With another time to live, all it names counts anew.
            before: reading.filter(|reading| is_read_as(reading, list)).and_then(|reading| reading.stamp),
            copied: accepted
                .filter(|accepted| accepted.path == list.path)
                .and_then(|accepted| accepted.stamp),
            list: list.clone(),
            file,
            copies,
        }
    }

    /// The stamp is taken before reading: a file that changes meanwhile is read again next time.
    pub fn look(self, progress: ReadProgress) -> Result<FileCheck, FileError> {
        let (path, limits, how) = (&self.list.path, &self.list.limits, &self.list.how);
        let stamp = stamp_of(&self.list, &self.file);
        if stamp.is_some() && stamp == self.before {
            return Ok(FileCheck::Unchanged);
        }
        let is_copied = stamp.is_some() && stamp == self.copied;
        let mut draft = self.copies.filter(|_| !is_copied).map(|copies| copies.draft());
        let read = |copy: Option<&mut (dyn Write + Send)>| match &how.database {
            Some(database) => database::list(database, limits, how, copy, &progress),
            None => {
                // What was fetched was whole before it had its name.
                let open = if self.list.feed.is_some() { ListInput::open_whole } else { ListInput::open };
                let input = open(&self.file, limits.most_bytes(), progress.clone())?.copied_to(copy);
                list::read_opened(path, input, limits, how)
            }
        };
        let file = match &mut draft {
            Some(draft) => beside(draft, |copy| read(Some(copy)))?,
            None => read(None)?,
        };
        Ok(FileCheck::Read(Box::new((file, stamp, draft))))
    }
}

/// Was the same file read, taken for the same, and judged by the same?
fn is_read_as(reading: &SourceReading, list: &ListConfig) -> bool {
    let (how, limits) = (list.how.to_string(), list.limits.numbers());
    reading.path == list.path && reading.ttl == list.ttl && reading.how == how && reading.limits == limits
}

/// What identifies what this list, whose file is at `path`, says at the moment, if anything is there.
pub fn stamp_of(list: &ListConfig, path: &Path) -> Option<SourceStamp> {
    if let Some(database) = &list.how.database {
        return database::stamp(database);
    }
    let found = std::fs::metadata(path).ok()?;
    if found.is_dir() { folder(path, &found) } else { Some(stamp(&found)) }
}

/// What identifies all files of a folder: their lengths together, the newest time, and a sum over what identifies each.
fn folder(path: &Path, found: &Metadata) -> Option<SourceStamp> {
    let folder = Folder::list(path).ok()?;
    let files = folder.look().ok()?;
    let mut sum = crc32fast::Hasher::new();
    for (path, file) in &files {
        sum.update(path.as_os_str().as_bytes());
        stamp(file).0.iter().for_each(|word| sum.update(&word.to_le_bytes()));
    }
    let length = files.iter().map(|(_, file)| file.size()).sum();
    let newest = files.iter().map(|(_, file)| file.mtime()).max().unwrap_or_default();
    let sum = u64::from(sum.finalize());
    Some(SourceStamp([found.dev(), found.ino(), length, newest.cast_unsigned(), files.len() as u64, sum, 0]))
}

/// What identifies the contents of a file without reading it.
fn stamp(file: &Metadata) -> SourceStamp {
    let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()].map(i64::cast_unsigned);
    let [modified, modified_nanos, changed, changed_nanos] = times;
    SourceStamp([file.dev(), file.ino(), file.size(), modified, modified_nanos, changed, changed_nanos])
}

/// When a file was last written that was this.
fn time_in(SourceStamp([_, _, _, modified, ..]): SourceStamp) -> Option<u64> {
    u64::try_from(modified.cast_signed()).ok()
}

/// When the database was made that a list was chosen out of, or the file that is in force was last written, by the clock of whoever wrote it, as far as that is known.
pub fn written(reading: &SourceReading) -> Option<u64> {
    let accepted = reading.accepted.as_ref().and_then(|accepted| accepted.stamp);
    reading.built.or_else(|| accepted.or(reading.stamp).and_then(time_in))
}
