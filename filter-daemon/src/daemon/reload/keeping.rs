//! A list whose ports change becomes a new list that continues the old one. If its file is not accepted and
//! there is no copy, it takes over the entries of the old one.

use filter_common::target::Target;

use super::{ReloadStage, RunningReload};
use crate::blocklist::Blocklist;

impl RunningReload {
    /// Takes over the next page of entries from the old list.
    pub(super) fn keep(&mut self, list: usize, after: Option<Target>, blocklist: &Blocklist) -> ReloadStage {
        let Some((turned, at)) = self.rows.kept.get(list) else {
            return self.begin_to_measure(false, blocklist);
        };
        let (page, next) = blocklist.to_release(*turned, after, |_| true);
        let (_, contents) = &mut self.rows.contents[*at];
        contents.extend(&page);
        if next.is_some() {
            return ReloadStage::Keep { list, after: next };
        }
        contents.sort();
        ReloadStage::Keep { list: list + 1, after: None }
    }
}
