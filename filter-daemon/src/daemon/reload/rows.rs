//! The lists that a new configuration names get their rows before anything enters, and give them back if it is refused:
//! a name that the configuration uses is nobody else's, however empty its list is.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::load::{Found, Loaded, LoadedList};
use crate::blocklist::{Blocklist, CONFIG_LIST, ListId, Origin, Targets, Timestamp};
use crate::clock;
use crate::control::wire::reload::Reply as Reloaded;
use crate::daemon::error::DaemonError;
use crate::source::ListFile;

/// What a configuration makes of the lists.
pub struct Rows {
    /// What is to be on each list from now on; lists that are as they were are not among them.
    pub contents: Vec<(ListId, Targets)>,
    /// Lists that the configuration no longer names.
    pub gone: Vec<ListId>,
    found: Vec<FoundList>,
    made: Vec<ListId>,
    names_before: Vec<(ListId, Arc<str>)>,
}

/// How the file of a list was found; its targets are among the contents.
struct FoundList {
    id: ListId,
    path: PathBuf,
    found: Found,
}

impl Rows {
    /// Makes rows for new lists, and gives renamed ones their names.
    pub fn take(loaded: &mut Loaded, blocklist: &mut Blocklist) -> Result<Self, DaemonError> {
        must_not_be_live(&loaded.lists, blocklist)?;
        let continued: HashSet<ListId> = loaded.lists.iter().filter_map(|list| list.before).collect();
        let rows = blocklist.lists().iter();
        let gone: Vec<ListId> = rows
            .filter(|(id, list)| list.origin == Origin::File && !continued.contains(id))
            .map(|(id, _)| id)
            .collect();
        let lists = blocklist.lists_mut();
        let config = match lists.find(CONFIG_LIST) {
            Some(config) => config,
            None => lists.make_anyway(CONFIG_LIST, Origin::Config)?,
        };
        let name_of = |id: &ListId| (*id, lists.get(*id).name.clone());
        let names_before: Vec<_> = continued.iter().chain(&gone).map(name_of).collect();
        let renamed: Vec<(ListId, Arc<str>)> =
            loaded.lists.iter().filter_map(|list| Some((list.before?, list.name.clone()))).collect();
        // What is gone must not stand in the way of a new list of its name.
        let parted = gone.iter().map(|id| (*id, format!("{} (removed)", lists.get(*id).name).into()));
        lists.rename(renamed.into_iter().chain(parted).collect::<Vec<_>>());
        let mut this = Self {
            contents: vec![(config, std::mem::take(&mut loaded.block))],
            gone,
            found: Vec::new(),
            made: Vec::new(),
            names_before,
        };
        for list in loaded.lists.drain(..) {
            this.take_list(list, blocklist)?;
        }
        Ok(this)
    }

    fn take_list(&mut self, list: LoadedList, blocklist: &mut Blocklist) -> Result<(), DaemonError> {
        let LoadedList { name, path, before, mut found } = list;
        let id = match before {
            Some(id) => id,
            None => {
                let id = blocklist.lists_mut().make_anyway(&name, Origin::File)?;
                self.made.push(id);
                id
            }
        };
        if let Found::Read(file, _) = &mut found {
            self.contents.push((id, std::mem::take(&mut file.targets)));
        }
        self.found.push(FoundList { id, path, found });
        Ok(())
    }

    /// Lists are called what they were called before, and those that were made are forgotten. Nothing is on them.
    pub fn give_back(self, blocklist: &mut Blocklist) {
        let lists = blocklist.lists_mut();
        self.made.into_iter().for_each(|id| lists.forget(id));
        lists.rename(self.names_before);
    }

    /// Remembers how each file was found, forgets the lists that are gone, and tells what the operator should know.
    pub fn settle(self, blocklist: &mut Blocklist, reloaded: &mut Reloaded) {
        for id in self.gone {
            blocklist.lists_mut().forget(id);
        }
        let now = clock::now();
        for FoundList { id, path, found } in self.found {
            note(blocklist, id, path, found, now, reloaded);
        }
    }
}

fn note(
    blocklist: &mut Blocklist,
    id: ListId,
    path: PathBuf,
    found: Found,
    now: Timestamp,
    reloaded: &mut Reloaded,
) {
    let (name, entries) = {
        let list = blocklist.lists().get(id);
        (list.name.clone(), list.entries)
    };
    let reading = blocklist.lists_mut().reading_mut(id);
    match found {
        Found::Unchanged => reloaded.unchanged += 1,
        Found::Unusable(error) => {
            reloaded.warnings.push(format!("list {name} keeps its {entries} entries: {error}"));
            reading.error = Some(error);
            // The next reload is to read it again, and to know it by its path.
            reading.path = path;
            reading.stamp = None;
        }
        Found::Read(file, stamp) => {
            tracing::info!("list {name}: {entries} entries");
            warn_of_rejected(&name, &file, &mut reloaded.warnings);
            reading.path = path;
            reading.stamp = stamp;
            reading.at = Some(now);
            reading.rejected = file.rejected_count;
            reading.error = None;
        }
    }
}

/// A live list with entries on it keeps its name.
fn must_not_be_live(lists: &[LoadedList], blocklist: &Blocklist) -> Result<(), DaemonError> {
    let rows = blocklist.lists();
    let found = lists.iter().filter_map(|list| rows.find(&list.name)).map(|id| rows.get(id));
    let live = found.filter(|list| list.origin.is_live()).find(|list| list.entries > 0);
    live.map_or(Ok(()), |list| {
        Err(DaemonError::ListIsLive { name: list.name.to_string(), entries: list.entries })
    })
}

/// The first lines that were not understood, and how many there were.
fn warn_of_rejected(name: &str, file: &ListFile, warnings: &mut Vec<String>) {
    const TOLD: usize = 5;
    match file.rejected_count {
        0 => return,
        1 => warnings.push(format!("list {name}: 1 line was not understood, and skipped")),
        count => warnings.push(format!("list {name}: {count} lines were not understood, and skipped")),
    }
    warnings.extend(file.rejected.iter().take(TOLD).map(ToString::to_string));
}
