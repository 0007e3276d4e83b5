//! At the end of a reload it is looked up, page by page, since when and until when what its lists name is there, for the copies
//! of those with an end.

use super::rows::{FoundList, ListLifetime};
use super::{ListFinding, ListRows, ReloadStage, RunningReload};
use crate::blocklist::{Blocklist, ListId, PAGE};
use crate::daemon::pages::Turn;

impl RunningReload {
    /// The next page of this list's.
    pub(super) fn note_times(
        &mut self,
        list: usize,
        from: usize,
        blocklist: &Blocklist,
    ) -> (ReloadStage, Turn) {
        let Some((id, targets)) = self.rows.contents.get(list) else {
            return (ReloadStage::Ended(Ok(())), Turn::Done);
        };
        let next = ReloadStage::Note { list: list + 1, from: 0 };
        if self.rows.stay(*id).is_none() || self.rows.is_told(*id, blocklist) {
            return (next, Turn::More);
        }
        let page = targets.page(from, PAGE);
        self.rows.timed.look_up(*id, &page, blocklist);
        match page.len() {
            0 => (next, Turn::More),
            seen => (ReloadStage::Note { list, from: from + seen }, Turn::More),
        }
    }
}

impl ListRows {
    /// Does the copy of this list stay as it is, as far as its bytes go?
    pub fn stays_copied(&self, id: ListId) -> bool {
        let is_new = |found: &ListFinding| matches!(found, ListFinding::Accepted { draft: Some(_), .. });
        !self.found.iter().any(|found| found.id == id && is_new(&found.found))
    }

    /// Were the very bytes read, in the same way, that the copy of this list is of? Then that tells its times as they are: a feed
    /// may be fetched every minute, and disks wear out. One that could not be written is known by its stamp.
    fn is_told(&self, id: ListId, blocklist: &Blocklist) -> bool {
        let Some(reading) = &blocklist.lists().get(id).reading else { return false };
        let is_written = reading.accepted.as_ref().is_some_and(|accepted| accepted.stamp.is_some());
        let is_same = |found: &FoundList| {
            matches!(found.found, ListFinding::Accepted { draft: None, .. })
                && reading.how == found.how.to_string()
        };
        let is_same = self.found.iter().any(|found| found.id == id && is_same(found));
        let goes_on =
            !self.made.contains(&id) && self.stay(id).is_some_and(|ListLifetime { is_new, .. }| !is_new);
        is_same && is_written && goes_on && !self.restores
    }
}
