//! A list whose ports change becomes a new list that continues the old one. If its file is not accepted and
//! there is no copy, it takes over the entries of the old one.

use super::RunningReload;
use crate::blocklist::Blocklist;
use crate::daemon::core::Core;
use crate::daemon::jobs::Turn;

impl RunningReload {
    /// Takes over the entries from the old lists.
    pub(super) async fn keep(&mut self, turn: &Turn<impl AsMut<Core>>) {
        for (turned, at) in &self.rows.kept {
            let (_, contents) = &mut self.rows.contents[*at];
            let mut after = Some(None);
            while let Some(from) = after {
                let release = |blocklist: &Blocklist| blocklist.to_release(*turned, from, |_| true);
                let (page, next) = turn.page(|core| release(core.protection.blocklist())).await;
                contents.extend(&page);
                after = next.map(Some);
            }
            contents.sort();
        }
    }
}
