//! Lists that are to widen what they want of IPv6 otherwise than before: first all of it reaches both as far as it did and as
//! far as it is to, then, a grace period later, only as far as it is to. So what is blocked before and after is blocked in
//! between, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::blocklist::{Blocklist, Change, ListId, ListRegistry, Polarity, Reach};
use crate::config::LiveList;
use crate::kernel::Needs;

/// Which they are.
#[derive(Default)]
pub struct ReachChanges {
    /// With how far they reached before.
    lists: Vec<(ListId, Reach)>,
    /// How far live lists reached by their names.
    live_before: Option<BTreeMap<Arc<str>, Reach>>,
}

impl ReachChanges {
    /// Live lists reach as far as this says.
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

    /// This list is to reach so far.
    pub fn begin(&mut self, id: ListId, reach: Reach, lists: &mut ListRegistry) {
        let before = lists.get(id).reach;
        if before != reach {
            lists.set_reach(id, before.becoming(reach.length()));
            self.lists.push((id, before));
        }
    }

    /// The list of this number among them that is still there, with all behind it.
    pub fn next(&self, from: usize, lists: &ListRegistry) -> Option<(usize, ListId)> {
        let mut all = self.lists.iter().enumerate().skip(from);
        all.find(|(_, (id, _))| lists.has(*id)).map(|(at, (id, _))| (at, *id))
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Room for all that they are to block, too: each entry by itself, as if no two were to share a prefix.
    pub fn add_needs(&self, needs: &mut Needs, lists: &ListRegistry) {
        for (id, _) in self.lists.iter().filter(|(id, _)| lists.has(*id)) {
            let list = lists.get(*id);
            let needs = &mut needs[list.set()];
            needs.levels = true;
            needs.six += list.entries;
            needs.lengths.insert(list.reach.length());
        }
    }

    /// From now on they reach only as far as they are to.
    pub fn settle(&self, lists: &mut ListRegistry) {
        for (id, _) in self.lists.iter().filter(|(id, _)| lists.has(*id)).collect::<Vec<_>>() {
            lists.set_reach(*id, lists.get(*id).reach.settled());
        }
    }

    /// They reach as far as they did before. Tells which live ones: what came onto them meanwhile is to reach so far, too.
    pub fn give_back(&mut self, lists: &mut ListRegistry) -> Vec<ListId> {
        let is_none = self.lists.is_empty();
        for (id, before) in self.lists.drain(..).filter(|(id, _)| lists.has(*id)).collect::<Vec<_>>() {
            lists.set_reach(id, before);
        }
        let Some(before) = self.live_before.take() else { return Vec::new() };
        if lists.set_live_reaches(before.clone()) == before && is_none {
            return Vec::new();
        }
        // Lists that have come meanwhile, too.
        let live: Vec<_> = lists.live(Polarity::Block).collect();
        live.iter().for_each(|id| lists.set_reach(*id, lists.live_reach(&lists.get(*id).name)));
        live
    }

    /// Each with all of its entries that do not reach as far as the list does.
    pub fn all_anew(&self, blocklist: &Blocklist) -> Vec<Change> {
        let ids = self.lists.iter().map(|(id, _)| *id).filter(|id| blocklist.lists().has(*id));
        ids.flat_map(|id| anew(id, blocklist)).collect()
    }
}

/// All of the list's entries that do not reach as far as it does, in pages.
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
