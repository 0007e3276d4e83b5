//! Judges that are loaded aside for what is planned: of one with many IPv6 lengths a verifier takes some forty milliseconds to
//! be sure, and the owner has others to serve.
//!
//! Until it is there the plan is *put off*. Whoever leaves meanwhile, and whoever enters what packets read already, has
//! nothing to do with it: for him nothing is loaded or published, so nothing can be refused. Who enters what is planned
//! publishes it, and waits. `settle` publishes it when the judge is there, and then the larger tables go on, which have
//! stood still meanwhile: the broker loads one judge at a time.

use filter_common::sets::SetName;

use super::Filter;
use crate::blocklist::{Effects, Settings, Targets};
use crate::kernel::KernelError;
use crate::kernel::needs::{Needs, Truth};
use crate::kernel::spec::JudgeSpec;

impl Filter {
    /// Plans room for `needs` as [`reserve`](Self::reserve) does, but has the judge for it loaded aside. True once it is
    /// there, so that nobody waits for it any more. To be asked again until then; `settle` does the rest. What the kernel
    /// refuses meanwhile is told to whoever asks next.
    pub fn reserve_aside(&mut self, needs: &Needs, truth: &impl Truth) -> Result<bool, KernelError> {
        self.refused.take().map_or(Ok(()), Err)?;
        if self.has_judge_for_larger() {
            return Ok(false);
        }
        let planned = self.make_room(needs, truth);
        let is_first = self.published.is_none();
        let awaits = planned.and_then(|()| if is_first { Ok(false) } else { self.awaits(self.spec()) });
        self.or_discard(awaits).map(|awaits| !awaits)
    }

    /// Has the judge loaded aside that judges so, paused or not. True once it is there; to be asked again until then.
    pub fn foresee(&mut self, settings: Settings) -> Result<bool, KernelError> {
        let settings = Settings { paused: self.settings.paused, ..settings };
        if settings == self.settings {
            return Ok(true);
        }
        // What is put off is published first, under the settings that it was planned for.
        let is_before = self.awaited.as_ref().is_some_and(|awaited| awaited.settings == self.settings);
        if is_before || self.has_judge_for_larger() {
            return Ok(false);
        }
        self.awaits(JudgeSpec { settings, ..self.spec() }).map(|awaits| !awaits)
    }

    /// Is a judge being loaded aside, of which `settle` is to be asked until it is there?
    pub const fn is_awaiting_judge(&self) -> bool {
        self.awaited.is_some()
    }

    /// Would packets meet these where they look now, whatever is planned?
    pub fn sees(&self, name: SetName, targets: &Targets) -> bool {
        targets.is_empty()
            || self.published.as_ref().is_some_and(|published| {
                let has_word = name.blocks() || published.overlap == self.overlap.generation();
                let clauses = self.clauses_in_use();
                let has_clause = match name {
                    SetName::Clause(slot) => published.clauses[slot.number()] == clauses[slot.number()],
                    SetName::Block | SetName::Allow => true,
                };
                has_word && has_clause && self.sets[name].sees(targets, &published.sets[name])
            })
    }

    /// Is the one judge that is loaded aside that of larger tables, which will take their places soon?
    fn has_judge_for_larger(&self) -> bool {
        self.foreseen.is_some() && self.is_growing()
    }

    /// What is planned, if it is put off.
    pub(super) fn put_off(&self) -> Option<JudgeSpec> {
        self.awaited.as_ref().map(|_| self.spec())
    }

    /// Is what was put off what is planned still?
    pub(super) fn is_still(&self, put_off: Option<&JudgeSpec>) -> bool {
        put_off.is_some_and(|put_off| *put_off == self.spec())
    }

    /// Do packets meet these effects where they look now?
    pub(super) fn does_without_plan(&self, effects: &Effects) -> bool {
        let has_word = || {
            self.published.as_ref().is_some_and(|published| published.overlap == self.overlap.generation())
        };
        effects.sets.iter().all(|(name, set)| self.sees(name, &set.entered))
            && (effects.overlaps != Some(true) || has_word())
    }

    /// What was put off is published when its judge is there.
    pub(super) fn settle_awaited(&mut self, awaited: &JudgeSpec) -> Result<(), KernelError> {
        // What has come since may have made it another one.
        let published = match self.awaits(JudgeSpec { settings: awaited.settings, ..self.spec() }) {
            Ok(true) => return Ok(()),
            // Whoever wants other settings says so when he is asked again.
            Ok(false) if awaited.settings != self.settings => return Ok(()),
            Ok(false) => self.publish(),
            Err(refused) => Err(refused),
        };
        self.refused = published.as_ref().err().cloned();
        self.or_discard(published)
    }

    /// Has such a judge loaded aside, if it is not the one at work, and tells whether it is to be waited for.
    fn awaits(&mut self, spec: JudgeSpec) -> Result<bool, KernelError> {
        self.awaited = None;
        let is_there = [&self.published, &self.ready].into_iter().flatten().any(|there| *there == spec);
        if is_there || !self.maps.broker().foresee(spec.blueprint())? {
            return Ok(false);
        }
        self.awaited = Some(spec);
        Ok(true)
    }
}
