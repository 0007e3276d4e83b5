//! Adds, page by page, the entries that a reload allows or blocks, and extends existing entries to the reach
//! that their list has now.

use filter_common::target::Target;

use super::RunningReload;
use crate::blocklist::{Change, ListId, Polarity};
use crate::clock;
use crate::daemon::commit::CommitError;
use crate::daemon::core::Core;
use crate::daemon::jobs::Turn;

impl RunningReload {
    /// Adds the new entries of this polarity.
    pub(super) async fn enter(
        &mut self,
        polarity: Polarity,
        turn: &Turn<impl AsMut<Core>>,
    ) -> Result<(), CommitError> {
        for list in 0..self.rows.contents.len() {
            let mut from = Some(0);
            while let Some(position) = from {
                from = turn.until(|core| self.enter_page(polarity, list, position, core)).await?;
            }
        }
        Ok(())
    }

    /// Adds the next page of a list: from this position on, once there is room. Returns where the page after
    /// it begins.
    fn enter_page(
        &mut self,
        polarity: Polarity,
        list: usize,
        from: usize,
        core: &mut Core,
    ) -> Option<Result<Option<usize>, CommitError>> {
        let blocklist = core.protection.blocklist();
        let (id, _) = self.rows.contents[list];
        let row = blocklist.lists().get(id);
        let (sets, reach) = (row.sets(), row.reach);
        let page = if row.polarity == polarity { self.rows.entering(list, from, blocklist) } else { None };
        let Some(page) = page else { return Some(Ok(None)) };
        if !core.capacity.has_room(&mut core.protection, sets, &reach.all_of(&page.targets())) {
            return None;
        }
        for run in page.runs.into_iter().filter(|run| !run.targets.is_empty()) {
            let (since, want) = (run.since, self.rows.want(id, run, core.protection.blocklist()));
            if let Err(error) = self.commit(&want, since, &mut core.protection) {
                return Some(Err(error));
            }
        }
        Some(Ok(Some(page.next)))
    }

    /// Extends existing entries to the reach of their list. This runs before entries leave, and again after
    /// the grace period.
    pub(super) async fn reach(&mut self, turn: &Turn<impl AsMut<Core>>) -> Result<(), CommitError> {
        for id in self.rows.reaching.lists() {
            let mut after = Some(None);
            while let Some(from) = after {
                after = turn.until(|core| self.reach_page(id, from, core)).await?.map(Some);
            }
        }
        Ok(())
    }

    /// Extends the next page of a list: after this target, once there is room. Returns its last target if
    /// there may be more.
    fn reach_page(
        &mut self,
        id: ListId,
        after: Option<Target>,
        core: &mut Core,
    ) -> Option<Result<Option<Target>, CommitError>> {
        let lists = core.protection.blocklist().lists();
        // It may have been emptied and forgotten since the last page.
        if !lists.has(id) {
            return Some(Ok(None));
        }
        let row = lists.get(id);
        let (list, sets, reach) = (row.name.clone(), row.sets(), row.reach);
        // Entries that are about to leave keep their reach: neither configuration blocks the prefixes around
        // them.
        let contents = self.rows.contents.iter().find(|(with_contents, _)| *with_contents == id);
        let stays = |target| contents.is_none_or(|(_, targets)| targets.contains(target));
        let (targets, next) = core.protection.blocklist().to_reach_anew(id, after, stays);
        if !core.capacity.has_room(&mut core.protection, sets, &reach.all_of(&targets)) {
            return None;
        }
        if targets.is_empty() {
            return Some(Ok(next));
        }
        let change = Change::Reach { list, targets };
        Some(self.commit(&change, clock::now(), &mut core.protection).map(|()| next))
    }
}
