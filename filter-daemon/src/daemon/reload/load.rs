//! The configuration and its list files: read away from the owner, then applied as changes by it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::find::{Found, Look, find};
use super::matching::{self, Known};
use crate::blocklist::{Blocklist, ListId, Origin, Reading, Targets};
use crate::config::{self, Config, ConfigError};
use crate::control::wire::reload::Accept;
use crate::daemon::configuration::Copy;
use crate::daemon::error::DaemonError;
use crate::source::file::FileError;
use crate::source::patience::Patience;
use crate::source::{Copies, copies};
use crate::text::printable;

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

/// Where lists are read from, and what was learned while doing so. One reading after another has it.
pub struct Sources {
    /// What was good before.
    pub copies: Copies,
    /// Who reads list files, and which of them hang.
    pub lists: Patience<Result<Look, FileError>>,
    /// The lists that our user may not read, when they were last looked at.
    pub(super) denied: Vec<PathBuf>,
    /// Who reads the configuration.
    config: Patience<Result<Vec<u8>, ConfigError>>,
}

impl Sources {
    /// The copies of this state directory, and files as they are.
    pub fn of(state: &Path) -> Self {
        Self {
            copies: Copies::of(state),
            lists: Patience::default(),
            denied: Vec::new(),
            config: Patience::default(),
        }
    }

    /// The lists that our user may not read, when they were last looked at.
    pub fn denied(&self) -> &[PathBuf] {
        &self.denied
    }

    /// The lists of which there is a copy.
    pub fn known(&self) -> Vec<Known> {
        self.copies.clean();
        let copies::Found { copies, damaged } = self.copies.find();
        for path in damaged {
            tracing::error!("{}: this copy of a list is damaged, and counts as none", printable::path(&path));
        }
        let known = copies.into_iter().map(|accepted| Known {
            id: None,
            name: accepted.name.clone(),
            entries: accepted.entries,
            reading: Reading { path: accepted.path.clone(), accepted: Some(accepted), ..Reading::default() },
        });
        known.collect()
    }
}

/// The lists whose files have been read before, for the next reading.
pub fn known(blocklist: &Blocklist) -> Vec<Known> {
    let files = blocklist.lists().iter().filter(|(_, list)| list.origin == Origin::File);
    let known = files.map(|(id, list)| Known {
        id: Some(id),
        name: list.name.clone(),
        entries: list.entries,
        reading: list.reading.clone().unwrap_or_default(),
    });
    known.collect()
}

impl Loaded {
    /// Reads every list file of this configuration but those that are as they were.
    pub fn gather(
        config: Config,
        known: &[Known],
        accept: &Accept,
        sources: &mut Sources,
    ) -> Result<Self, DaemonError> {
        let names = || config.lists.iter().map(|list| list.name.as_str());
        if let Some(unknown) = accept.unknown(names()) {
            let there = names().collect::<Vec<_>>().join(", ");
            return Err(DaemonError::NothingToAccept { name: unknown.to_owned(), there });
        }
        sources.denied.clear();
        let block = config.block.iter().copied().collect();
        let before = matching::match_up(known, &config.lists);
        let lists = config.lists.iter().zip(before).map(|(list, before)| LoadedList {
            name: list.name.as_str().into(),
            path: list.path.clone(),
            before: before.and_then(|known| known.id),
            found: find(list, before, accept.has(list.name.as_str()), sources),
        });
        let lists = lists.collect();
        Ok(Self { block, lists, config, copy: Copy::Nothing })
    }
}

impl Sources {
    /// The text of a configuration.
    pub fn read_config(&mut self, path: &Path) -> Result<Vec<u8>, ConfigError> {
        let owned = path.to_owned();
        self.config.read(path, move |_| config::read(&owned))?
    }
}
