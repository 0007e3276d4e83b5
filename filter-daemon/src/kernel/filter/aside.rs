//! Loads judges in the background for planned changes. The verifier needs some forty milliseconds for a judge
//! with many IPv6 lengths, and the owner must serve other requests meanwhile.
//!
//! Until the judge is loaded, the plan is *postponed*. Removals, and additions to tables that packets read
//! already, do not need the plan. Nothing is loaded or published for them, so nothing can be refused. An
//! addition to a planned table publishes the plan, and waits for it. `settle` publishes the plan when the
//! judge is loaded. Larger tables stand still until then, because the broker loads one judge at a time.

use filter_common::sets::SetName;

use super::Filter;
use super::judges::JudgeLoading;
use crate::blocklist::{Effects, Settings, Targets};
use crate::kernel::KernelError;
use crate::kernel::needs::{Needs, Truth};
use crate::kernel::spec::JudgeSpec;

impl Filter {
    /// Plans room for `needs` as [`reserve`](Self::reserve) does, but loads the judge in the background. True
    /// once it is loaded; call it again until then. `settle` does the rest. If the kernel refuses something
    /// meanwhile, the next call returns that error.
    pub fn reserve_aside(&mut self, needs: &Needs, truth: &impl Truth) -> Result<bool, KernelError> {
        self.failed.plan.take().map_or(Ok(()), Err)?;
        if self.has_judge_for_larger() {
            return Ok(false);
        }
        let planned = self.make_room(needs, truth);
        let awaits = planned.and_then(|()| self.awaits(self.spec()));
        self.or_discard(awaits).map(|awaits| !awaits)
    }

    /// Loads a judge for these settings in the background, keeping any pause. True once it is loaded; call it
    /// again until then.
    pub fn foresee(&mut self, settings: Settings) -> Result<bool, KernelError> {
        let settings = Settings { paused: self.settings.paused, ..settings };
        if settings == self.settings {
            return Ok(true);
        }
        // A postponed plan is published first, under the settings that it was planned for.
        let is_before = self.judges.awaited().is_some_and(|awaited| awaited.settings == self.settings);
        if is_before || self.has_judge_for_larger() {
            return Ok(false);
        }
        self.awaits(JudgeSpec { settings, ..self.spec() }).map(|awaits| !awaits)
    }

    /// True while a judge is being loaded in the background. Call `settle` until it is loaded.
    pub const fn is_awaiting_judge(&self) -> bool {
        self.judges.awaited().is_some()
    }

    /// True if packets would find these targets in the tables that they read now, independently of any plan.
    pub fn sees(&self, name: SetName, targets: &Targets) -> bool {
        targets.is_empty()
            || self.judges.published().is_some_and(|published| {
                let has_word = name.blocks() || published.overlap == self.overlap.generation();
                let clauses = self.clauses_in_use();
                let has_clause = match name {
                    SetName::Clause(slot) => published.clauses[slot.number()] == clauses[slot.number()],
                    SetName::Block | SetName::Allow | SetName::Out => true,
                };
                has_word && has_clause && self.sets[name].sees(targets, &published.sets[name])
            })
    }

    /// True if the judge being loaded is the one for larger tables that will soon come into use.
    fn has_judge_for_larger(&self) -> bool {
        self.judges.for_tables().is_some() && self.is_growing()
    }

    /// The planned judge, if the plan is postponed.
    pub(super) fn put_off(&self) -> Option<JudgeSpec> {
        self.is_awaiting_judge().then(|| self.spec())
    }

    /// True if the postponed plan is still the current plan.
    pub(super) fn is_still(&self, put_off: Option<&JudgeSpec>) -> bool {
        put_off.is_some_and(|put_off| *put_off == self.spec())
    }

    /// True if these effects change only tables that packets read now.
    pub(super) fn does_without_plan(&self, effects: &Effects) -> bool {
        let has_word = || {
            self.judges.published().is_some_and(|published| published.overlap == self.overlap.generation())
        };
        effects.sets.iter().all(|(name, set)| self.sees(name, &set.entered))
            && (effects.overlaps != Some(true) || has_word())
    }

    /// Publishes the postponed plan when the awaited judge, which has these settings, is loaded.
    pub(super) fn settle_awaited(&mut self, settings: Settings) -> Result<(), KernelError> {
        // Changes made since then may require a different judge.
        let published = match self.awaits(JudgeSpec { settings, ..self.spec() }) {
            Ok(true) => return Ok(()),
            // The caller that wants other settings applies them when it asks again.
            Ok(false) if settings != self.settings => return Ok(()),
            Ok(false) => self.publish(),
            Err(refused) => Err(refused),
        };
        self.failed.plan = published.as_ref().err().cloned();
        self.or_discard(published)
    }

    /// Loads this judge in the background unless it is the first one, published or ready. True if the caller
    /// has to wait for it.
    fn awaits(&mut self, spec: JudgeSpec) -> Result<bool, KernelError> {
        self.judges.set_loading(JudgeLoading::Nothing);
        let is_first = self.judges.published().is_none();
        if is_first || self.judges.has(&spec) || !self.maps.broker().foresee(spec.blueprint())? {
            return Ok(false);
        }
        self.judges.set_loading(JudgeLoading::Plan(spec));
        Ok(true)
    }
}
