//! What a change would do, before it is made.

use filter_common::target::Target;

use super::{Blocklist, Change, From, ListId, Origin, Targets};

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
            Change::Want { list, targets, .. } => {
                let list = self.lists().find(list);
                self.prefetch(targets);
                targets.iter().for_each(|target| self.preview_want(target, list, &mut difference));
            }
            Change::Release { from, targets } => {
                targets.iter().for_each(|target| self.preview_release(target, from, &mut difference));
            }
            Change::Expire { .. } | Change::Settings(_) | Change::Pause(_) | Change::Undo(_) => {}
        }
        difference
    }

    /// Those of these that `list` does not want; all of them if there is no such list yet.
    pub fn not_on(&self, list: Option<ListId>, targets: &Targets) -> Targets {
        let Some(list) = list else { return targets.clone() };
        self.prefetch(targets);
        targets.iter().filter(|target| self.claim_of(*target, list).is_none()).collect()
    }

    fn preview_want(&self, target: Target, list: Option<ListId>, difference: &mut Difference) {
        if self.claims_of(target).is_none() {
            difference.enters.push(target);
            difference.changes += 1;
        } else if list.is_none_or(|list| self.claim_of(target, list).is_none()) {
            difference.changes += 1;
        }
    }

    fn preview_release(&self, target: Target, from: &From, difference: &mut Difference) {
        let holders = self.holders(target);
        let releases = |id: &&ListId| match from {
            From::List(name) => self.lists().get(**id).name == *name,
            From::EveryLiveList => self.lists().get(**id).origin == Origin::Live,
        };
        let released = holders.iter().filter(releases).count();
        difference.changes += u64::from(released > 0);
        if released > 0 && released == holders.len() {
            difference.leaves.push(target);
        }
    }
}
