//! Which files a database is, and what identifies all of them together.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::unusable;
use crate::blocklist::Stamp;
use crate::source::chosen::Database;
use crate::source::file::FileError;

/// The names of registries' files begin so, in every mirror of theirs.
const DELEGATED: &str = "delegated-";

/// What lies beside them: sums and signatures.
const BESIDE: [&str; 3] = ["md5", "asc", "sig"];

/// More are in no folder: five registries, each in two forms.
const MOST_FILES: usize = 64;

/// The files at these paths, those of a folder in the order of their names.
///
/// # Errors
/// When a folder cannot be read, or has none.
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

/// What identifies what is chosen out of these files, without reading them: none where one of them is not there. The first
/// word is that of what is chosen, so that whoever compares can tell another choice from other files.
#[must_use]
pub fn stamp(database: &Database) -> Option<Stamp> {
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
    Some(Stamp([chosen(database), identity, size, modified, modified_nanos, changed, changed_nanos]))
}

/// Was something else chosen when this stamp was taken, whatever the files were?
#[must_use]
pub fn is_of_another_choice(stamp: Stamp, database: &Database) -> bool {
    stamp.0[0] != chosen(database)
}

fn chosen(database: &Database) -> u64 {
    hash(database.chosen.to_string().into_bytes())
}

/// FNV-1a of 64 bits: the same in every version of this program.
fn hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let mix = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, mix)
}
