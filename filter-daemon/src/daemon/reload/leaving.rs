//! Removes, page by page, the entries that are no longer blocked or allowed, once packets in flight have seen
//! their replacements. Then applies the settings, if they drop more.

use filter_common::target::Target;

use super::rows::ListRows;
use super::{ReloadStage, RunningReload};
use crate::blocklist::{Change, ListId, Polarity, ReleaseFrom, Targets};
use crate::clock;
use crate::daemon::commit::Protection;
use crate::daemon::pages::Turn;

impl RunningReload {
    /// If no entry leaves, there is no need to wait for a grace period.
    pub(super) fn after_entering(&self, protection: &Protection) -> ReloadStage {
        if self.leaves(Polarity::Block, protection) {
            ReloadStage::Entered(protection.latest().entered)
        } else {
            self.after_leaving(protection)
        }
    }

    /// Whether any entry of this polarity leaves.
    fn leaves(&self, polarity: Polarity, protection: &Protection) -> bool {
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

    pub(super) fn leave(
        &mut self,
        polarity: Polarity,
        list: usize,
        after: Option<Target>,
        protection: &mut Protection,
    ) -> ReloadStage {
        let (contents, nothing) = (&self.rows.contents, Targets::default());
        let gone = |list: usize| Some((*self.rows.gone.get(list - contents.len())?, &nothing));
        let kept = contents.get(list).map(|(id, targets)| (*id, targets)).or_else(|| gone(list));
        let Some((id, targets)) = kept else {
            return match polarity {
                Polarity::Block => self.after_leaving(protection),
                Polarity::Allow => ReloadStage::Tighten,
            };
        };
        let row = protection.blocklist().lists().get(id);
        // If its entries expire, some that are named may be missing.
        let may_leave = row.entries > targets.len() as u64 || self.rows.expires(id);
        if row.polarity != polarity || !may_leave {
            return ReloadStage::Leave { polarity, list: list + 1, after: None };
        }
        let name = row.name.clone();
        let (over, next) = {
            let leaves = self.rows.leaves(id, targets, protection.blocklist());
            protection.blocklist().to_release(id, after, leaves)
        };
        let next = match next {
            Some(_) => ReloadStage::Leave { polarity, list, after: next },
            None => ReloadStage::Leave { polarity, list: list + 1, after: None },
        };
        if over.is_empty() {
            return next;
        }
        self.commit(Change::Release { from: ReleaseFrom::List(name), targets: over }, next, protection)
    }

    fn after_leaving(&self, protection: &Protection) -> ReloadStage {
        let [before, after] = self.settings;
        let tightens = after.strictness() > before.unpaused().strictness();
        let latest = protection.latest();
        if tightens || self.leaves(Polarity::Allow, protection) {
            ReloadStage::Left(latest.left.max(latest.loosened))
        } else {
            ReloadStage::Tighten
        }
    }

    pub(super) fn tighten(&mut self, protection: &mut Protection) -> (ReloadStage, Turn) {
        match protection.filter_mut().foresee(self.settings[1]) {
            Err(error) => return (self.undo(error.into(), protection), Turn::More),
            Ok(false) => return (ReloadStage::Tighten, Turn::Wait),
            Ok(true) => {}
        }
        let change = Change::Settings(self.settings[1]);
        match protection.commit(&change, clock::now()) {
            Ok(_) => (ReloadStage::Note { list: 0, from: 0 }, Turn::More),
            Err(error) => (self.undo(error, protection), Turn::More),
        }
    }
}
