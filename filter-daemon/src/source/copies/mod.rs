//! The last good copy of each list: the accepted bytes, kept in the state directory. If the list's file is
//! missing, empty or damaged at the next start, the copy is used.
//!
//! Each copy is a separate file, named by a hash of the list's name, path and content. A new copy therefore
//! never overwrites an old one. It is written, flushed to disk and renamed, and only then is the old one
//! removed.

pub mod behind;
mod beside;
mod draft;
pub mod header;
mod held;
mod making;
mod renew;
mod tried;

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::fcntl::OFlag;

use super::{ListFile, ReadOptions, list};
use crate::blocklist::EntryTimes;
use crate::clock;
use crate::source::reading::AcceptedSource;
pub use beside::beside;
pub use draft::Draft;
pub use held::HeldCopy;

/// The limit for all copies together.
const MOST_BYTES: u64 = 1 << 30;

/// The file extension of an unfinished copy.
const UNFINISHED: &str = "new";

/// The directory of the copies.
#[derive(Clone, Debug)]
pub struct Copies {
    directory: PathBuf,
    most: u64,
}

/// The result of looking through the directory.
#[derive(Debug, Default)]
pub struct FoundCopies {
    /// The list that each copy belongs to, the newest copy first.
    pub copies: Vec<AcceptedSource>,
    /// Files that are not valid copies.
    pub damaged: Vec<PathBuf>,
    /// True if the directory may not be read, so there may be other copies.
    pub is_hidden: bool,
}

/// The reason why there is no copy, or no usable one.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The file does not match its checksum or its list.
    #[error("its copy is damaged")]
    Damaged,
    /// All copies together would be too large.
    #[error("the copies of all lists would take more than {} MiB", .most >> 20)]
    Full {
        /// The limit in bytes.
        most: u64,
    },
    /// The file that it would be made from is gone.
    #[error("it has to be read again")]
    Gone,
    /// A system call failed.
    #[error("{}: {source}", crate::text::printable::path(path))]
    System {
        /// The file or directory.
        path: PathBuf,
        source: io::Error,
    },
}

impl CopyError {
    /// An equal error for another list.
    fn again(&self) -> Self {
        match self {
            Self::Damaged => Self::Damaged,
            Self::Full { most } => Self::Full { most: *most },
            Self::Gone => Self::Gone,
            Self::System { path, source } => {
                let number = source.raw_os_error();
                let source = number.map_or_else(|| source.kind().into(), io::Error::from_raw_os_error);
                Self::System { path: path.clone(), source }
            }
        }
    }
}

/// A list whose copy is to be made.
#[derive(Debug)]
pub struct CopyToKeep {
    /// The known facts about the list.
    pub accepted: AcceptedSource,
    pub bytes: CopySource,
    /// When each entry was added and when it ends, if entries expire. If none, the times in the earlier copy
    /// stay.
    pub times: Option<EntryTimes>,
    /// The list as it was accepted before. Its copy is kept if no new one can be made.
    pub before: Option<AcceptedSource>,
}

/// The source of a copy's bytes.
#[derive(Debug)]
pub enum CopySource {
    /// They were written down while the list was read.
    Draft(Draft),
    /// They are in the copy of this earlier version of the list.
    Before(Box<AcceptedSource>),
    /// They are in the list's copy on trial.
    Tried,
}

impl CopySource {
    /// The bytes in the copy of this list.
    #[must_use]
    pub fn before(accepted: AcceptedSource) -> Self {
        Self::Before(Box::new(accepted))
    }
}

impl Copies {
    /// The copies in this state directory.
    #[must_use]
    pub fn of(state: &Path) -> Self {
        Self { directory: state.join("lists"), most: MOST_BYTES }
    }

    /// Finds all copies except those on trial.
    #[must_use]
    pub fn find(&self) -> FoundCopies {
        self.find_at(|path| !is_unfinished(path) && !tried::has_its_name(path), Self::path)
    }

    /// Reads the files that `is_one` accepts. A copy is valid if it is at the path that `at` gives for it.
    fn find_at(&self, is_one: fn(&Path) -> bool, at: fn(&Self, &AcceptedSource) -> PathBuf) -> FoundCopies {
        let is_hidden =
            fs::read_dir(&self.directory).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
        let mut found = FoundCopies { is_hidden, ..FoundCopies::default() };
        let mut copies: Vec<(SystemTime, AcceptedSource)> = Vec::new();
        for path in self.files().into_iter().filter(|path| is_one(path)) {
            let read = open(&path).and_then(|mut file| {
                Ok((header::read(&mut file, &clock::moment())?, file.metadata()?.modified()?))
            });
            match read {
                Ok((accepted, written)) if at(self, &accepted) == path => copies.push((written, accepted)),
                Ok(_) | Err(_) => found.damaged.push(path),
            }
        }
        copies.sort_by(|(one, a), (other, b)| (b.at, other).cmp(&(a.at, one)));
        let mut seen = HashSet::new();
        let is_newest =
            |accepted: &AcceptedSource| seen.insert((accepted.name.clone(), accepted.path.clone()));
        found.copies = copies.into_iter().map(|(_, accepted)| accepted).filter(is_newest).collect();
        found
    }

    /// Reads the list in a copy.
    ///
    /// # Errors
    /// If the copy cannot be read or is damaged.
    pub fn read(&self, accepted: &AcceptedSource, how: &ReadOptions) -> Result<ListFile, CopyError> {
        let (path, tried) = (self.path(accepted), self.tried(accepted));
        let read = |path: &Path| {
            let system = |source| CopyError::System { path: path.into(), source };
            let (found, list) = whole(open(path).map_err(system)?, how)?;
            if found == *accepted { Ok(list) } else { Err(CopyError::Damaged) }
        };
        match read(&path) {
            // The copy on trial may have other facts, which differ from `accepted`.
            Err(_) if tried.exists() => read(&tried),
            read => read,
        }
    }

    /// A new file for the bytes of a list that is being read.
    #[must_use]
    pub fn draft(&self) -> Draft {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.directory);
        Draft::new(&self.directory, made, self.most)
    }

    /// True if the disk has room for another copy of this many bytes.
    #[must_use]
    pub fn has_room(&self, bytes: u64) -> bool {
        self.draft().has_room(bytes)
    }

    /// Makes these copies, keeps those in `kept`, and removes all others. Returns one result for each new
    /// copy.
    pub fn keep(&self, wanted: Vec<CopyToKeep>, mut kept: Vec<AcceptedSource>) -> Vec<Result<(), CopyError>> {
        let outcomes = self.make_all(wanted, &mut kept, Self::path);
        let kept: HashSet<PathBuf> = kept.iter().map(|accepted| self.path(accepted)).collect();
        // Copies of lists that left the configuration or have a newer copy.
        let is_over = |path: &PathBuf| is_copy(path) && !kept.contains(path) && !is_unfinished(path);
        let over = self.files().into_iter().filter(is_over);
        over.for_each(|path| _ = fs::remove_file(path));
        outcomes
    }

    /// True if this list has a copy.
    #[must_use]
    pub fn has(&self, accepted: &AcceptedSource) -> bool {
        self.path(accepted).exists() || self.is_tried(accepted)
    }

    /// True if the copy of this list also records the same meaning and time to live.
    #[must_use]
    pub fn says(&self, accepted: &AcceptedSource) -> bool {
        let header =
            open(&self.path(accepted)).and_then(|mut file| header::read(&mut file, &clock::moment()));
        header.is_ok_and(|found| (found.term, found.meaning) == (accepted.term, accepted.meaning))
    }

    /// True if the list in the copy does not end with a newline. None if there is no copy to check.
    #[must_use]
    pub fn has_open_end(&self, accepted: &AcceptedSource) -> Option<bool> {
        let file = open(&self.path(accepted)).or_else(|_| open(&self.tried(accepted))).ok()?;
        let Some(last) = accepted.bytes.checked_sub(1) else { return Some(false) };
        let mut byte = [0];
        file.read_exact_at(&mut byte, (header::LENGTH as u64).checked_add(last)?).ok()?;
        Some(list::is_open_end(byte[0]))
    }

    /// Removes files that an earlier filterd did not finish.
    pub fn clean(&self) {
        self.files()
            .into_iter()
            .filter(|path| is_unfinished(path))
            .for_each(|path| _ = fs::remove_file(path));
    }

    /// A name is on disk only when its directory is.
    fn sync(&self) -> Result<(), CopyError> {
        let synced = File::open(&self.directory).and_then(|directory| directory.sync_all());
        synced.map_err(|source| CopyError::System { path: self.directory.clone(), source })
    }

    /// A draft for this list with the content of the copy of `before`.
    fn draft_of(
        &self,
        before: &AcceptedSource,
        accepted: &AcceptedSource,
    ) -> Result<(Draft, Option<EntryTimes>), CopyError> {
        let file = open(&self.path(before)).or_else(|_| open(&self.tried(before)));
        self.draft_from(file.map_err(|_| CopyError::Gone)?, accepted)
    }

    /// A draft with the content of an open copy, and the times in it if the time to live has not changed.
    fn draft_from(
        &self,
        mut copy: impl Read,
        accepted: &AcceptedSource,
    ) -> Result<(Draft, Option<EntryTimes>), CopyError> {
        let header = header::read_all(&mut copy, &clock::moment()).map_err(|_| CopyError::Damaged)?;
        let mut draft = self.draft();
        let mut list = copy.by_ref().take(header.accepted.bytes);
        io::copy(&mut list, &mut draft).map_err(|_| CopyError::Gone)?;
        let ttl = |accepted: &AcceptedSource| accepted.term.map(|term| term.ttl);
        // Damaged times were reported by the start that tried to use them.
        let times = header.times(copy).ok().flatten();
        Ok((draft, times.filter(|_| ttl(accepted) == ttl(&header.accepted))))
    }

    fn files(&self) -> Vec<PathBuf> {
        files_in(&self.directory)
    }

    /// The path of this list's copy, whether it exists or not.
    #[must_use]
    pub fn path(&self, accepted: &AcceptedSource) -> PathBuf {
        let AcceptedSource { name, path, bytes, checksum, is_missing, .. } = accepted;
        let known = [name.as_bytes(), b"\0", path.as_os_str().as_bytes()].concat();
        let known =
            [&known[..], &bytes.to_le_bytes(), &checksum.to_le_bytes(), &[u8::from(*is_missing)]].concat();
        self.directory.join(format!("{:016x}", fnv(&known)))
    }
}

fn files_in(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

/// The total size of all files in this directory.
fn taken_in(directory: &Path) -> u64 {
    files_in(directory).iter().filter_map(|path| Some(fs::metadata(path).ok()?.len())).sum()
}

/// Reads a whole copy: the list that it belongs to, and its content.
///
/// # Errors
/// If the copy is damaged.
pub fn whole(mut input: impl Read, how: &ReadOptions) -> Result<(AcceptedSource, ListFile), CopyError> {
    let header::Header { accepted, times, .. } =
        header::read_all(&mut input, &clock::moment()).map_err(|_| CopyError::Damaged)?;
    let mut sum = crc32fast::Hasher::new();
    let mut bytes = 0;
    // If the header announces no times, no byte may follow the list.
    let most = accepted.bytes.saturating_add(u64::from(times.is_none()));
    let input = ChecksumReader { input: input.take(most), sum: &mut sum, bytes: &mut bytes };
    // No limit on entries besides the bytes, because the list was accepted.
    let list = list::parse(&accepted.path, input, u64::MAX, how).map_err(|_| CopyError::Damaged)?;
    let is_whole = bytes == accepted.bytes && sum.finalize() == accepted.checksum;
    if is_whole { Ok((accepted, list)) } else { Err(CopyError::Damaged) }
}

/// 64-bit FNV-1a, <http://www.isthe.com/chongo/tech/comp/fnv/>. It must give the same result in every version
/// of this program.
pub(super) fn fnv(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// True if a copy could have this name. Other files in this directory are not ours to remove.
fn is_copy(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().as_encoded_bytes();
    stem.len() == 16 && stem.iter().all(u8::is_ascii_hexdigit)
}

fn is_unfinished(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == UNFINISHED)
}

/// Opens a file without following a link, because a link's target is not ours.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}

/// Adds everything that is read to a checksum.
struct ChecksumReader<'a, R> {
    input: io::Take<R>,
    sum: &'a mut crc32fast::Hasher,
    bytes: &'a mut u64,
}

impl<R: Read> Read for ChecksumReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.sum.update(&buffer[..read]);
        *self.bytes += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
