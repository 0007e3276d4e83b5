//! What was loaded becomes the blocklist: every list of the configuration as it now is, and none that is gone from it.

use tracing::info;

use super::error::DaemonError;
use super::owner::Owner;
use super::reload::{Found, Loaded, LoadedList};
use crate::blocklist::{Effects, Kind, ListId, Moment, Targets};
use crate::control::wire::Reloaded;
use crate::kernel::KernelError;

/// The list that holds the configuration's own `block:`.
pub const CONFIG_LIST: &str = "config";

impl Owner {
    /// Makes the lists of the configuration what was loaded. Room is made first: if there is none, nothing changes.
    pub fn apply(&mut self, loaded: Loaded) -> Result<Reloaded, DaemonError> {
        let Loaded { config, block, lists } = loaded;
        self.table.enforce(config.enforce);
        self.reserve(block.iter().chain(lists.iter().flat_map(targets)))?;
        let mut reloaded = Reloaded::default();
        let gone = self.lists_gone(&lists);
        let config_list = self.list(CONFIG_LIST, Kind::Config)?;
        self.replace(config_list, &block, &mut reloaded)?;
        let paths: Vec<_> = config.lists.iter().map(|list| list.path.clone()).collect();
        self.stamps.retain(|path, _| paths.contains(path));
        for (list, path) in lists.into_iter().zip(paths) {
            self.apply_list(list, path, &mut reloaded)?;
        }
        for list in gone {
            let effects = self.blocklist.release(list);
            self.carry_out_of_reload(&effects, &mut reloaded)?;
        }
        self.config = config;
        Ok(reloaded)
    }

    fn apply_list(&mut self, list: LoadedList, path: std::path::PathBuf, reloaded: &mut Reloaded) -> Result<(), DaemonError> {
        let id = self.list(&list.name, Kind::File)?;
        match list.found {
            Found::Unchanged => reloaded.unchanged += 1,
            Found::Unusable(error) => {
                let kept = self.blocklist.lists().get(id).targets;
                reloaded.warnings.push(format!("list {} keeps its {kept} targets: {error}", list.name));
                self.unusable.insert(list.name, error);
            }
            Found::Read(file, stamp) => {
                self.unusable.remove(&list.name);
                self.replace(id, &file.targets, reloaded)?;
                info!("list {}: {} targets", list.name, file.targets.len());
                warn_of_rejected(&list.name, &file, &mut reloaded.warnings);
                self.rejected.insert(list.name, file.rejected_count);
                stamp.into_iter().for_each(|stamp| _ = self.stamps.insert(path.clone(), stamp));
            }
        }
        Ok(())
    }

    fn replace(&mut self, list: ListId, targets: &Targets, reloaded: &mut Reloaded) -> Result<(), KernelError> {
        let effects = self.blocklist.replace(list, targets, Moment::now());
        self.carry_out_of_reload(&effects, reloaded)
    }

    fn carry_out_of_reload(&mut self, effects: &Effects, reloaded: &mut Reloaded) -> Result<(), KernelError> {
        reloaded.entered += effects.entered.len() as u64;
        reloaded.left += effects.left.len() as u64;
        self.table.carry_out(effects, &self.blocklist)
    }

    /// File lists that the configuration no longer names.
    fn lists_gone(&self, loaded: &[LoadedList]) -> Vec<ListId> {
        let lists = self.blocklist.lists().iter();
        let gone = lists.filter(|(_, list)| list.kind == Kind::File && loaded.iter().all(|named| *named.name != *list.name));
        gone.map(|(id, _)| id).collect()
    }

    fn list(&mut self, name: &str, kind: Kind) -> Result<ListId, DaemonError> {
        self.blocklist.lists_mut().get_or_make(name, kind).map_err(|_| DaemonError::TooManyLists)
    }
}

fn targets(list: &LoadedList) -> impl Iterator<Item = filter_common::target::Target> + '_ {
    let file = match &list.found {
        Found::Read(file, _) => Some(file),
        Found::Unchanged | Found::Unusable(_) => None,
    };
    file.into_iter().flat_map(|file| file.targets.iter())
}

/// The first lines that were not understood, and how many there were.
fn warn_of_rejected(name: &str, file: &crate::source::ListFile, warnings: &mut Vec<String>) {
    const TOLD: usize = 5;
    if file.rejected_count == 0 {
        return;
    }
    warnings.push(format!("list {name}: {} lines were not understood, and skipped", file.rejected_count));
    warnings.extend(file.rejected.iter().take(TOLD).map(ToString::to_string));
}
