//! The effects of a change on the filter.

use std::collections::BTreeMap;

use filter_common::labels::Label;
use filter_common::sets::PerSet;
use filter_common::target::Target;

use super::{Settings, Targets};

/// The difference for packets: in each set, and in the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    pub sets: PerSet<SetEffects>,
    /// Whether an allowed target overlaps a blocked one from now on; none if that did not change.
    pub overlaps: Option<bool>,
    /// The new settings, if they change.
    pub settings: Option<Settings>,
}

/// The targets that are added to one set, and removed from it. No target is in both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetEffects {
    /// Targets that a list wants now and no list wanted before.
    pub entered: Targets,
    /// Targets that no list wants now and a list wanted before.
    pub left: Targets,
    /// Targets that stay in the set, but are now counted for another list.
    pub relabelled: Targets,
    /// Used while a change is applied: targets whose label may change, with their earlier label.
    pub(super) touched: Vec<(Target, Label)>,
}

impl Effects {
    /// These targets are blocked from now on, and none of them is allowed.
    pub fn blocking(entered: Targets) -> Self {
        let mut effects = Self::default();
        effects.sets.block.entered = entered;
        effects
    }

    /// These targets are no longer blocked.
    pub fn unblocking(left: Targets) -> Self {
        let mut effects = Self::default();
        effects.sets.block.left = left;
        effects
    }

    /// True if a target is newly blocked, on any ports.
    pub fn blocks(&self) -> bool {
        self.sets.blocking().any(|(_, set)| !set.entered.is_empty())
    }

    /// True if a target is no longer blocked, on any ports.
    pub fn unblocks(&self) -> bool {
        self.sets.blocking().any(|(_, set)| !set.left.is_empty())
    }

    /// True if a target is added to a set, removed from one, or counted for another list.
    pub fn changes_sets(&self) -> bool {
        self.sets.iter().any(|(_, set)| !set.is_empty())
    }

    /// Cancels targets that were both added and removed.
    pub(super) fn balance(&mut self) {
        self.sets.iter_mut().for_each(|(_, set)| set.balance());
    }

    /// The sum of the effects of several changes.
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

    pub fn is_empty(&self) -> bool {
        self.settings.is_none() && self.overlaps.is_none() && !self.changes_sets()
    }
}

impl SetEffects {
    pub fn is_empty(&self) -> bool {
        self.entered.is_empty() && self.left.is_empty() && self.relabelled.is_empty()
    }

    /// Several steps may add and remove one target; only the difference remains.
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

    /// An added target already has its right label, and a removed one needs none: both leave the relabelled
    /// targets. Needs sorted targets.
    fn drop_relabelled(&mut self) {
        let Self { entered, left, relabelled, .. } = self;
        if !(relabelled.is_empty() || entered.is_empty() && left.is_empty()) {
            let stays = |target: &Target| !entered.contains(*target) && !left.contains(*target);
            *relabelled = relabelled.iter().filter(stays).collect();
        }
    }

    /// A touched target is relabelled if `now` gives another label than its first one, and if it was in the
    /// set before and still is.
    pub(super) fn note_relabelled(&mut self, now: impl Fn(Target) -> Label) {
        if self.touched.is_empty() {
            return;
        }
        let mut touched = std::mem::take(&mut self.touched);
        // The sort is stable, so the first label of each target stays first.
        touched.sort_by_key(|(target, _)| *target);
        touched.dedup_by_key(|(target, _)| *target);
        let changed = touched.into_iter().filter(|(target, before)| now(*target) != *before);
        self.relabelled = changed.map(|(target, _)| target).collect();
        self.entered.sort();
        self.left.sort();
        self.drop_relabelled();
    }
}
