//! Adds, page by page, the entries that a reload allows or blocks, and extends existing entries to the reach
//! that their list has now.

use filter_common::target::Target;

use super::{ReloadStage, RunningReload};
use crate::blocklist::{Change, Polarity};
use crate::daemon::commit::Protection;
use crate::daemon::pages::{OwnerParts, Turn};

impl RunningReload {
    pub(super) fn enter(
        &mut self,
        polarity: Polarity,
        list: usize,
        from: usize,
        parts: &mut OwnerParts<'_>,
    ) -> (ReloadStage, Turn) {
        let blocklist = parts.protection.blocklist();
        let Some((id, _)) = self.rows.contents.get(list) else {
            let next = match polarity {
                Polarity::Allow => ReloadStage::Loosened(parts.protection.latest().loosened),
                Polarity::Block => ReloadStage::Reach { list: 0, after: None },
            };
            return (next, Turn::More);
        };
        let (id, row) = (*id, blocklist.lists().get(*id));
        let (is_meant, sets, reach) = (row.polarity == polarity, row.sets(), row.reach);
        let page = if is_meant { self.rows.entering(list, from, blocklist) } else { None };
        let Some(page) = page else {
            return (ReloadStage::Enter { polarity, list: list + 1, from: 0 }, Turn::More);
        };
        if !parts.capacity.has_room(parts.protection, sets, &reach.all_of(&page.targets())) {
            return (ReloadStage::Enter { polarity, list, from }, Turn::Wait);
        }
        let mut next = ReloadStage::Enter { polarity, list, from: page.next };
        for run in page.runs.into_iter().filter(|run| !run.targets.is_empty()) {
            let (since, want) = (run.since, self.rows.want(id, run, parts.protection.blocklist()));
            next = self.commit_as_of(since, want, next, parts.protection);
            if let ReloadStage::Undo(_) = next {
                break;
            }
        }
        (next, Turn::More)
    }

    /// Extends existing entries to the reach of their list, page by page. This runs before entries leave
    /// (`ReloadStage::Reach`), and again after the grace period (`ReloadStage::Settle`).
    pub(super) fn reach(
        &mut self,
        (list, after): (usize, Option<Target>),
        again: impl Fn(usize, Option<Target>) -> ReloadStage,
        then: impl FnOnce(&Self, &Protection) -> ReloadStage,
        parts: &mut OwnerParts<'_>,
    ) -> (ReloadStage, Turn) {
        let lists = parts.protection.blocklist().lists();
        let Some((at, id)) = self.rows.reaching.next(list, lists) else {
            return (then(self, parts.protection), Turn::More);
        };
        let after = after.filter(|_| at == list);
        let row = lists.get(id);
        let (name, sets, reach) = (row.name.clone(), row.sets(), row.reach);
        // Entries that are about to leave keep their reach: neither configuration blocks the prefixes around
        // them.
        let contents = self.rows.contents.iter().find(|(with_contents, _)| *with_contents == id);
        let stays = |target| contents.is_none_or(|(_, targets)| targets.contains(target));
        let (page, next) = parts.protection.blocklist().to_reach_anew(id, after, stays);
        if !parts.capacity.has_room(parts.protection, sets, &reach.all_of(&page)) {
            return (again(at, after), Turn::Wait);
        }
        let next = if next.is_some() { again(at, next) } else { again(at + 1, None) };
        if page.is_empty() {
            return (next, Turn::More);
        }
        (self.commit(Change::Reach { list: name, targets: page }, next, parts.protection), Turn::More)
    }
}
