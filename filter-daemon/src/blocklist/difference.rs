//! What a change would do, before it is made.

use filter_common::target::Target;

use super::{Blocklist, Change, ListId, Side, Targets, Want};

/// What a change would mean for the filter, and for how many of its targets it would change anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// What would enter.
    pub enters: Targets,
    /// What would leave.
    pub leaves: Targets,
    /// How many targets would be wanted by a list that does not want them, or be released by one that does.
    pub changes: u64,
}

impl Blocklist {
    /// What `change` would do now. Whoever asks page by page asks again for what others change meanwhile.
    pub fn preview(&self, change: &Change) -> Difference {
        let mut difference = Difference::default();
        match change {
            Change::Want(Want { list, polarity, targets, .. }) => {
                let list = self.lists().find(list);
                let side = list.map_or(self.side(polarity.whole()), |list| self.side_of(list));
                side.prefetch(targets);
                targets.iter().for_each(|target| preview_want(side, target, list, &mut difference));
            }
            Change::Release { from, targets } => {
                let lists = self.lists_of(from).unwrap_or_default();
                // The lists of one call are all on one side.
                if let Some(side) = lists.first().map(|list| self.side_of(*list)) {
                    targets.iter().for_each(|target| preview_release(side, target, &lists, &mut difference));
                }
            }
            Change::Expire { .. }
            | Change::Settings(_)
            | Change::Pause(_)
            | Change::LookForOverlap
            | Change::Undo(_) => {}
        }
        difference
    }

    /// Those of these that `list` does not want; all of them if there is no such list yet.
    pub fn not_on(&self, list: Option<ListId>, targets: &Targets) -> Targets {
        let Some(list) = list else { return targets.clone() };
        let side = self.side_of(list);
        side.prefetch(targets);
        targets.iter().filter(|target| side.claim_of(*target, list).is_none()).collect()
    }
}

fn preview_want(side: &Side, target: Target, list: Option<ListId>, difference: &mut Difference) {
    if !side.contains(target) {
        difference.enters.push(target);
        difference.changes += 1;
    } else if list.is_none_or(|list| side.claim_of(target, list).is_none()) {
        difference.changes += 1;
    }
}

fn preview_release(side: &Side, target: Target, lists: &[ListId], difference: &mut Difference) {
    let holders = side.holders(target);
    let released = holders.iter().filter(|list| lists.contains(list)).count();
    difference.changes += u64::from(released > 0);
    if released > 0 && released == holders.len() {
        difference.leaves.push(target);
    }
}
