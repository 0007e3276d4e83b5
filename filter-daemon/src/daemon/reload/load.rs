//! The configuration and its list files: read away from the owner, then applied as changes by it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::matching::{self, Known};
use crate::blocklist::{ListId, Reading, Stamp, Targets};
use crate::config::Config;
use crate::daemon::last_good::Copy;
use crate::source::{ListFile, list};
use crate::text::Explain;

/// A configuration with everything it names.
#[derive(Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// `block:`.
    pub block: Targets,
    /// Its lists, in its order.
    pub lists: Vec<LoadedList>,
    /// The copy of its text, for when it is in force.
    pub copy: Copy,
}

/// One list file as it was found.
#[derive(Debug)]
pub struct LoadedList {
    /// Its name.
    pub name: Arc<str>,
    /// Where it is.
    pub path: PathBuf,
    /// The list it was before, perhaps under another name or with another file.
    pub before: Option<ListId>,
    /// What was found.
    pub found: Found,
}

/// What was found where a list file should be.
#[derive(Debug)]
pub enum Found {
    /// The very file that was read last time.
    Unchanged,
    /// Another file, or other contents.
    Read(ListFile, Option<Stamp>),
    /// Nothing that can be used.
    Unusable(String),
}

impl Loaded {
    /// Reads every list file of this configuration but those that are as they were.
    pub fn gather(config: Config, known: &[Known]) -> Self {
        let block = config.block.iter().copied().collect();
        let before = matching::match_up(known, &config.lists);
        let lists = config.lists.iter().zip(before).map(|(list, before)| LoadedList {
            name: list.name.as_str().into(),
            path: list.path.clone(),
            before: before.map(|known| known.id),
            found: find(&list.path, before.map(|known| &known.reading)),
        });
        Self { block, lists: lists.collect(), config, copy: Copy::Nothing }
    }
}

/// The stamp is taken before reading: a file that changes meanwhile is read again next time.
fn find(path: &Path, before: Option<&Reading>) -> Found {
    let stamp = std::fs::metadata(path).ok().map(|file| stamp(&file));
    let is_as_before = |before: &Reading| before.path == path && before.stamp == stamp;
    if stamp.is_some() && before.is_some_and(is_as_before) {
        return Found::Unchanged;
    }
    match list::read(path) {
        Ok(file) => Found::Read(file, stamp),
        Err(error) => Found::Unusable(error.explain().to_string()),
    }
}

/// What identifies the contents of a file without reading it.
fn stamp(file: &Metadata) -> Stamp {
    let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()].map(i64::cast_unsigned);
    let [modified, modified_nanos, changed, changed_nanos] = times;
    Stamp([file.dev(), file.ino(), file.size(), modified, modified_nanos, changed, changed_nanos])
}
