//! Adds, page by page, the entries that a reload allows or blocks, and extends existing entries to the reach
//! that their list has now.

use filter_common::target::Target;

use super::{ReloadStage, RunningReload, ends};
use crate::blocklist::{Change, ListId, PAGE, Polarity, Targets, Want};
use crate::clock;
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
        let Some((id, targets)) = self.rows.contents.get(list) else {
            let next = match polarity {
                Polarity::Allow => ReloadStage::Loosened(parts.protection.latest().loosened),
                Polarity::Block => ReloadStage::Reach { list: 0, after: None },
            };
            return (next, Turn::More);
        };
        let row = parts.protection.blocklist().lists().get(*id);
        let (is_meant, sets, reach) = (row.polarity == polarity, row.sets(), row.reach);
        if let Some(ends) = self.rows.ends(&row.name).filter(|_| is_meant) {
            let Some(page) = ends.page(&row.name, from, targets) else {
                return (ReloadStage::Enter { polarity, list: list + 1, from: 0 }, Turn::More);
            };
            return self.put_back(*id, page, (polarity, list, from), parts);
        }
        let page = if is_meant { targets.page(from, PAGE) } else { Targets::default() };
        if page.is_empty() {
            return (ReloadStage::Enter { polarity, list: list + 1, from: 0 }, Turn::More);
        }
        if !parts.capacity.has_room(parts.protection, sets, &reach.all_of(&page)) {
            return (ReloadStage::Enter { polarity, list, from }, Turn::Wait);
        }
        if let Some(turned) = self.rows.turned(*id) {
            return (
                self.keep_times((*id, turned), &page, (polarity, list, from), parts.protection),
                Turn::More,
            );
        }
        let next = ReloadStage::Enter { polarity, list, from: from + page.len() };
        let since = self.rows.since(*id);
        let change = self.want(*id, page, parts.protection.blocklist());
        (self.commit_as_of(since, change, next, parts.protection), Turn::More)
    }

    /// Restores entries of this list with their earlier times. An existing entry with its own time has not
    /// changed.
    fn put_back(
        &mut self,
        id: ListId,
        page: ends::ExpiryPage,
        (polarity, list, from): (Polarity, usize, usize),
        parts: &mut OwnerParts<'_>,
    ) -> (ReloadStage, Turn) {
        let blocklist = parts.protection.blocklist();
        let row = blocklist.lists().get(id);
        let (name, origin, sets, reach) = (row.name.clone(), row.origin, row.sets(), row.reach);
        // An expired entry is not added again. If it still exists, it expires at once.
        let is_over = page.until.is_some_and(|until| until <= clock::now());
        let targets = if is_over { blocklist.there_on(id, &page.targets) } else { page.targets };
        if !parts.capacity.has_room(parts.protection, sets, &reach.all_of(&targets)) {
            return (ReloadStage::Enter { polarity, list, from }, Turn::Wait);
        }
        let next = ReloadStage::Enter { polarity, list, from: page.next };
        if targets.is_empty() {
            return (next, Turn::More);
        }
        let want = Want { origin, until: page.until, shorten: true, ..Want::live(name, polarity, targets) };
        (self.commit_as_of(page.since, Change::Want(want), next, parts.protection), Turn::More)
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
