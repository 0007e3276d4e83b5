//! Finds the files of a database, and computes a stamp that identifies all of them.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::unusable;
use crate::source::chosen::Database;
use crate::source::file::FileError;
use crate::source::reading::SourceStamp;

/// The prefix of the registries' file names, in every mirror.
const DELEGATED: &str = "delegated-";

/// The extensions of checksum and signature files, which are not read.
const BESIDE: [&str; 3] = ["md5", "asc", "sig"];

/// The most files in a folder. Five registries publish two forms each.
const MOST_FILES: usize = 64;

/// The files at these paths. Those of a folder are sorted by name.
///
/// # Errors
/// If a folder cannot be read or contains no such file.
pub fn of(paths: &[PathBuf]) -> Result<Vec<PathBuf>, FileError> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() { files.extend(in_folder(path)?) } else { files.push(path.clone()) }
    }
    Ok(files)
}

fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let failed = |error| FileError::new(folder, error);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        files.extend(is_delegated(&path).then_some(path));
        if files.len() > MOST_FILES {
            return Err(unusable(folder, "the folder has too many files of registries", "name the files"));
        }
    }
    if files.is_empty() {
        let why = "no file in this folder has a name that begins with delegated-";
        return Err(unusable(folder, why, "pass the file itself, or put the registries' files there"));
    }
    files.sort();
    Ok(files)
}

fn is_delegated(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let is_beside = path.extension().is_some_and(|end| BESIDE.iter().any(|beside| end == *beside));
    name.is_some_and(|name| name.starts_with(DELEGATED)) && !is_beside
}

/// The stamp of the selection from these files, computed without reading them. None if a file is missing. The
/// first word identifies the selection, so that a comparison can tell another selection from changed files.
#[must_use]
pub fn stamp(database: &Database) -> Option<SourceStamp> {
    let files = of(&database.paths).ok()?;
    let found: Vec<Metadata> = files.iter().map(|file| fs::metadata(file).ok()).collect::<Option<_>>()?;
    let identity = found.iter().flat_map(|file| {
        [file.dev(), file.ino(), file.size(), file.mtime().cast_unsigned(), file.mtime_nsec().cast_unsigned()]
    });
    let size = found.iter().map(Metadata::size).fold(0, u64::wrapping_add);
    let modified = found.iter().map(|file| (file.mtime(), file.mtime_nsec())).max()?;
    let changed = found.iter().map(|file| (file.ctime(), file.ctime_nsec())).max()?;
    let times = [modified.0, modified.1, changed.0, changed.1].map(i64::cast_unsigned);
    let [modified, modified_nanos, changed, changed_nanos] = times;
    let identity = hash(identity.flat_map(u64::to_le_bytes));
    Some(SourceStamp([chosen(database), identity, size, modified, modified_nanos, changed, changed_nanos]))
}

/// True if something else was selected when this stamp was taken, regardless of the files.
#[must_use]
pub fn is_of_another_choice(stamp: SourceStamp, database: &Database) -> bool {
    stamp.0[0] != chosen(database)
}

fn chosen(database: &Database) -> u64 {
    hash(database.chosen.to_string().into_bytes())
}

/// 64-bit FNV-1a, which must give the same result in every version of this program.
fn hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let mix = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, mix)
}
