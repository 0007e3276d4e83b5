//! Blobs: files that are named by the SHA-256 of their content, and never change.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::draft::Draft;
use super::files::{CopyError, files_in, is_unfinished, open, taken_in};
use super::times;
use crate::blocklist::EntryTimes;
use crate::source::digest::{Digest, DigestSum};
use crate::source::reading::{AcceptedSource, SavedTimes};
use crate::source::{ListFile, ReadOptions, list};

/// The limit for all blobs together.
const MOST_BYTES: u64 = 1 << 30;

/// The directory of the blobs.
#[derive(Clone, Debug)]
pub struct Blobs {
    pub directory: PathBuf,
    pub most: u64,
    pub disk: Disk,
}

impl Blobs {
    pub fn of(state: &Path) -> Self {
        Self { directory: state.join("blobs"), most: MOST_BYTES, disk: Disk::default() }
    }

    pub fn path(&self, digest: Digest) -> PathBuf {
        self.directory.join(digest.to_string())
    }

    pub fn has(&self, digest: Digest) -> bool {
        self.path(digest).exists()
    }

    /// A new file for bytes that are to become a blob.
    pub fn draft(&self) -> Draft {
        Draft::new(&self.directory, self.most, &self.disk)
    }

    /// Opens the blob of this digest.
    pub fn open(&self, digest: Digest) -> Result<File, CopyError> {
        let path = self.path(digest);
        open(&path).map_err(|error| CopyError::system(&path, error))
    }

    /// The whole text of a blob.
    pub fn text(&self, digest: Digest, most: u64) -> Result<String, CopyError> {
        let mut bytes = Vec::new();
        let path = self.path(digest);
        let read = self.open(digest)?.take(most).read_to_end(&mut bytes);
        read.map_err(|error| CopyError::system(&path, error))?;
        if Digest::of(&bytes) != digest {
            return Err(CopyError::Damaged);
        }
        String::from_utf8(bytes).map_err(|_| CopyError::Damaged)
    }

    /// True if the list does not end with a newline. None if there is no blob to check.
    pub fn open_end(&self, accepted: &AcceptedSource) -> Option<bool> {
        let file = self.open(accepted.digest).ok()?;
        let Some(last) = accepted.bytes.checked_sub(1) else { return Some(false) };
        let mut byte = [0];
        file.read_exact_at(&mut byte, last).ok()?;
        Some(list::is_open_end(byte[0]))
    }

    /// Removes files that an earlier filterd did not finish.
    pub fn clean(&self) {
        self.files().filter(|path| is_unfinished(path)).for_each(|path| _ = self.disk.remove(&path));
    }

    /// Removes all blobs that are not `named`. Other files in the directory are not ours to remove.
    pub fn keep_only(&self, named: &HashSet<Digest>) {
        let digest = |path: &Path| path.file_name()?.to_str()?.parse::<Digest>().ok();
        let is_over = |path: &PathBuf| digest(path).is_some_and(|digest| !named.contains(&digest));
        self.files().filter(is_over).for_each(|path| _ = self.disk.remove(&path));
    }

    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        files_in(&self.directory)
    }

    /// The total size of all files.
    pub fn taken(&self) -> u64 {
        taken_in(&self.directory)
    }
}

/// Reads a list whose bytes must match its record.
pub fn read_list(
    input: impl Read,
    accepted: &AcceptedSource,
    how: &ReadOptions,
) -> Result<ListFile, CopyError> {
    let (mut sum, mut bytes) = (DigestSum::default(), 0);
    let most = accepted.bytes.saturating_add(1);
    let input = SummedReader { input: input.take(most), sum: &mut sum, bytes: &mut bytes };
    // No limit on entries besides the bytes, because the list was accepted.
    let list = list::parse(&accepted.path, input, u64::MAX, how).map_err(|_| CopyError::Damaged)?;
    let is_whole = bytes == accepted.bytes && sum.digest() == accepted.digest;
    if is_whole { Ok(list) } else { Err(CopyError::Damaged) }
}

/// Reads the times of entries, which must match their record, in the time of this process.
pub fn read_times(input: impl Read, saved: &SavedTimes) -> Result<EntryTimes, CopyError> {
    let mut bytes = Vec::new();
    let read = input.take(saved.bytes.saturating_add(1)).read_to_end(&mut bytes);
    let is_whole = read.is_ok() && bytes.len() as u64 == saved.bytes && Digest::of(&bytes) == saved.digest;
    let times = times::parse(&bytes).filter(|_| is_whole).ok_or(CopyError::Damaged)?;
    Ok(times.later_by(saved.shift))
}

/// Adds everything that is read to a digest.
struct SummedReader<'a, R> {
    input: io::Take<R>,
    sum: &'a mut DigestSum,
    bytes: &'a mut u64,
}

impl<R: Read> Read for SummedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.sum.update(&buffer[..read]);
        *self.bytes += read as u64;
        Ok(read)
    }
}
