//! A copy in the making: bytes are written down while a list is read, and become its copy if the list is believed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::fcntl::posix_fallocate;

use super::header::{self, LENGTH};
use super::{CopyError, UNFINISHED, behind, taken_in};
use crate::blocklist::{Accepted, Times};
use crate::clock;

/// What takes a smaller part than one in so many of the room for all does not look how much is left of it: that is to look at
/// every file, and for each of a thousand short lists it takes longer than all else. They are looked at when all are to be kept.
const SMALL: u64 = 1024;

/// A file without a name of its own yet; removed when dropped.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    file: Result<File, CopyError>,
    sum: crc32fast::Hasher,
    bytes: u64,
    /// What the others leave it, once it has looked.
    room: Option<u64>,
    most: u64,
}

impl Draft {
    /// One in this directory, if that is there, in which all together may have so many bytes.
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

    /// One of bytes that nobody wrote down.
    #[must_use]
    pub fn gone() -> Self {
        let (path, file) = (PathBuf::new(), Err(CopyError::Gone));
        Self { path, file, sum: crc32fast::Hasher::new(), bytes: 0, room: None, most: 0 }
    }

    /// How many bytes were written, and their sum.
    #[must_use]
    pub fn summary(&self) -> (u64, u32) {
        (self.bytes, self.sum.clone().finalize())
    }

    /// How long its file is, if it has one.
    pub(super) fn length(&self) -> u64 {
        if self.file.is_ok() { self.bytes + LENGTH as u64 } else { 0 }
    }

    /// Can its file be so many bytes longer than it is?
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        let length = (self.bytes + LENGTH as u64).saturating_add(bytes);
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        self.file.as_ref().is_ok_and(|file| posix_fallocate(file, 0, length).is_ok())
    }

    /// There is no room for it.
    pub(super) fn refuse(&mut self) {
        self.fail(CopyError::Full { most: self.most });
    }

    fn fail(&mut self, error: CopyError) {
        if self.file.is_ok() {
            self.file = Err(error);
            // What others may need is given back at once.
            _ = fs::remove_file(&self.path);
        }
    }

    fn is_too_long(&mut self) -> bool {
        let (length, most) = (self.length(), self.most);
        if length <= most / SMALL {
            return false;
        }
        let directory = self.path.parent().unwrap_or(&self.path);
        let left = || most.saturating_sub(taken_in(directory).saturating_sub(length));
        length > *self.room.get_or_insert_with(left)
    }

    /// Writes down when its entries came and end, if that is to be told, and what it is of, which is to have this name.
    pub(super) fn finish(
        mut self,
        accepted: &Accepted,
        times: Option<&Times>,
        name: PathBuf,
    ) -> Result<Whole, CopyError> {
        let mut file = std::mem::replace(&mut self.file, Err(CopyError::Gone))?;
        let times = times.map(|times| behind::write(times, &mut file)).transpose();
        let finished = times.and_then(|times| {
            let header =
                header::of(accepted, &clock::moment(), times).ok_or(io::ErrorKind::InvalidFilename)?;
            file.write_all_at(&header, 0)
        });
        match finished {
            Ok(()) => Ok(Whole { draft: self, file, name }),
            Err(source) => Err(CopyError::System { path: name, source }),
        }
    }
}

/// A draft in which everything stands.
pub(super) struct Whole {
    /// Removed when dropped, unless it has its name.
    draft: Draft,
    file: File,
    name: PathBuf,
}

impl Whole {
    /// Brings it to disk.
    pub(super) fn sync(&self) -> Result<(), CopyError> {
        self.file.sync_all().map_err(|source| self.failed(source))
    }

    /// Gives it its name, which it is to have when it is on disk, and not before.
    pub(super) fn take_name(self) -> Result<(), CopyError> {
        fs::rename(&self.draft.path, &self.name).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> CopyError {
        CopyError::System { path: self.name.clone(), source }
    }
}

/// A disk that refuses keeps nobody from reading: what became of it is told when the draft is to be kept.
impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sum.update(bytes);
        self.bytes += bytes.len() as u64;
        let Ok(file) = &mut self.file else { return Ok(bytes.len()) };
        if let Err(source) = file.write_all(bytes) {
            self.fail(CopyError::System { path: self.path.clone(), source });
        } else if self.is_too_long() {
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
        // It has its own name by now, or is gone, or nobody wants it.
        _ = fs::remove_file(&self.path);
    }
}
