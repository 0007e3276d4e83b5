//! How a change is undone: what each list said of each target before, and what it says since.

use super::{Claim, ListId, Targets};
use filter_common::target::Target;

/// What a change did to claims. Runs of targets to which the same was done are kept as one, so that undoing a million
/// additions takes the room of a million addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undo {
    steps: Vec<Step>,
}

/// Several lists may say the same of one target after another, in turn: so many runs are looked through for the right one.
const RECENT: usize = 8;

/// One thing that was done to some targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Whose claims.
    pub list: ListId,
    /// What it was before; none if there was no claim.
    pub before: Option<Claim>,
    /// What it is since.
    pub after: Option<Claim>,
    /// Of which targets.
    pub targets: Targets,
}

impl Undo {
    /// The claim of `list` for `target` became another.
    pub(super) fn note(&mut self, target: Target, list: ListId, before: Option<Claim>, after: Option<Claim>) {
        let is_same = |step: &Step| step.list == list && step.before == before && step.after == after;
        match self.steps.iter_mut().rev().take(RECENT).find(|step| is_same(step)) {
            Some(step) => step.targets.push(target),
            None => {
                let targets = [target].into_iter().collect();
                self.steps.push(Step { list, before, after, targets });
            }
        }
    }

    /// The same of these /64s, of which there was none.
    pub(super) fn note_row(&mut self, nets: &[u64], list: ListId, after: &Claim) {
        let targets = Targets { nets64: nets.to_vec(), ..Targets::default() };
        self.steps.push(Step { list, before: None, after: Some(after.clone()), targets });
    }

    /// What was done, the latest first.
    pub(super) fn backwards(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().rev()
    }

    /// What each list said of targets before, the latest first.
    pub fn into_claims(self) -> impl Iterator<Item = (ListId, Option<Claim>, Targets)> {
        self.steps.into_iter().rev().map(|step| (step.list, step.before, step.targets))
    }

    /// What was blocked or allowed for the sake of some list before and is not since: it enters again, unless somebody else
    /// wants it.
    pub fn entering(&self) -> impl Iterator<Item = (ListId, Vec<Target>)> {
        let reach = |claim: &Option<Claim>| claim.as_ref().map(|claim| claim.reach);
        let lost = self.steps.iter().filter(move |step| {
            step.before.is_some() && (step.after.is_none() || reach(&step.before) != reach(&step.after))
        });
        lost.map(move |step| {
            let reach = reach(&step.before).unwrap_or_default();
            (step.list, step.targets.iter().flat_map(|target| reach.of(target)).collect())
        })
    }

    /// How many targets it concerns; one that was changed twice counts twice.
    pub fn len(&self) -> usize {
        self.steps.iter().map(|step| step.targets.len()).sum()
    }

    /// Was nothing done?
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Which lists it concerns.
    pub fn lists(&self) -> impl Iterator<Item = ListId> + '_ {
        self.steps.iter().map(|step| step.list)
    }
}
