//! When each entry that a reload on trial lets go, or gives another time, was to end. The copies say of a list from when all of
//! it counts; what has come onto it earlier or later, or was over already though it was named still, only who tries it knows.

use std::collections::HashMap;
use std::sync::Arc;

use filter_common::target::Target;

use super::aside;
use crate::blocklist::{Claim, EntryTimes, ListId, PAGE, Targets, TimedTargets, Timestamp, Undo};

/// Of lists with an end, by the names that they had before.
#[derive(Debug, Default)]
pub struct Expiries {
    lists: HashMap<Arc<str>, ListExpiries>,
}

/// What is known of one.
#[derive(Debug, Default)]
struct ListExpiries {
    /// What was on it.
    runs: Vec<TimedTargets>,
    /// What was not, and is.
    come: Vec<Targets>,
}

/// Some entries that are put back, and how far that is.
pub struct ExpiryPage {
    pub since: Timestamp,
    pub until: Option<Timestamp>,
    pub targets: Targets,
    pub next: usize,
}

impl Expiries {
    /// What these pages did to these lists: the latest first.
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

    /// What the copies of these lists tell.
    pub fn copied(lists: impl IntoIterator<Item = (Arc<str>, EntryTimes)>) -> Self {
        let known = |EntryTimes { runs, spent }| ListExpiries { runs, come: vec![spent] };
        Self { lists: lists.into_iter().map(|(name, times)| (name, known(times))).collect() }
    }

    /// Is it known of this list when each of its entries was to end?
    pub fn know(&self, list: &str) -> bool {
        self.lists.contains_key(list)
    }

    /// Was this not on the list before, be it that it was over?
    pub fn has_come(&self, list: &str, target: Target) -> bool {
        self.lists.get(list).is_some_and(|known| known.come.iter().any(|come| come.contains(target)))
    }

    /// A page of those of this list that are to be put back, and that it `names` still, from this one on.
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
