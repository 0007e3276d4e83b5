//! When each entry that a reload on trial removes, or gives another time, would have expired. The copy of a
//! list only knows from when all of it counts. Entries that came earlier or later, or had expired although
//! still named, are known only to the filterd that tries the reload.

use std::collections::HashMap;
use std::sync::Arc;

use filter_common::target::Target;

use super::aside;
use crate::blocklist::{Claim, EntryTimes, ListId, PAGE, Targets, TimedTargets, Timestamp, Undo};

/// Keyed by the previous names of lists whose entries expire.
#[derive(Debug, Default)]
pub struct Expiries {
    lists: HashMap<Arc<str>, ListExpiries>,
}

/// The expiries of one list.
#[derive(Debug, Default)]
struct ListExpiries {
    /// The entries that were on the list.
    runs: Vec<TimedTargets>,
    /// The entries that were not on it and are now.
    come: Vec<Targets>,
}

/// Some entries to restore, and where the next page begins.
pub struct ExpiryPage {
    pub since: Timestamp,
    pub until: Option<Timestamp>,
    pub targets: Targets,
    pub next: usize,
}

impl Expiries {
    /// Collects what these pages, the latest first, did to these lists.
    pub fn of(pages: impl Iterator<Item = Undo>, lists: &[(ListId, Arc<str>)]) -> Self {
        let mut this =
            Self { lists: lists.iter().map(|(_, name)| (name.clone(), ListExpiries::default())).collect() };
        let names: HashMap<ListId, &Arc<str>> = lists.iter().map(|(id, name)| (*id, name)).collect();
        let mut others = Vec::new();
        for (list, before, targets) in pages.flat_map(Undo::into_claims) {
            match (names.get(&list).and_then(|name| this.lists.get_mut(*name)), before) {
                (None, _) => others.push(targets),
                (Some(known), None) => known.come.push(targets),
                (Some(known), Some(Claim { since, until, .. })) => {
                    known.runs.push(TimedTargets { since, until, targets });
                }
            }
        }
        aside(others);
        this
    }

    /// Reads the times from the copies of these lists.
    pub fn copied(lists: impl IntoIterator<Item = (Arc<str>, EntryTimes)>) -> Self {
        let known = |EntryTimes { runs, spent }| ListExpiries { runs, come: vec![spent] };
        Self { lists: lists.into_iter().map(|(name, times)| (name, known(times))).collect() }
    }

    /// Whether the expiries of this list are known.
    pub fn know(&self, list: &str) -> bool {
        self.lists.contains_key(list)
    }

    /// Whether this entry was missing before, or expired.
    pub fn has_come(&self, list: &str, target: Target) -> bool {
        self.lists.get(list).is_some_and(|known| known.come.iter().any(|come| come.contains(target)))
    }

    /// The next page of entries to restore that the list still `names`, from this position on.
    pub fn page(&self, list: &str, mut from: usize, names: &Targets) -> Option<ExpiryPage> {
        let mut before = 0;
        for TimedTargets { since, until, targets } in &self.lists.get(list)?.runs {
            if from < before + targets.len() {
                let page = targets.page(from - before, PAGE);
                from += page.len();
                let targets = page.iter().filter(|target| names.contains(*target)).collect();
                return Some(ExpiryPage { since: *since, until: *until, targets, next: from });
            }
            before += targets.len();
        }
        None
    }
}
