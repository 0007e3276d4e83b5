//! Does the work that tables need between changes: moves entries, makes larger and smaller tables, and ends
//! lookups that are no longer needed.

use filter_common::labels::Counters;
use filter_common::sets::{PerSet, SetName};

use super::Filter;
use super::judges::JudgeLoading;
use crate::kernel::KernelError;
use crate::kernel::growth::GrowingFamilies;
use crate::kernel::needs::{Needs, Truth};
use crate::kernel::set::SourceSet;

impl Filter {
    /// True if the current tables of all sets have room for `needs`.
    pub fn has_room(&self, needs: &Needs) -> bool {
        let counts =
            needs.counters == Counters::Total || self.sets.blocking().all(|(_, set)| set.is_labelled());
        counts && self.sets.iter().all(|(name, set)| set.has_room(&needs[name]))
    }

    /// True if nothing has to be made or loaded for `needs`.
    pub fn is_ready_for(&self, needs: &Needs) -> bool {
        self.has_room(needs) && self.sets.iter().all(|(name, set)| set.looks_up(&needs[name]))
    }

    /// True if callers that add many entries should wait for a grace period first. Single entries never need
    /// to.
    pub fn is_crowded(&self) -> bool {
        self.sets.iter().any(|(_, set)| set.is_crowded())
    }

    /// True if a larger table is being made in the background.
    pub fn is_growing(&self) -> bool {
        self.growing().any()
    }

    /// The families whose larger table is being made.
    pub fn growing(&self) -> GrowingFamilies {
        self.sets.iter().fold(GrowingFamilies::default(), |growing, (_, set)| growing | set.growing())
    }

    /// Starts making larger tables in the background for each family whose table is too small for `needs`.
    /// Returns the ones that are being made, so that the caller can wait for them. [`reserve`](Self::reserve)
    /// makes the others at once. `settle` does the next steps.
    ///
    /// Also fails if the last such table could not be published. Otherwise callers would wait as long as the
    /// kernel refuses.
    pub fn grow_aside(&mut self, needs: &Needs, _truth: &impl Truth) -> Result<GrowingFamilies, KernelError> {
        self.failed.tables.take().map_or(Ok(()), Err)?;
        let Self { sets, maps, .. } = self;
        let mut sets = sets.iter_mut();
        sets.try_fold(GrowingFamilies::default(), |growing, (name, set)| {
            Ok(growing | set.grow_aside(&needs[name], maps)?)
        })
    }

    /// Does the next step for larger tables and for entries that are being moved, and publishes finished
    /// tables. True if another step is due after a grace period.
    pub fn settle(&mut self, truth: &impl Truth) -> Result<bool, KernelError> {
        let due = self.sets.iter_mut().fold(false, |due, (_, set)| set.advance() || due);
        self.settle_plan(truth, false)?;
        Ok(due)
    }

    /// Does the next step for larger tables only, while moving entries wait for a grace period.
    pub fn grow(&mut self, truth: &impl Truth) -> Result<(), KernelError> {
        self.settle_plan(truth, false)
    }

    /// Does the next step on kernels without grace periods: entries that are being moved get a new table.
    pub fn settle_anew(&mut self, truth: &impl Truth) -> Result<(), KernelError> {
        self.settle_plan(truth, true)
    }

    /// True if tables are much larger than `needs` requires.
    pub fn is_roomy_for(&self, needs: &Needs) -> bool {
        self.sets.iter().any(|(name, set)| set.is_roomy_for(&needs[name]))
    }

    /// Replaces the tables that are much larger than `needs` requires.
    pub fn shrink_to(&mut self, needs: &Needs, truth: &impl Truth) -> Result<(), KernelError> {
        let Self { sets, maps, .. } = self;
        let planned =
            sets.iter_mut().try_for_each(|(name, set)| set.shrink_to(&needs[name], maps, truth.of(name)));
        let published = planned.and_then(|()| self.publish());
        self.or_discard(published)
    }

    /// Ends all lookups that `needs` does not require, so that packets do not pay for them, and removes empty
    /// maps. If nothing is allowed, no judge looks it up. A clause without entries costs nothing.
    pub fn tidy(&mut self, needs: &Needs) -> Result<(), KernelError> {
        if needs.counters == Counters::Total && self.settings().counters == Counters::Total {
            self.maps.count(Counters::Total);
            self.sets.iter_mut().for_each(|(_, set)| set.forget_labels());
        }
        for (name, set) in self.sets.iter_mut() {
            match name {
                SetName::Allow | SetName::Clause(_) | SetName::Out if needs[name].is_empty() => {
                    set.drop_next(&mut self.maps)
                }
                SetName::Block | SetName::Allow | SetName::Clause(_) | SetName::Out => {
                    set.tidy(&needs[name], &mut self.maps)
                }
            }
        }
        if needs.sets.allow.is_empty() {
            self.overlap.drop_next(&mut self.maps);
        }
        let published = self.publish();
        self.or_discard(published)
    }

    /// True if packets from blocked sources are looked up among the allowed targets, too.
    pub fn asks_allow(&self) -> bool {
        self.overlap.is_on()
    }

    fn settle_plan(&mut self, truth: &impl Truth, anew: bool) -> Result<(), KernelError> {
        self.maps.forget_unwanted();
        if let Some(settings) = self.judges.awaited().map(|awaited| awaited.settings) {
            return self.settle_awaited(settings);
        }
        let filled = PerSet::from_fn(|name| self.sets[name].filled());
        if self.waits_for_judge(&filled) {
            return Ok(());
        }
        // The filled tables come into use now. A table that is filled right after them needs a judge of its own.
        self.judges.set_loading(JudgeLoading::Nothing);
        let growing = |sets: &PerSet<SourceSet>| PerSet::from_fn(|name| sets[name].growing());
        let before = growing(&self.sets);
        let mut planned = self.step(&filled, truth);
        let after = growing(&self.sets);
        let is_made = before.iter().any(|(name, before)| before.is_over_in(after[name]));
        if anew {
            planned = planned.and_then(|()| self.plan_anew(truth));
        }
        let published = planned.and_then(|()| self.publish());
        if is_made {
            self.failed.tables = published.as_ref().err().cloned();
        }
        self.or_discard(published)
    }

    /// Loads the judge for the filled larger tables in the background. True if it is worth waiting for,
    /// because the verifier takes time and the owner must serve other requests. If changes made in between
    /// require another judge, that one is loaded when it is published.
    fn waits_for_judge(&mut self, filled: &PerSet<GrowingFamilies>) -> bool {
        let foreseen = PerSet::from_fn(|name| self.sets[name].foreseen(filled[name]));
        if foreseen.iter().all(|(_, set)| set.is_none()) {
            return false;
        }
        let sets = PerSet::from_fn(|name| foreseen[name].clone().unwrap_or_else(|| self.sets[name].spec()));
        let spec = self.spec_of(sets);
        let count = |set: &GrowingFamilies| usize::from(set.addresses) + usize::from(set.six);
        let filled = filled.iter().map(|(_, set)| count(set)).sum();
        let broker = self.maps.broker();
        match self.judges.for_tables() {
            Some((asked, _)) if *asked == spec => {}
            Some((_, before)) if filled <= before => return false,
            // Another table has been filled meanwhile, and both come into use at once. The broker loads one
            // judge at a time.
            Some((asked, _)) if broker.foresee(asked.blueprint()).unwrap_or(false) => return true,
            Some(_) | None => self.judges.set_loading(JudgeLoading::Tables(spec.clone(), filled)),
        }
        // If it cannot be loaded, the publication fails and reports why.
        broker.foresee(spec.blueprint()).unwrap_or(false)
    }

    fn step(&mut self, filled: &PerSet<GrowingFamilies>, truth: &impl Truth) -> Result<(), KernelError> {
        let Self { sets, maps, .. } = self;
        sets.iter_mut().try_for_each(|(name, set)| set.step(filled[name], maps, truth.of(name)))
    }

    fn plan_anew(&mut self, truth: &impl Truth) -> Result<(), KernelError> {
        let Self { sets, maps, .. } = self;
        sets.iter_mut().try_for_each(|(name, set)| set.settle_anew(maps, truth.of(name)))
    }
}
