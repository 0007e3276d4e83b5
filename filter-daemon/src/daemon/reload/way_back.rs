//! The previous configuration during a trial: its text in memory, and the copies of its lists as open files.
//! A rollback therefore works even if the state directory is lost. The next start has only the files there.

use std::collections::HashSet;
use std::sync::Arc;

use super::matching::KnownList;
use super::sources::ListSources;
use crate::blocklist::EntryTimes;
use crate::plan::Continued;
use crate::source::reading::{AcceptedSource, SourceReading, SourceStamp};
use crate::source::{ListFile, ReadOptions};
use crate::state::{ConfigText, CopyError, Generation, GenerationName, HeldCopy, StateStore};

/// The limit of copies held open: half of the usual limit of open files for a process. Other copies are read
/// from their paths.
const MOST: usize = 512;

/// The configuration and lists that a rollback restores.
#[derive(Debug)]
pub struct WayBack {
    /// The current generation, as its manifest says.
    current: Option<Generation>,
    text: Option<ConfigText>,
    held: Vec<HeldList>,
    /// The lists that had entries in force, if known. All other lists had none.
    loaded: Option<HashSet<Arc<str>>>,
}

/// The open copy of a list.
#[derive(Debug)]
struct HeldList {
    held: HeldCopy,
    /// The stamp of its file when it was read last.
    stamp: Option<SourceStamp>,
}

impl WayBack {
    /// Keeps this configuration and the copies of these lists open. Lists without a copy had nothing in
    /// force, nor had any other list if these `are_all`. After a start a copy may have been lost.
    pub fn hold<'a>(
        text: Option<ConfigText>,
        lists: impl Iterator<Item = (&'a Arc<str>, &'a SourceReading)>,
        store: &StateStore,
        are_all: bool,
    ) -> Self {
        let loaded: Vec<_> =
            lists.filter_map(|(name, list)| Some((name, list.accepted.as_ref()?, list.stamp))).collect();
        let held = loaded.iter().filter_map(|(_, accepted, stamp)| {
            // The copy stays valid for a file that was written anew with the same contents.
            let stamp = stamp.or(accepted.stamp);
            Some(HeldList { held: store.hold(accepted).ok()?, stamp })
        });
        let held = held.take(MOST).collect();
        let loaded = are_all.then(|| loaded.into_iter().map(|(name, ..)| name.clone()).collect());
        let current = store.read(GenerationName::Current).generation();
        Self { current, text, held, loaded }
    }

    /// Whether this list had nothing in force.
    pub fn has_nothing_of(&self, list: &str) -> bool {
        self.loaded.as_ref().is_some_and(|loaded| !loaded.contains(list))
    }

    /// The lists whose saved records have another stamp than the file that was read last, with the latter.
    pub fn of_files_unknown(&self) -> Vec<AcceptedSource> {
        let saved = |one: &HeldList| Some(self.current.as_ref()?.record(one.held.accepted())?.stamp);
        let others = self.held.iter().filter(|one| saved(one).is_some_and(|stamp| stamp != one.stamp));
        others.map(|one| AcceptedSource { stamp: one.stamp, ..one.held.accepted().clone() }).collect()
    }

    /// Writes copies that are gone again, for the next start.
    pub fn put_back(&self, store: &StateStore) {
        for HeldList { held, .. } in &self.held {
            if let Err(error) = store.put_back(held) {
                let name = &held.accepted().name;
                tracing::error!("list \"{name}\": its copy is missing and cannot be written: {error}");
            }
        }
        let put_back =
            self.current.as_ref().map_or(Ok(()), |current| store.put_back_current(current, self.text()));
        if let Err(error) = put_back {
            tracing::error!("the copy of the configuration is missing and cannot be written: {error}");
        }
    }

    /// The text of the configuration.
    pub fn text(&self) -> Option<&ConfigText> {
        self.text.as_ref()
    }

    /// The lists that have a copy: first those held open, then those in the state directory.
    pub fn known(&self, sources: &mut ListSources) -> Vec<KnownList> {
        let held = self.held.iter().map(|HeldList { held, stamp }| KnownList {
            meaning: held.accepted().meaning,
            continues: Continued::New,
            name: held.accepted().name.clone(),
            entries: held.accepted().entries,
            reading: SourceReading {
                path: held.accepted().path.clone(),
                accepted: Some(held.accepted().clone()),
                stamp: *stamp,
                ..SourceReading::default()
            },
        });
        let mut known: Vec<_> = held.collect();
        known.extend(sources.known());
        known
    }

    /// Reads the list in this copy, if it is held open.
    pub fn read(&self, accepted: &AcceptedSource, how: &ReadOptions) -> Option<Result<ListFile, CopyError>> {
        Some(self.held(accepted)?.read(how))
    }

    /// Reads the times of the entries in this copy, if it is held open.
    pub fn times(&self, accepted: &AcceptedSource) -> Option<Result<Option<EntryTimes>, CopyError>> {
        Some(self.held(accepted)?.times())
    }

    fn held(&self, accepted: &AcceptedSource) -> Option<&HeldCopy> {
        self.held.iter().map(|one| &one.held).find(|held| held.accepted() == accepted)
    }
}
