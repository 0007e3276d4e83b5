//! What a change of the blocklist means for the filter.

use filter_common::sets::PerSet;

use super::{Settings, Targets};

/// What becomes different for packets: for each set, and in how all of them are judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// In each set.
    pub sets: PerSet<SetEffects>,
    /// Does something allowed overlap something blocked from now on? None if it is as it was before.
    pub overlaps: Option<bool>,
    /// The settings from now on, if they change.
    pub settings: Option<Settings>,
}

/// Targets that enter one set, and targets that leave it. None is in both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetEffects {
    /// Wanted by somebody now, and by nobody before.
    pub entered: Targets,
    /// Wanted by nobody now, and by somebody before.
    pub left: Targets,
    /// In the set before and after, but now counted for another list.
    pub relabelled: Targets,
}

impl Effects {
    /// These are blocked from now on, and none of them is allowed.
    pub fn blocking(entered: Targets) -> Self {
        let mut effects = Self::default();
        effects.sets.block.entered = entered;
        effects
    }

    /// These are blocked no longer.
    pub fn unblocking(left: Targets) -> Self {
        let mut effects = Self::default();
        effects.sets.block.left = left;
        effects
    }

    /// Does anything come to be blocked, on whatever ports?
    pub fn blocks(&self) -> bool {
        self.sets.blocking().any(|(_, set)| !set.entered.is_empty())
    }

    /// Is anything blocked no longer, on whatever ports?
    pub fn unblocks(&self) -> bool {
        self.sets.blocking().any(|(_, set)| !set.left.is_empty())
    }

    /// Does anything enter or leave a set, or is counted for another list?
    pub fn changes_sets(&self) -> bool {
        self.sets.iter().any(|(_, set)| !set.is_empty())
    }

    /// Those of several changes, none of which takes back what another one does.
    pub fn of_all<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for effects in all {
            sum.sets.iter_mut().for_each(|(name, set)| set.extend(&effects.sets[name]));
            sum.overlaps = effects.overlaps.or(sum.overlaps);
            sum.settings = effects.settings.or(sum.settings);
        }
        sum.sets.iter_mut().for_each(|(_, set)| set.sort());
        sum
    }

    /// Nothing becomes different.
    pub fn is_empty(&self) -> bool {
        self.settings.is_none() && self.overlaps.is_none() && !self.changes_sets()
    }
}

impl SetEffects {
    /// Nothing enters, leaves or is counted for another list.
    pub fn is_empty(&self) -> bool {
        self.entered.is_empty() && self.left.is_empty() && self.relabelled.is_empty()
    }

    fn extend(&mut self, more: &Self) {
        self.entered.extend(&more.entered);
        self.left.extend(&more.left);
        self.relabelled.extend(&more.relabelled);
    }

    fn sort(&mut self) {
        self.entered.sort();
        self.left.sort();
        self.relabelled.sort();
    }
}
