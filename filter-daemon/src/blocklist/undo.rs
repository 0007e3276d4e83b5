//! Undoes changes: for each target, the claims of each list before and after.

use super::{Claim, ListId, Targets};
use filter_common::target::Target;

/// The changes of claims that one change made. Consecutive targets with equal changes share one step, so
/// undoing a million additions needs the room of a million addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undo {
    steps: Vec<UndoStep>,
}

/// How many recent steps are searched for one to extend. Several lists may change the same targets in turn.
const RECENT: usize = 8;

/// One change that was made to some targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoStep {
    /// The list whose claims changed.
    pub list: ListId,
    /// The claim before; none if there was none.
    pub before: Option<Claim>,
    /// The claim after; none if it was released.
    pub after: Option<Claim>,
    pub targets: Targets,
}

impl Undo {
    /// Records that the claim of `list` on `target` changed.
    pub(super) fn note(&mut self, target: Target, list: ListId, before: Option<Claim>, after: Option<Claim>) {
        let is_same = |step: &UndoStep| step.list == list && step.before == before && step.after == after;
        match self.steps.iter_mut().rev().take(RECENT).find(|step| is_same(step)) {
            Some(step) => step.targets.push(target),
            None => {
                let targets = [target].into_iter().collect();
                self.steps.push(UndoStep { list, before, after, targets });
            }
        }
    }

    /// Records new claims on these /64s.
    pub(super) fn note_row(&mut self, nets: &[u64], list: ListId, after: &Claim) {
        let targets = Targets { nets64: nets.to_vec(), ..Targets::default() };
        self.steps.push(UndoStep { list, before: None, after: Some(after.clone()), targets });
    }

    /// The steps, the latest first.
    pub(super) fn backwards(&self) -> impl Iterator<Item = &UndoStep> {
        self.steps.iter().rev()
    }

    /// The targets that a list blocked or allowed before and does not since. An undo adds them again,
    /// unless another list wants them.
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

    /// The number of targets in all steps; a target that changed twice counts twice.
    pub fn len(&self) -> usize {
        self.steps.iter().map(|step| step.targets.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The lists of all steps.
    pub fn lists(&self) -> impl Iterator<Item = ListId> + '_ {
        self.steps.iter().map(|step| step.list)
    }
}
