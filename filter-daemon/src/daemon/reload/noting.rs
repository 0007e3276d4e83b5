//! At the end of a reload it is looked up, page by page, since when and until when what its lists name is there, for the copies
//! of those with an end.

use super::{Reload, Stage};
use crate::blocklist::{Blocklist, PAGE};
use crate::daemon::pages::Turn;

impl Reload {
    /// The next page of this list's.
    pub(super) fn note_times(&mut self, list: usize, from: usize, blocklist: &Blocklist) -> (Stage, Turn) {
        let Some((id, targets)) = self.rows.contents.get(list) else {
            return (Stage::Ended(Ok(())), Turn::Done);
        };
        let next = Stage::Note { list: list + 1, from: 0 };
        if self.rows.stay(*id).is_none() {
            return (next, Turn::More);
        }
        let page = targets.page(from, PAGE);
        self.rows.timed.look_up(*id, &page, blocklist);
        match page.len() {
            0 => (next, Turn::More),
            seen => (Stage::Note { list, from: from + seen }, Turn::More),
        }
    }
}
