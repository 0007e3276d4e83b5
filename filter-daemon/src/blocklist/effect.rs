//! What a change of the blocklist means for the filter.

use std::collections::BTreeMap;

use filter_common::labels::Label;
use filter_common::sets::PerSet;
use filter_common::target::Target;

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
    /// While a change is made: who may come to be counted for another list, and for which they were.
    pub(super) touched: Vec<(Target, Label)>,
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

    /// What entered and left again, or the reverse, is as it was.
    pub(super) fn balance(&mut self) {
        self.sets.iter_mut().for_each(|(_, set)| set.balance());
    }

    /// Those of several changes, none of which takes back what another one does.
    pub fn of_all<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for effects in all {
            sum.sets.iter_mut().for_each(|(name, set)| set.extend(&effects.sets[name]));
            sum.overlaps = effects.overlaps.or(sum.overlaps);
            sum.settings = effects.settings.or(sum.settings);
        }
        sum.balance();
        for (_, set) in sum.sets.iter_mut() {
            set.sort();
            set.drop_relabelled();
        }
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

    /// Of one thing after another done to what several are behind, only the difference is left.
    fn balance(&mut self) {
        if self.entered.is_empty() || self.left.is_empty() {
            return;
        }
        let mut balance = BTreeMap::<Target, i32>::new();
        self.entered.iter().for_each(|target| *balance.entry(target).or_default() += 1);
        self.left.iter().for_each(|target| *balance.entry(target).or_default() -= 1);
        let those = |sign| balance.iter().filter(move |(_, balance)| balance.signum() == sign);
        let [entered, left] = [1, -1].map(|sign| those(sign).map(|(target, _)| *target).collect());
        (self.entered, self.left) = (entered, left);
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

    /// Who enters is counted right, and who leaves is not: neither is among the relabelled. To be asked when sorted.
    fn drop_relabelled(&mut self) {
        let Self { entered, left, relabelled, .. } = self;
        if !(relabelled.is_empty() || entered.is_empty() && left.is_empty()) {
            let stays = |target: &Target| !entered.contains(*target) && !left.contains(*target);
            *relabelled = relabelled.iter().filter(stays).collect();
        }
    }

    /// Of those who were touched, those of whom `now` says another label than was said of them first are relabelled, if they
    /// were there before and are there still.
    pub(super) fn note_relabelled(&mut self, now: impl Fn(Target) -> Label) {
        if self.touched.is_empty() {
            return;
        }
        let mut touched = std::mem::take(&mut self.touched);
        // Stable: of each target the first word stays the first.
        touched.sort_by_key(|(target, _)| *target);
        touched.dedup_by_key(|(target, _)| *target);
        let changed = touched.into_iter().filter(|(target, before)| now(*target) != *before);
        self.relabelled = changed.map(|(target, _)| target).collect();
        self.entered.sort();
        self.left.sort();
        self.drop_relabelled();
    }
}
