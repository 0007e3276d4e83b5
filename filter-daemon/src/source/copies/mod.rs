//! The last good copy of each list: the bytes that were believed, kept in the state directory, so that a list whose file is
//! missing, empty or spoilt at the next start is what it was.
//!
//! A copy is a file of its own, named by a hash of all that is known of it. So a new one never overwrites an old one: it
//! is written beside, brought to disk, gets its name, and only then does the old one go.

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

use super::{How, ListFile, list};
use crate::blocklist::{Accepted, Times};
use crate::clock;
pub use beside::beside;
pub use draft::Draft;
pub use held::Held;

/// All copies together take no more than this.
const MOST_BYTES: u64 = 1 << 30;

/// What ends the name of a file that is not a copy yet.
const UNFINISHED: &str = "new";

/// The directory of the copies.
#[derive(Clone, Debug)]
pub struct Copies {
    directory: PathBuf,
    most: u64,
}

/// What was found in the directory.
#[derive(Debug, Default)]
pub struct Found {
    /// What each copy is of; the newest first.
    pub copies: Vec<Accepted>,
    /// Files that are no copies any more.
    pub damaged: Vec<PathBuf>,
    /// There may be others: we are not to see them.
    pub is_hidden: bool,
}

/// Why there is no copy, or none that can be used.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// It is not what was written.
    #[error("its copy is damaged")]
    Damaged,
    /// All copies together would be too large.
    #[error("the copies of all lists would take more than {} MiB", .most >> 20)]
    Full {
        /// As many bytes are allowed.
        most: u64,
    },
    /// What it would be made of is gone.
    #[error("it has to be read again")]
    Gone,
    /// The system refuses.
    #[error("{}: {source}", crate::text::printable::path(path))]
    System {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl CopyError {
    /// The same, of another list.
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

/// A list that is to have a copy.
#[derive(Debug)]
pub struct ToKeep {
    /// What is known of it.
    pub accepted: Accepted,
    /// Where its bytes are.
    pub bytes: Bytes,
    /// Since when and until when each of its entries is there, where they end; if none, what a copy of before says stays.
    pub times: Option<Times>,
    /// What was known of it before; this copy stays if there can be no new one.
    pub before: Option<Accepted>,
}

/// Where the bytes of a copy come from.
#[derive(Debug)]
pub enum Bytes {
    /// They were written down as they were read.
    Draft(Draft),
    /// They are in the copy that was made when this was known of the list.
    Before(Box<Accepted>),
    /// They are in its own copy, which was on trial.
    Tried,
}

impl Bytes {
    /// Those in the copy of this.
    #[must_use]
    pub fn before(accepted: Accepted) -> Self {
        Self::Before(Box::new(accepted))
    }
}

impl Copies {
    /// The copies in this state directory.
    #[must_use]
    pub fn of(state: &Path) -> Self {
        Self { directory: state.join("lists"), most: MOST_BYTES }
    }

    /// All there are, but for those of what is on trial.
    #[must_use]
    pub fn find(&self) -> Found {
        self.find_at(|path| !is_unfinished(path) && !tried::has_its_name(path), Self::path)
    }

    /// The copies that lie `at` a path of their own, among these files.
    fn find_at(&self, is_one: fn(&Path) -> bool, at: fn(&Self, &Accepted) -> PathBuf) -> Found {
        let is_hidden =
            fs::read_dir(&self.directory).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
        let mut found = Found { is_hidden, ..Found::default() };
        let mut copies: Vec<(SystemTime, Accepted)> = Vec::new();
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
        let is_newest = |accepted: &Accepted| seen.insert((accepted.name.clone(), accepted.path.clone()));
        found.copies = copies.into_iter().map(|(_, accepted)| accepted).filter(is_newest).collect();
        found
    }

    /// What a copy says.
    ///
    /// # Errors
    /// When it cannot be read, or is not what was written.
    pub fn read(&self, accepted: &Accepted, how: &How) -> Result<ListFile, CopyError> {
        let (path, tried) = (self.path(accepted), self.tried(accepted));
        let read = |path: &Path| {
            let system = |source| CopyError::System { path: path.into(), source };
            let (found, list) = whole(open(path).map_err(system)?, how)?;
            if found == *accepted { Ok(list) } else { Err(CopyError::Damaged) }
        };
        match read(&path) {
            // What is known of it on trial may be something else.
            Err(_) if tried.exists() => read(&tried),
            read => read,
        }
    }

    /// A file to write down what is being read.
    #[must_use]
    pub fn draft(&self) -> Draft {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.directory);
        Draft::new(&self.directory, made, self.most)
    }

    /// Is there room on the disk for one more copy of so many bytes?
    #[must_use]
    pub fn has_room(&self, bytes: u64) -> bool {
        self.draft().has_room(bytes)
    }

    /// Makes these copies, keeps those that are `kept` already, and removes all others. Tells what became of each.
    pub fn keep(&self, wanted: Vec<ToKeep>, mut kept: Vec<Accepted>) -> Vec<Result<(), CopyError>> {
        let outcomes = self.make_all(wanted, &mut kept, Self::path);
        let kept: HashSet<PathBuf> = kept.iter().map(|accepted| self.path(accepted)).collect();
        // What is gone from the configuration, or has a newer copy.
        let is_over = |path: &PathBuf| is_copy(path) && !kept.contains(path) && !is_unfinished(path);
        let over = self.files().into_iter().filter(is_over);
        over.for_each(|path| _ = fs::remove_file(path));
        outcomes
    }

    /// Is there a copy of this?
    #[must_use]
    pub fn has(&self, accepted: &Accepted) -> bool {
        self.path(accepted).exists() || self.is_tried(accepted)
    }

    /// The same, which says what it means to be on it, and how long what it names stays.
    #[must_use]
    pub fn says(&self, accepted: &Accepted) -> bool {
        let header =
            open(&self.path(accepted)).and_then(|mut file| header::read(&mut file, &clock::moment()));
        header.is_ok_and(|found| (found.term, found.meaning) == (accepted.term, accepted.meaning))
    }

    /// Does the list in the copy of this end without the end of a line? None if there is no copy that tells.
    #[must_use]
    pub fn has_open_end(&self, accepted: &Accepted) -> Option<bool> {
        let file = open(&self.path(accepted)).or_else(|_| open(&self.tried(accepted))).ok()?;
        let Some(last) = accepted.bytes.checked_sub(1) else { return Some(false) };
        let mut byte = [0];
        file.read_exact_at(&mut byte, (header::LENGTH as u64).checked_add(last)?).ok()?;
        Some(list::is_open_end(byte[0]))
    }

    /// Removes what an earlier filterd has not finished.
    pub fn clean(&self) {
        self.files()
            .into_iter()
            .filter(|path| is_unfinished(path))
            .for_each(|path| _ = fs::remove_file(path));
    }

    /// A name is on disk when its directory is.
    fn sync(&self) -> Result<(), CopyError> {
        let synced = File::open(&self.directory).and_then(|directory| directory.sync_all());
        synced.map_err(|source| CopyError::System { path: self.directory.clone(), source })
    }

    /// The copy of what was `before`, to be kept as one of this.
    fn draft_of(&self, before: &Accepted, accepted: &Accepted) -> Result<(Draft, Option<Times>), CopyError> {
        let file = open(&self.path(before)).or_else(|_| open(&self.tried(before)));
        self.draft_from(file.map_err(|_| CopyError::Gone)?, accepted)
    }

    /// What stands in a copy behind its header, to be kept anew, and the times that it tells, where these are still so long.
    fn draft_from(
        &self,
        mut copy: impl Read,
        accepted: &Accepted,
    ) -> Result<(Draft, Option<Times>), CopyError> {
        let header = header::read_all(&mut copy, &clock::moment()).map_err(|_| CopyError::Damaged)?;
        let mut draft = self.draft();
        let mut list = copy.by_ref().take(header.accepted.bytes);
        io::copy(&mut list, &mut draft).map_err(|_| CopyError::Gone)?;
        let ttl = |accepted: &Accepted| accepted.term.map(|term| term.ttl);
        // Whoever began with them has told where they are damaged.
        let times = header.times(copy).ok().flatten();
        Ok((draft, times.filter(|_| ttl(accepted) == ttl(&header.accepted))))
    }

    fn files(&self) -> Vec<PathBuf> {
        files_in(&self.directory)
    }

    /// Where the copy of this is, if there is one.
    #[must_use]
    pub fn path(&self, accepted: &Accepted) -> PathBuf {
        let Accepted { name, path, bytes, checksum, is_missing, .. } = accepted;
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

/// How many bytes all files in there have together.
fn taken_in(directory: &Path) -> u64 {
    files_in(directory).iter().filter_map(|path| Some(fs::metadata(path).ok()?.len())).sum()
}

/// What a copy is of, and what it says.
///
/// # Errors
/// When it is not what was written.
pub fn whole(mut input: impl Read, how: &How) -> Result<(Accepted, ListFile), CopyError> {
    let header::Header { accepted, times, .. } =
        header::read_all(&mut input, &clock::moment()).map_err(|_| CopyError::Damaged)?;
    let mut sum = crc32fast::Hasher::new();
    let mut bytes = 0;
    // Where nothing is to stand behind it, nothing does.
    let most = accepted.bytes.saturating_add(u64::from(times.is_none()));
    let input = Summed { input: input.take(most), sum: &mut sum, bytes: &mut bytes };
    // As many as are in so many bytes: it was believed.
    let list = list::parse(&accepted.path, input, u64::MAX, how).map_err(|_| CopyError::Damaged)?;
    let is_whole = bytes == accepted.bytes && sum.finalize() == accepted.checksum;
    if is_whole { Ok((accepted, list)) } else { Err(CopyError::Damaged) }
}

/// FNV-1a of 64 bits, <http://www.isthe.com/chongo/tech/comp/fnv/>: the same in every version of this program.
pub(super) fn fnv(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Is this the name of a copy? Somebody may have put another file beside them, which is not ours to remove.
fn is_copy(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().as_encoded_bytes();
    stem.len() == 16 && stem.iter().all(u8::is_ascii_hexdigit)
}

fn is_unfinished(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == UNFINISHED)
}

/// Nothing that a link leads to is ours.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}

/// Sums up what passes.
struct Summed<'a, R> {
    input: io::Take<R>,
    sum: &'a mut crc32fast::Hasher,
    bytes: &'a mut u64,
}

impl<R: Read> Read for Summed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.sum.update(&buffer[..read]);
        *self.bytes += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
