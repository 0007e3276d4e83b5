//! A blob in preparation: the bytes of a list are written down while the list is read. They become a blob if
//! the list is accepted.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::fcntl::posix_fallocate;

use super::disk::Disk;
use super::files::{CopyError, UNFINISHED, taken_in};
use crate::source::digest::{Digest, DigestSum};

/// A draft smaller than this fraction of the total limit does not check how much of the limit is left. That
/// check looks at every file, and for each of a thousand short lists it would take longer than all other
/// work. Small drafts are checked when all blobs are kept.
const SMALL: u64 = 1024;

/// A file that does not have its final name yet. Dropping it removes the file.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    file: Result<File, CopyError>,
    sum: DigestSum,
    bytes: u64,
    /// The space that other blobs leave for it, once it was checked.
    room: Option<u64>,
    most: u64,
    disk: Disk,
}

impl Draft {
    /// Creates a draft in `directory`, whose files may have `most` bytes together.
    pub(super) fn new(directory: &Path, most: u64, disk: &Disk) -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!("{}-{}.{UNFINISHED}", process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = directory.join(name);
        let made = disk.make_directory(directory).map_err(|error| CopyError::system(directory, error));
        let file = made.and_then(|()| disk.create(&path).map_err(|error| CopyError::system(&path, error)));
        Self { path, file, sum: DigestSum::default(), bytes: 0, room: None, most, disk: disk.clone() }
    }

    /// A draft for bytes that are not written down.
    #[must_use]
    pub fn gone() -> Self {
        Self {
            path: PathBuf::new(),
            file: Err(CopyError::Gone),
            sum: DigestSum::default(),
            bytes: 0,
            room: None,
            most: 0,
            disk: Disk::default(),
        }
    }

    /// The number of bytes written, and their digest.
    #[must_use]
    pub fn summary(&self) -> (u64, Digest) {
        (self.bytes, self.sum.digest())
    }

    /// The length of the file, or 0 if there is none.
    pub(super) fn length(&self) -> u64 {
        if self.file.is_ok() { self.bytes } else { 0 }
    }

    /// True if the file can grow by this many bytes.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        let length = i64::try_from(self.bytes.saturating_add(bytes)).unwrap_or(i64::MAX);
        self.file.as_ref().is_ok_and(|file| length == 0 || posix_fallocate(file, 0, length).is_ok())
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

    /// Flushes the file to disk.
    pub(super) fn sync(&mut self) -> Result<(), CopyError> {
        let file = std::mem::replace(&mut self.file, Err(CopyError::Gone))?;
        let synced = self.disk.sync(&file).map_err(|error| CopyError::system(&self.path, error));
        synced.map(|()| self.file = Ok(file))
    }

    /// Gives the file, which is on disk, its final name.
    pub(super) fn take_name(self, name: &Path) -> Result<(), CopyError> {
        self.disk.rename(&self.path, name).map_err(|error| CopyError::system(name, error))
    }
}

/// A disk error does not stop the reader. It is reported when the draft is to be kept.
impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sum.update(bytes);
        self.bytes += bytes.len() as u64;
        let Ok(file) = &self.file else { return Ok(bytes.len()) };
        if let Err(error) = self.disk.write(file, bytes) {
            self.fail(CopyError::system(&self.path, error));
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
