//! What was in force before a trial, in the hands of the filterd that tries: the text of its configuration, and the copies of
//! its lists as open files. So it can be put back whatever becomes of the state directory meanwhile. The next start finds only
//! what lies there.

use std::collections::HashSet;
use std::sync::Arc;

use super::matching::KnownList;
use super::sources::ListSources;
use crate::blocklist::{AcceptedSource, EntryTimes, SourceReading, SourceStamp};
use crate::source::copies::{CopyError, HeldCopy};
use crate::source::{Copies, ListFile, ReadOptions};

/// Copies that are held open: half of the files that a process may have open where nobody has said more. Others are read
/// where they lie.
const MOST: usize = 512;

/// What is to be put back.
#[derive(Debug)]
pub struct WayBack {
    text: Option<String>,
    held: Vec<HeldList>,
    /// The lists of which something was in force, if that is known: of all others there was nothing.
    loaded: Option<HashSet<Arc<str>>>,
}

/// A list's.
#[derive(Debug)]
struct HeldList {
    held: HeldCopy,
    /// What its file was when it was read last.
    stamp: Option<SourceStamp>,
}

impl WayBack {
    /// Takes this configuration, and the copies of these lists, in hand. Of those without one nothing is in force, nor of any
    /// other list if these `are_all`; after a start a copy may have been lost.
    pub fn hold<'a>(
        text: Option<String>,
        lists: impl Iterator<Item = (&'a Arc<str>, &'a SourceReading)>,
        copies: &Copies,
        are_all: bool,
    ) -> Self {
        let loaded: Vec<_> =
            lists.filter_map(|(name, list)| Some((name, list.accepted.as_ref()?, list.stamp))).collect();
        let held = loaded.iter().filter_map(|(_, accepted, stamp)| {
            // A file that was written anew with the same in it has its old copy.
            let stamp = stamp.or(accepted.stamp);
            Some(HeldList { held: copies.hold(accepted).ok()?, stamp })
        });
        let held = held.take(MOST).collect();
        let loaded = are_all.then(|| loaded.into_iter().map(|(name, ..)| name.clone()).collect());
        Self { text, held, loaded }
    }

    /// Was nothing of this list in force?
    pub fn has_nothing_of(&self, list: &str) -> bool {
        self.loaded.as_ref().is_some_and(|loaded| !loaded.contains(list))
    }

    /// The copies that know another file, with the one that was read last.
    pub fn of_files_unknown(&self) -> Vec<AcceptedSource> {
        let others = self.held.iter().filter(|one| one.stamp != one.held.accepted().stamp);
        others.map(|one| AcceptedSource { stamp: one.stamp, ..one.held.accepted().clone() }).collect()
    }

    /// Makes copies anew that are gone, for whoever starts next.
    pub fn put_back(&self, copies: &Copies) {
        for HeldList { held, .. } in &self.held {
            if let Err(error) = copies.put_back(held) {
                tracing::error!(
                    "list \"{}\": its copy is missing and cannot be written: {error}",
                    held.accepted().name
                );
            }
        }
    }

    /// The configuration's text.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The lists of which there is a copy: those in hand, and then what lies in the state directory.
    pub fn known(&self, sources: &mut ListSources) -> Vec<KnownList> {
        let held = self.held.iter().map(|HeldList { held, stamp }| KnownList {
            meaning: held.accepted().meaning,
            id: None,
            turned: None,
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

    /// What the copy of this says, if it is in hand.
    pub fn read(&self, accepted: &AcceptedSource, how: &ReadOptions) -> Option<Result<ListFile, CopyError>> {
        Some(self.held(accepted)?.read(how))
    }

    /// What the copy of this says of when its entries came, and end, if it is in hand.
    pub fn times(&self, accepted: &AcceptedSource) -> Option<Result<Option<EntryTimes>, CopyError>> {
        Some(self.held(accepted)?.times())
    }

    fn held(&self, accepted: &AcceptedSource) -> Option<&HeldCopy> {
        self.held.iter().map(|one| &one.held).find(|held| held.accepted() == accepted)
    }
}
