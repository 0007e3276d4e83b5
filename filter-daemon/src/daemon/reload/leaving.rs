//! Removes, page by page, the entries that are no longer blocked or allowed, once packets in flight have seen
//! their replacements. Then applies the settings, if they drop more.

use filter_common::target::Target;

use super::RunningReload;
use super::rows::ListRows;
use crate::blocklist::{Change, ListId, Polarity, ReleaseFrom, Targets};
use crate::clock;
use crate::daemon::commit::{CommitError, Protection};
use crate::daemon::core::Core;
use crate::daemon::jobs::Turn;

impl RunningReload {
    /// Whether any entry of this polarity leaves.
    pub(super) fn leaves(&self, polarity: Polarity, protection: &Protection) -> bool {
        let lists = protection.blocklist().lists();
        let is_longer = |id: &ListId, than: usize| {
            let list = lists.get(*id);
            // If its entries expire, some that are named may be missing.
            list.polarity == polarity && (list.entries > than as u64 || self.rows.expires(*id))
        };
        let ListRows { contents, gone, reaching, .. } = &self.rows;
        let is_reaching = polarity == Polarity::Block && !reaching.is_empty();
        is_reaching
            || contents.iter().any(|(id, targets)| is_longer(id, targets.len()))
            || gone.iter().any(|id| is_longer(id, 0))
    }

    /// Releases the entries of this polarity that are gone.
    pub(super) async fn leave(
        &mut self,
        polarity: Polarity,
        turn: &Turn<impl AsMut<Core>>,
    ) -> Result<(), CommitError> {
        for list in 0..self.rows.contents.len() + self.rows.gone.len() {
            let mut after = Some(None);
            while let Some(from) = after {
                let page =
                    turn.page(|core| self.leave_page(polarity, list, from, &mut core.protection)).await;
                after = page?.map(Some);
            }
        }
        Ok(())
    }

    /// Releases the next page of a list, after this target. Returns its last target if there may be more.
    fn leave_page(
        &mut self,
        polarity: Polarity,
        list: usize,
        after: Option<Target>,
        protection: &mut Protection,
    ) -> Result<Option<Target>, CommitError> {
        let ListRows { contents, gone, .. } = &self.rows;
        let nothing = Targets::default();
        let (id, targets) = match contents.get(list) {
            Some((id, targets)) => (*id, targets),
            None => (gone[list - contents.len()], &nothing),
        };
        let row = protection.blocklist().lists().get(id);
        // If its entries expire, some that are named may be missing.
        let may_leave = row.entries > targets.len() as u64 || self.rows.expires(id);
        if row.polarity != polarity || !may_leave {
            return Ok(None);
        }
        let from = ReleaseFrom::List(row.name.clone());
        let (over, next) = {
            let leaves = self.rows.leaves(id, targets);
            protection.blocklist().to_release(id, after, leaves)
        };
        if !over.is_empty() {
            self.commit(&Change::Release { from, targets: over }, clock::now(), protection)?;
        }
        Ok(next)
    }
}
