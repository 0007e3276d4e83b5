//! Opens the journal, and recovers it from its copy if the file cannot be read.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::own_file::open_our_own;
use super::store::{JournalContents, JournalStore, Unusable};
use super::{JournalDamage, JournalError, JournalFindings, Replacement, copy, mark};
use crate::blocklist::{Record, Timestamp};
use crate::clock::Moment;
use crate::text::printable;

const FILE: &str = "live.redb";

/// Opens the file in `directory`, or creates it, now or as soon as that is possible. It passes every change
/// to `take`, in the order in which they were made, with times converted to those of `here`. A damaged file
/// is set aside, and its copy or a new file replaces it.
pub fn open(
    directory: &Path,
    here: &Moment,
    take: &mut dyn FnMut(Record),
) -> Result<(JournalStore, JournalFindings), JournalError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(|source| refused(directory, source))?;
    let path = directory.join(FILE);
    if is_half_made(&path) {
        tracing::info!(
            "an earlier filterd was killed while it wrote {}; writing it again",
            printable::path(&path)
        );
        open_our_own(&path).and_then(|file| file.set_len(0)).map_err(|source| refused(&path, source))?;
    }
    let (is_empty, holds_nothing) = (is_nothing(&path), holds_nothing(&path));
    let read = match what_is_lost(&path) {
        Some(reason) => Err(Unusable::Damaged(reason.to_owned())),
        None => JournalStore::read(&path),
    };
    let (store, contents, damage) = match read {
        Ok((store, contents)) => (store, contents, None),
        Err(refused) if holds_nothing && refused.is_refused() => {
            (JournalStore::to_be_made(&path), JournalContents::default(), None)
        }
        Err(Unusable::Other(error)) => return Err(error),
        Err(Unusable::Damaged(reason)) => recover(&path, reason, here.wall)?,
    };
    let is_a_commit_behind = damage.is_none() && store.is_a_commit_behind();
    let JournalContents { mut changes, times, damaged_rows, skipped, .. } = contents;
    let is_of_another_time = times.end_in_another_time(here);
    let clock_behind = times.translate(&mut changes, here);
    let targets = changes.iter().map(|change| change.len() as u64).sum();
    // Only now, so that nothing is taken from a file that turns out to be damaged later on.
    changes.into_iter().for_each(take);
    let is_new = is_empty && damage.is_none();
    let found = JournalFindings {
        targets,
        damaged_rows,
        skipped,
        is_new,
        is_a_commit_behind,
        is_of_another_time,
        clock_behind,
        behind: None,
        damage,
    };
    Ok((store, found))
}

/// A journal that has a copy was not always empty.
fn what_is_lost(path: &Path) -> Option<&'static str> {
    if !copy::path_of(path).exists() {
        return None;
    }
    match fs::metadata(path) {
        Ok(file) if file.len() == 0 => Some("it is empty"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some("it is gone"),
        Ok(_) | Err(_) => None,
    }
}

/// Moves a file only once it is known which one replaces it.
fn recover(
    path: &Path,
    reason: String,
    now: Timestamp,
) -> Result<(JournalStore, JournalContents, Option<JournalDamage>), JournalError> {
    let copy = copy::path_of(path);
    let read = if copy.exists() { Some(JournalStore::read(&copy)) } else { None };
    let (kept, instead) = match read {
        Some(Ok((store, contents))) => {
            let made = contents.copied.unwrap_or_default();
            (Some((store, contents)), Replacement::Copy { made })
        }
        Some(Err(Unusable::Other(error))) => return Err(error),
        Some(Err(Unusable::Damaged(reason))) => {
            set_aside(&copy, now)?;
            (None, Replacement::DamagedCopy { reason })
        }
        None => (None, Replacement::Nothing),
    };
    let set_aside = set_aside(path, now)?;
    let damage = Some(JournalDamage { reason, set_aside, instead });
    if let Some((store, contents)) = kept {
        fs::rename(&copy, path).map_err(|source| refused(&copy, source))?;
        return Ok((store.moved_to(path.to_owned()), contents, damage));
    }
    // The path may still be a link to the damaged file, and the new one must be a new file.
    remove(path).map_err(|source| refused(path, source))?;
    let (store, contents) = match JournalStore::read(path) {
        Err(refused) if refused.is_refused() => (JournalStore::to_be_made(path), JournalContents::default()),
        made => made.map_err(|unusable| unusable.of_new(path))?,
    };
    Ok((store, contents, damage))
}

/// Adds a second name if the file system supports hard links, so that there is a readable file at every
/// moment. An empty file is not worth keeping.
fn set_aside(path: &Path, now: Timestamp) -> Result<Option<PathBuf>, JournalError> {
    if is_nothing(path) {
        return Ok(None);
    }
    let name = path.file_name().expect("it is a file in the state directory").to_string_lossy();
    let aside = path.with_file_name(format!("{name}.damaged-{}", now.secs()));
    fs::hard_link(path, &aside)
        .or_else(|_| fs::rename(path, &aside))
        .map_err(|source| refused(path, source))?;
    Ok(Some(aside))
}

/// True if the creation of the file was interrupted, so that it never contained anything. The library redb
/// writes the first bytes of a file last, and the first row leaves a note next to it.
fn is_half_made(path: &Path) -> bool {
    let mut begins = [1; 9];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begins));
    read.is_ok() && begins == [0; 9] && !mark::is_there(path) && !copy::path_of(path).exists()
}

/// True if the file is certainly missing or empty. Then nothing is lost if filterd continues without it
/// until it can be created.
fn holds_nothing(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(found) => found.is_file() && found.len() == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn is_nothing(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |file| file.len() == 0)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn refused(path: &Path, source: io::Error) -> JournalError {
    JournalError::Directory { path: path.to_owned(), source }
}
