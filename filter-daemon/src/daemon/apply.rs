//! What was loaded becomes the blocklist: every list of the configuration as it now is, and none that is gone from it.

use std::path::PathBuf;

use tracing::info;

use super::error::DaemonError;
use super::owner::Owner;
use super::reload::{Found, Loaded, LoadedList};
use crate::blocklist::{Claim, Effects, Kind, ListId, Targets};
use crate::clock;
use crate::control::wire::reload::Reply as Reloaded;
use crate::source::ListFile;

/// The list that holds the configuration's own `block:`.
pub const CONFIG_LIST: &str = "config";

impl Owner {
    /// Makes the lists of the configuration what was loaded. Room is made first: if there is none, nothing changes.
    /// Every list takes in what is new before any lets go, so that a target that moves from one to another stays blocked.
    /// `effects` are those that nobody has carried out yet.
    pub fn apply(&mut self, loaded: Loaded, mut effects: Effects) -> Result<Reloaded, DaemonError> {
        self.must_not_be_live(&loaded.lists)?;
        self.filter.enforce(loaded.config.enforce);
        self.reserve(loaded.block.iter().chain(loaded.files().flat_map(|file| file.targets.iter())))?;
        let gone = self.lists_gone(&loaded.lists);
        let read = self.lists_read(&loaded)?;
        let now = clock::now();
        for (list, targets) in &read {
            let claim = Claim { list: *list, since: now, until: None, note: None };
            self.blocklist.add_all(targets, &claim, &mut effects);
        }
        read.iter().for_each(|(list, targets)| self.blocklist.retain(*list, targets, &mut effects));
        gone.into_iter().for_each(|list| self.blocklist.release(list, &mut effects));
        self.filter.apply(&effects, &self.blocklist)?;
        Ok(self.note(loaded, &effects))
    }

    /// The lists that were read, each with what it wants now.
    fn lists_read<'a>(&mut self, loaded: &'a Loaded) -> Result<Vec<(ListId, &'a Targets)>, DaemonError> {
        let mut read = vec![(self.list(CONFIG_LIST, Kind::Config)?, &loaded.block)];
        for list in &loaded.lists {
            let id = self.list(&list.name, Kind::File)?;
            if let Found::Read(file, _) = &list.found {
                read.push((id, &file.targets));
            }
        }
        Ok(read)
    }

    /// Remembers how each file was found, and tells what the operator should know.
    fn note(&mut self, loaded: Loaded, effects: &Effects) -> Reloaded {
        let (entered, left) = (effects.block.entered.len() as u64, effects.block.left.len() as u64);
        let mut reloaded = Reloaded { entered, left, ..Reloaded::default() };
        let paths: Vec<_> = loaded.config.lists.iter().map(|list| list.path.clone()).collect();
        self.stamps.retain(|path, _| paths.contains(path));
        for (list, path) in loaded.lists.into_iter().zip(paths) {
            self.note_list(list, path, &mut reloaded);
        }
        self.config = loaded.config;
        reloaded
    }

    fn note_list(&mut self, list: LoadedList, path: PathBuf, reloaded: &mut Reloaded) {
        let LoadedList { name, found } = list;
        match found {
            Found::Unchanged => reloaded.unchanged += 1,
            Found::Unusable(error) => {
                let kept =
                    self.blocklist.lists().find(&name).map_or(0, |id| self.blocklist.lists().get(id).targets);
                reloaded.warnings.push(format!("list {name} keeps its {kept} targets: {error}"));
                self.unusable.insert(name, error);
            }
            Found::Read(file, stamp) => {
                info!("list {name}: {} targets", file.targets.len());
                warn_of_rejected(&name, &file, &mut reloaded.warnings);
                self.unusable.remove(&name);
                self.rejected.insert(name, file.rejected_count);
                stamp.into_iter().for_each(|stamp| _ = self.stamps.insert(path.clone(), stamp));
            }
        }
    }

    /// File lists that the configuration no longer names.
    fn lists_gone(&self, loaded: &[LoadedList]) -> Vec<ListId> {
        let lists = self.blocklist.lists().iter();
        let gone = lists.filter(|(_, list)| {
            list.kind == Kind::File && loaded.iter().all(|named| *named.name != *list.name)
        });
        gone.map(|(id, _)| id).collect()
    }

    fn must_not_be_live(&self, loaded: &[LoadedList]) -> Result<(), DaemonError> {
        let lists = self.blocklist.lists();
        let live = loaded.iter().filter_map(|list| lists.find(&list.name)).find(|id| {
            let list = lists.get(*id);
            list.kind == Kind::Live && list.targets > 0
        });
        live.map_or(Ok(()), |id| {
            let list = lists.get(id);
            Err(DaemonError::ListIsLive { name: list.name.to_string(), targets: list.targets })
        })
    }

    fn list(&mut self, name: &str, kind: Kind) -> Result<ListId, DaemonError> {
        self.blocklist.lists_mut().get_or_make(name, kind).map_err(|_| DaemonError::TooManyLists)
    }
}

/// The first lines that were not understood, and how many there were.
fn warn_of_rejected(name: &str, file: &ListFile, warnings: &mut Vec<String>) {
    const TOLD: usize = 5;
    if file.rejected_count == 0 {
        return;
    }
    warnings.push(format!("list {name}: {} lines were not understood, and skipped", file.rejected_count));
    warnings.extend(file.rejected.iter().take(TOLD).map(ToString::to_string));
}
