//! Changes how far lists widen their IPv6 entries. First all entries reach both as far as before and as far
//! as required. A grace period later they reach only as far as required. Thus what is blocked before and
//! after is blocked in between as well.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::blocklist::{Blocklist, Change, ListChange, ListId, ListRegistry, Polarity, Reach};
use crate::clock;
use crate::config::LiveList;
use crate::kernel::Needs;

/// The lists that change their reach.
#[derive(Default)]
pub struct ReachChanges {
    /// With their earlier reach.
    lists: Vec<(ListId, Reach)>,
    /// The earlier reach of live lists, by name.
    live_before: Option<BTreeMap<Arc<str>, Reach>>,
}

impl ReachChanges {
    /// Sets the reach of live lists as the configuration says.
    pub fn live(live: &[LiveList], blocklist: &mut Blocklist) -> Self {
        let reaches =
            live.iter().map(|list| (list.name.as_str().into(), Reach::to(list.ipv6_prefix))).collect();
        let live_before = Some(blocklist.lists().live_reaches().clone());
        ListChange::LiveReaches(reaches).apply_to(blocklist, clock::now());
        let mut this = Self { lists: Vec::new(), live_before };
        let reaches = live_reaches(blocklist.lists());
        reaches.into_iter().for_each(|(id, reach)| this.begin(id, reach, blocklist));
        this
    }

    /// Begins to change the reach of this list.
    pub fn begin(&mut self, id: ListId, reach: Reach, blocklist: &mut Blocklist) {
        let before = blocklist.lists().get(id).reach;
        if before != reach {
            ListChange::Reach(id, before.becoming(reach.length())).apply_to(blocklist, clock::now());
            self.lists.push((id, before));
        }
    }

    /// These lists. Some may not exist any more.
    pub fn lists(&self) -> Vec<ListId> {
        self.lists.iter().map(|(id, _)| *id).collect()
    }

    /// Whether no list changes its reach.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Adds the capacity for all that they will block. Each entry counts by itself, as if no two shared a
    /// prefix.
    pub fn add_needs(&self, needs: &mut Needs, lists: &ListRegistry) {
        for (id, _) in self.lists.iter().filter(|(id, _)| lists.has(*id)) {
            let list = lists.get(*id);
            for set in list.sets() {
                let needs = &mut needs[set];
                needs.levels = true;
                needs.six += list.entries;
                needs.lengths.insert(list.reach.length());
            }
        }
    }

    /// Limits their reach to what is required.
    pub fn settle(&self, blocklist: &mut Blocklist) {
        for (id, _) in &self.lists {
            if blocklist.lists().has(*id) {
                let reach = blocklist.lists().get(*id).reach.settled();
                ListChange::Reach(*id, reach).apply_to(blocklist, clock::now());
            }
        }
    }

    /// Resets their reach. Returns the live lists whose entries must follow, because some may have been added
    /// meanwhile.
    pub fn give_back(&mut self, blocklist: &mut Blocklist) -> Vec<ListId> {
        let now = clock::now();
        let is_none = self.lists.is_empty();
        for (id, before) in self.lists.drain(..) {
            if blocklist.lists().has(id) {
                ListChange::Reach(id, before).apply_to(blocklist, now);
            }
        }
        let Some(before) = self.live_before.take() else { return Vec::new() };
        let is_same = *blocklist.lists().live_reaches() == before;
        ListChange::LiveReaches(before).apply_to(blocklist, now);
        if is_same && is_none {
            return Vec::new();
        }
        // This includes lists that were added meanwhile.
        let live = live_reaches(blocklist.lists());
        live.iter().for_each(|(id, reach)| ListChange::Reach(*id, *reach).apply_to(blocklist, now));
        live.into_iter().map(|(id, _)| id).collect()
    }

    /// The changes for all entries that do not reach as far as their list.
    pub fn all_anew(&self, blocklist: &Blocklist) -> Vec<Change> {
        self.lists.iter().flat_map(|(id, _)| anew(*id, blocklist)).collect()
    }
}

/// How far each live list that blocks reaches by its name.
fn live_reaches(lists: &ListRegistry) -> Vec<(ListId, Reach)> {
    lists.live(Polarity::Block).map(|id| (id, lists.live_reach(&lists.get(id).name))).collect()
}

/// All entries of the list, if it still exists, that do not reach as far as it does, in pages.
pub fn anew(id: ListId, blocklist: &Blocklist) -> Vec<Change> {
    let (mut pages, mut after) = (Vec::new(), None);
    if !blocklist.lists().has(id) {
        return pages;
    }
    loop {
        let (targets, next) = blocklist.to_reach_anew(id, after, |_| true);
        if !targets.is_empty() {
            pages.push(Change::Reach { list: blocklist.lists().get(id).name.clone(), targets });
        }
        match next {
            Some(_) => after = next,
            None => return pages,
        }
    }
}
