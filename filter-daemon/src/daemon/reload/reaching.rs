//! Changes how far lists widen their IPv6 entries. First all entries reach both as far as before and as far
//! as required. A grace period later they reach only as far as required. Thus what is blocked before and
//! after is blocked in between as well.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::blocklist::{Blocklist, Change, ListId, ListRegistry, Polarity, Reach};
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
    pub fn live(live: &[LiveList], lists: &mut ListRegistry) -> Self {
        let reaches =
            live.iter().map(|list| (list.name.as_str().into(), Reach::to(list.ipv6_prefix))).collect();
        let live_before = Some(lists.set_live_reaches(reaches));
        let mut this = Self { lists: Vec::new(), live_before };
        let all: Vec<_> =
            lists.live(Polarity::Block).map(|id| (id, lists.live_reach(&lists.get(id).name))).collect();
        all.into_iter().for_each(|(id, reach)| this.begin(id, reach, lists));
        this
    }

    /// Begins to change the reach of this list.
    pub fn begin(&mut self, id: ListId, reach: Reach, lists: &mut ListRegistry) {
        let before = lists.get(id).reach;
        if before != reach {
            lists.set_reach(id, before.becoming(reach.length()));
            self.lists.push((id, before));
        }
    }

    /// The next of these lists that still exists, from this index on, with its index.
    pub fn next(&self, from: usize, lists: &ListRegistry) -> Option<(usize, ListId)> {
        let mut all = self.lists.iter().enumerate().skip(from);
        all.find(|(_, (id, _))| lists.has(*id)).map(|(at, (id, _))| (at, *id))
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
    pub fn settle(&self, lists: &mut ListRegistry) {
        for (id, _) in self.lists.iter().filter(|(id, _)| lists.has(*id)).collect::<Vec<_>>() {
            lists.set_reach(*id, lists.get(*id).reach.settled());
        }
    }

    /// Resets their reach. Returns the live lists whose entries must follow, because some may have been added
    /// meanwhile.
    pub fn give_back(&mut self, lists: &mut ListRegistry) -> Vec<ListId> {
        let is_none = self.lists.is_empty();
        for (id, before) in self.lists.drain(..).filter(|(id, _)| lists.has(*id)).collect::<Vec<_>>() {
            lists.set_reach(id, before);
        }
        let Some(before) = self.live_before.take() else { return Vec::new() };
        if lists.set_live_reaches(before.clone()) == before && is_none {
            return Vec::new();
        }
        // This includes lists that were added meanwhile.
        let live: Vec<_> = lists.live(Polarity::Block).collect();
        live.iter().for_each(|id| lists.set_reach(*id, lists.live_reach(&lists.get(*id).name)));
        live
    }

    /// The changes for all entries that do not reach as far as their list.
    pub fn all_anew(&self, blocklist: &Blocklist) -> Vec<Change> {
        let ids = self.lists.iter().map(|(id, _)| *id).filter(|id| blocklist.lists().has(*id));
        ids.flat_map(|id| anew(id, blocklist)).collect()
    }
}

/// All entries of the list that do not reach as far as it does, in pages.
pub fn anew(id: ListId, blocklist: &Blocklist) -> Vec<Change> {
    let (mut pages, mut after) = (Vec::new(), None);
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
