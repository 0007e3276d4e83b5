//! A copy in preparation. The bytes of a list are written down while it is read, and become its copy if the
//! list is accepted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::fcntl::posix_fallocate;

use super::header::{self, LENGTH};
use super::{CopyError, UNFINISHED, behind, taken_in};
use crate::blocklist::EntryTimes;
use crate::clock;
use crate::source::reading::AcceptedSource;

/// A draft smaller than this fraction of the total limit does not check how much of the limit is left. That
/// check looks at every file, and for each of a thousand short lists it would take longer than all other
/// work. Small drafts are checked when all copies are kept.
const SMALL: u64 = 1024;

/// A file that does not have its final name yet. Dropping it removes the file.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    file: Result<File, CopyError>,
    sum: crc32fast::Hasher,
    bytes: u64,
    /// The space that other copies leave for it, once it was checked.
    room: Option<u64>,
    most: u64,
}

impl Draft {
    /// Creates a draft in `directory`. `is_there` says whether that could be created, and `most` limits the
    /// bytes of all files in it.
    pub(super) fn new(directory: &Path, is_there: io::Result<()>, most: u64) -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!("{}-{}.{UNFINISHED}", process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = directory.join(name);
        let made = || {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            file.write_all(&[0; LENGTH])?;
            Ok(file)
        };
        let system = |path: &Path| {
            let path = path.to_owned();
            |source| CopyError::System { path, source }
        };
        let file = is_there.map_err(system(directory)).and_then(|()| made().map_err(system(&path)));
        Self { path, file, sum: crc32fast::Hasher::new(), bytes: 0, room: None, most }
    }

    /// A draft for bytes that were not written down.
    #[must_use]
    pub fn gone() -> Self {
        let (path, file) = (PathBuf::new(), Err(CopyError::Gone));
        Self { path, file, sum: crc32fast::Hasher::new(), bytes: 0, room: None, most: 0 }
    }

    /// The number of bytes written, and their checksum.
    #[must_use]
    pub fn summary(&self) -> (u64, u32) {
        (self.bytes, self.sum.clone().finalize())
    }

    /// The length of the file, or 0 if there is none.
    pub(super) fn length(&self) -> u64 {
        if self.file.is_ok() { self.bytes + LENGTH as u64 } else { 0 }
    }

    /// True if the file can grow by this many bytes.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        let length = (self.bytes + LENGTH as u64).saturating_add(bytes);
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        self.file.as_ref().is_ok_and(|file| posix_fallocate(file, 0, length).is_ok())
    }

    /// Discards the file because there is no room for it.
    pub(super) fn refuse(&mut self) {
        self.fail(CopyError::Full { most: self.most });
    }

    fn fail(&mut self, error: CopyError) {
        if self.file.is_ok() {
            self.file = Err(error);
            // Frees the space at once, because others may need it.
            _ = fs::remove_file(&self.path);
        }
    }

    fn exceeds_room(&mut self) -> bool {
        let (length, most) = (self.length(), self.most);
        if length <= most / SMALL {
            return false;
        }
        let directory = self.path.parent().unwrap_or(&self.path);
        let left = || most.saturating_sub(taken_in(directory).saturating_sub(length));
        length > *self.room.get_or_insert_with(left)
    }

    /// Writes the times of the entries, if there are any, and the header. The copy is going to have this
    /// name.
    pub(super) fn finish(
        mut self,
        accepted: &AcceptedSource,
        times: Option<&EntryTimes>,
        name: PathBuf,
    ) -> Result<FinishedDraft, CopyError> {
        let mut file = std::mem::replace(&mut self.file, Err(CopyError::Gone))?;
        let times = times.map(|times| behind::write(times, &mut file)).transpose();
        let finished = times.and_then(|times| {
            let header =
                header::of(accepted, &clock::moment(), times).ok_or(io::ErrorKind::InvalidFilename)?;
            file.write_all_at(&header, 0)
        });
        match finished {
            Ok(()) => Ok(FinishedDraft { draft: self, file, name }),
            Err(source) => Err(CopyError::System { path: name, source }),
        }
    }
}

/// A draft with all its content.
pub(super) struct FinishedDraft {
    /// Dropping it removes the file, unless the file has its final name.
    draft: Draft,
    file: File,
    name: PathBuf,
}

impl FinishedDraft {
    /// Flushes the file to disk.
    pub(super) fn sync(&self) -> Result<(), CopyError> {
        self.file.sync_all().map_err(|source| self.failed(source))
    }

    /// Renames the file to its final name. Call this only after the file is on disk.
    pub(super) fn take_name(self) -> Result<(), CopyError> {
        fs::rename(&self.draft.path, &self.name).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> CopyError {
        CopyError::System { path: self.name.clone(), source }
    }
}

/// A disk error does not stop the reader. It is reported when the draft is to be kept.
impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sum.update(bytes);
        self.bytes += bytes.len() as u64;
        let Ok(file) = &mut self.file else { return Ok(bytes.len()) };
        if let Err(source) = file.write_all(bytes) {
            self.fail(CopyError::System { path: self.path.clone(), source });
        } else if self.exceeds_room() {
            self.refuse();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // The file has its final name by now, or is gone, or is not needed.
        _ = fs::remove_file(&self.path);
    }
}
