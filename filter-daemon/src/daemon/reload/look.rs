//! Reads the file of a list in a thread of its own, unless the file has not changed.

use std::fs::Metadata;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::matching::KnownList;
use crate::config::ListConfig;
use crate::source::file::FileError;
use crate::source::folder::Folder;
use crate::source::input::ListInput;
use crate::source::patience::ReadProgress;
use crate::source::reading::{SourceReading, SourceStamp};
use crate::source::{ListFile, database, list};
use crate::state::{Draft, StateStore, beside};

/// The result of checking a file.
pub enum FileCheck {
    /// The file has not changed.
    Unchanged,
    /// The file was read anew.
    Read(Box<FileContents>),
}

/// The list in a file, the file's stamp when it was opened, and its bytes, unless there is a copy of them.
pub type FileContents = (ListFile, Option<SourceStamp>, Option<Draft>);

/// The data that the reading thread needs.
pub struct FileChecker {
    list: ListConfig,
    /// The path of its file.
    file: PathBuf,
    /// The stamp of the file when it was read last.
    before: Option<SourceStamp>,
    /// The stamp of the file when its copy was made.
    copied: Option<SourceStamp>,
    /// Where the bytes that are read are copied, if they are.
    store: Option<StateStore>,
}

impl FileChecker {
    /// For `list`, which was `before`. Its bytes are written to `store`.
    pub fn new(
        list: &ListConfig,
        file: PathBuf,
        before: Option<&KnownList>,
        store: Option<StateStore>,
    ) -> Self {
        let reading = before.map(|before| &before.reading);
        let accepted = reading.and_then(|reading| reading.accepted.as_ref());
        Self {
            // With another `ttl`, all its entries count anew.
            before: reading.filter(|reading| is_read_as(reading, list)).and_then(|reading| reading.stamp),
            copied: accepted
                .filter(|accepted| accepted.path == list.path)
                .and_then(|accepted| accepted.stamp),
            list: list.clone(),
            file,
            store,
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
        let mut draft = self.store.filter(|_| !is_copied).map(|store| store.draft());
        let read = |copy: Option<&mut (dyn Write + Send)>| match &how.database {
            Some(database) => database::list(database, limits, how, copy, &progress),
            None => {
                // A fetched file is complete before it gets its name.
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

/// Whether the same file was read with the same `ttl`, options and limits.
fn is_read_as(reading: &SourceReading, list: &ListConfig) -> bool {
    let (how, limits) = (list.how.to_string(), list.limits.numbers());
    reading.path == list.path && reading.ttl == list.ttl && reading.how == how && reading.limits == limits
}

/// Identifies the present contents of this list, whose file is at `path`, if it exists.
pub fn stamp_of(list: &ListConfig, path: &Path) -> Option<SourceStamp> {
    if let Some(database) = &list.how.database {
        return database::stamp(database);
    }
    let found = std::fs::metadata(path).ok()?;
    if found.is_dir() { folder(path, &found) } else { Some(stamp(&found)) }
}

/// Identifies all files of a folder by their total length, the newest time, and a checksum over their stamps.
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

/// Identifies the contents of a file without reading it.
fn stamp(file: &Metadata) -> SourceStamp {
    let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()].map(i64::cast_unsigned);
    let [modified, modified_nanos, changed, changed_nanos] = times;
    SourceStamp([file.dev(), file.ino(), file.size(), modified, modified_nanos, changed, changed_nanos])
}

/// When the file with this stamp was last written.
fn time_in(SourceStamp([_, _, _, modified, ..]): SourceStamp) -> Option<u64> {
    u64::try_from(modified.cast_signed()).ok()
}

/// When the database of a list was built, or when the file in force was last written, as far as known. The
/// clock is that of the machine which wrote it.
pub fn written(reading: &SourceReading) -> Option<u64> {
    let accepted = reading.accepted.as_ref().and_then(|accepted| accepted.stamp);
    reading.built.or_else(|| accepted.or(reading.stamp).and_then(time_in))
}
