//! Predicts the effect of a change without making it.

use filter_common::sets::SetName;
use filter_common::target::Target;

use super::{Blocklist, Change, ListId, Reach, Side, Targets, Want};

/// The effects that a change would have, and for how many of its targets it would change anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The targets that would be added to the filter.
    pub enters: Targets,
    /// The targets that would be removed from it.
    pub leaves: Targets,
    /// How many targets a list would newly want, or would release.
    pub changes: u64,
}

impl Blocklist {
    /// The effect of `change` at this moment. A caller that asks page by page must ask again about targets
    /// that others change meanwhile.
    pub fn preview(&self, change: &Change) -> Difference {
        let mut difference = Difference::default();
        match change {
            Change::Want(Want { list, polarity, targets, .. }) => {
                let reach = self.lists().reach_of(list);
                // In the mirror of a list the same entries are new, unless other lists want them there.
                let set = self.sets_of(list, *polarity).into_iter().next().unwrap_or(polarity.whole());
                let list = self.lists().find(list);
                let side = self.side(set);
                side.prefetch(targets);
                targets
                    .iter()
                    .for_each(|target| self.preview_want(side, target, (list, reach), &mut difference));
                if reach != Reach::AS_GIVEN {
                    difference.enters.sort();
                }
            }
            Change::Release { from, targets } => {
                let lists = self.lists_of(from).unwrap_or_default();
                let sets = self.sets_of_lists(&lists);
                targets
                    .iter()
                    .for_each(|target| self.preview_release(&sets, target, &lists, &mut difference));
            }
            Change::Expire { .. }
            | Change::Reach { .. }
            | Change::Settings(_)
            | Change::Pause(_)
            | Change::LookForOverlap
            | Change::Relabel
            | Change::Undo(_) => {}
        }
        difference
    }

    /// The targets that `list` does not want; all of them if the list does not exist yet.
    pub fn not_on(&self, list: Option<ListId>, targets: &Targets) -> Targets {
        let Some(list) = list else { return targets.clone() };
        let side = self.side_of(list);
        side.prefetch(targets);
        targets.iter().filter(|target| self.claim_of(*target, list).is_none()).collect()
    }

    fn preview_want(
        &self,
        side: &Side,
        target: Target,
        (list, reach): (Option<ListId>, Reach),
        difference: &mut Difference,
    ) {
        let entering = reach.of(target).filter(|target| !side.contains(*target));
        let known = difference.enters.len();
        entering.for_each(|target| difference.enters.push(target));
        let enters = difference.enters.len() > known;
        let is_new = enters || list.is_none_or(|list| self.claim_of(target, list).is_none());
        difference.changes += u64::from(is_new);
    }

    /// A widened prefix leaves with the last entry behind it. The preview does not predict that.
    fn preview_release(
        &self,
        sets: &[SetName],
        target: Target,
        lists: &[ListId],
        difference: &mut Difference,
    ) {
        let (mut changes, mut leaves) = (false, false);
        for set in sets {
            let (holders, side) = (self.holders(*set, target), self.side(*set).holders(target));
            let released = holders.iter().filter(|list| lists.contains(list)).count();
            changes |= released > 0;
            leaves |= released > 0 && released == holders.len() && holders == side;
        }
        difference.changes += u64::from(changes);
        if leaves {
            difference.leaves.push(target);
        }
    }
}
