//! The configuration and its list files: read away from the owner, then applied as changes by it.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::blocklist::Targets;
use crate::config::{self, Config, ConfigError};
use crate::source::{ListFile, list};
use crate::text::Explain;

/// What identifies the contents of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl From<Metadata> for Stamp {
    fn from(file: Metadata) -> Self {
        Self {
            file: (file.dev(), file.ino()),
            size: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        }
    }
}

/// A configuration with everything it names.
#[derive(Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// `block:`.
    pub block: Targets,
    /// Its lists, in its order.
    pub lists: Vec<LoadedList>,
}

impl Loaded {
    /// The list files that were read.
    pub fn files(&self) -> impl Iterator<Item = &ListFile> + Clone {
        self.lists.iter().filter_map(|list| match &list.found {
            Found::Read(file, _) => Some(file),
            Found::Unchanged | Found::Unusable(_) => None,
        })
    }
}

/// One list file as it was found.
#[derive(Debug)]
pub struct LoadedList {
    /// Its name.
    pub name: String,
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

/// Reads the configuration at `path`, or the default one, and every list file but those whose stamps are `known`.
pub fn load(path: Option<&Path>, known: &HashMap<PathBuf, Stamp>) -> Result<Loaded, ConfigError> {
    let config = path.map_or_else(|| Ok(Config::default()), config::load)?;
    let block = config.block.iter().copied().collect();
    let lists = config
        .lists
        .iter()
        .map(|list| LoadedList { name: list.name.to_string(), found: find(&list.path, known) });
    Ok(Loaded { block, lists: lists.collect(), config })
}

/// The stamp is taken before reading: a file that changes meanwhile is read again next time.
fn find(path: &Path, known: &HashMap<PathBuf, Stamp>) -> Found {
    let stamp = std::fs::metadata(path).ok().map(Stamp::from);
    if stamp.is_some() && stamp.as_ref() == known.get(path) {
        return Found::Unchanged;
    }
    match list::read(path) {
        Ok(file) => Found::Read(file, stamp),
        Err(error) => Found::Unusable(error.explain().to_string()),
    }
}
