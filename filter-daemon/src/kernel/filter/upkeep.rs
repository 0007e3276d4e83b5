//! What the tables need between changes: entries on the move, larger tables made aside, smaller ones, and lookups that
//! nothing needs any more.

use filter_common::labels::Counters;
use filter_common::sets::{PerSet, SetName};

use super::Filter;
use crate::kernel::KernelError;
use crate::kernel::growth::Growing;
use crate::kernel::needs::{Needs, Truth};
use crate::kernel::set::Set;

impl Filter {
    /// Is there room for `needs` in the tables as they are, those of both families and both sets?
    pub fn has_room(&self, needs: &Needs) -> bool {
        let counts =
            needs.counters == Counters::Total || self.sets.blocking().all(|(_, set)| set.is_labelled());
        counts && self.sets.iter().all(|(name, set)| set.has_room(&needs[name]))
    }

    /// Is there even nothing to be made or loaded for them?
    pub fn is_ready_for(&self, needs: &Needs) -> bool {
        self.has_room(needs) && self.sets.iter().all(|(name, set)| set.looks_up(&needs[name]))
    }

    /// Should those who add many entries wait for a grace period first? One entry never needs to.
    pub fn is_crowded(&self) -> bool {
        self.sets.iter().any(|(_, set)| set.is_crowded())
    }

    /// Is a larger table being made aside?
    pub fn is_growing(&self) -> bool {
        self.growing().any()
    }

    /// For which families?
    pub fn growing(&self) -> Growing {
        self.sets.iter().fold(Growing::default(), |growing, (_, set)| growing | set.growing())
    }

    /// Begins to make tables with room for `needs` aside, for each family that has one which is too small. Tells which of
    /// those that are too small are being made then, and so are worth waiting for; the others [`reserve`](Self::reserve)
    /// makes at once. `settle` does the next steps. Fails, too, if the table made last could not be published: else those
    /// who wait would wait as long as the kernel refuses.
    pub fn grow_aside(&mut self, needs: &Needs, _truth: &impl Truth) -> Result<Growing, KernelError> {
        self.in_vain.take().map_or(Ok(()), Err)?;
        let Self { sets, maps, .. } = self;
        let mut sets = sets.iter_mut();
        sets.try_fold(Growing::default(), |growing, (name, set)| {
            Ok(growing | set.grow_aside(&needs[name], maps)?)
        })
    }

    /// Does the next step for larger tables in the making and for entries on the move, and publishes what is done. True if
    /// another step is due after a grace period.
    pub fn settle(&mut self, truth: &impl Truth) -> Result<bool, KernelError> {
        let due = self.sets.iter_mut().fold(false, |due, (_, set)| set.advance() || due);
        self.settle_plan(truth, false)?;
        Ok(due)
    }

    /// The same for larger tables alone, while those on the move wait for a grace period.
    pub fn grow(&mut self, truth: &impl Truth) -> Result<(), KernelError> {
        self.settle_plan(truth, false)
    }

    /// The same for kernels without grace periods: entries on the move get a table of their own.
    pub fn settle_anew(&mut self, truth: &impl Truth) -> Result<(), KernelError> {
        self.settle_plan(truth, true)
    }

    /// Are tables much larger than `needs`?
    pub fn is_roomy_for(&self, needs: &Needs) -> bool {
        self.sets.iter().any(|(name, set)| set.is_roomy_for(&needs[name]))
    }

    /// Makes those tables anew that are much larger than `needs`.
    pub fn shrink_to(&mut self, needs: &Needs, truth: &impl Truth) -> Result<(), KernelError> {
        let Self { sets, maps, .. } = self;
        let planned =
            sets.iter_mut().try_for_each(|(name, set)| set.shrink_to(&needs[name], maps, truth.of(name)));
        let published = planned.and_then(|()| self.publish());
        self.or_discard(published)
    }

    /// Looks up no more than `needs`, which is all there is: packets pay for nothing else, and empty maps go. Where nothing
    /// is allowed, no judge asks, and a clause of which nothing is on the list costs nothing.
    pub fn tidy(&mut self, needs: &Needs) -> Result<(), KernelError> {
        if needs.counters == Counters::Total && self.settings().counters == Counters::Total {
            self.maps.count(Counters::Total);
            self.sets.iter_mut().for_each(|(_, set)| set.forget_labels());
        }
        for (name, set) in self.sets.iter_mut() {
            match name {
                SetName::Allow | SetName::Clause(_) if needs[name].is_empty() => {
                    set.drop_next(&mut self.maps)
                }
                SetName::Block | SetName::Allow | SetName::Clause(_) => {
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

    /// Do packets from blocked sources ask what is allowed, too?
    pub fn asks_allow(&self) -> bool {
        self.overlap.is_on()
    }

    fn settle_plan(&mut self, truth: &impl Truth, anew: bool) -> Result<(), KernelError> {
        self.maps.forget_unwanted();
        if let Some(awaited) = self.awaited.clone() {
            return self.settle_awaited(&awaited);
        }
        let filled = PerSet::from_fn(|name| self.sets[name].filled());
        if self.waits_for_judge(&filled) {
            return Ok(());
        }
        let growing = |sets: &PerSet<Set>| PerSet::from_fn(|name| sets[name].growing());
        let before = growing(&self.sets);
        let mut planned = self.step(&filled, truth);
        let after = growing(&self.sets);
        let is_made = before.iter().any(|(name, before)| before.is_over_in(after[name]));
        if anew {
            planned = planned.and_then(|()| self.plan_anew(truth));
        }
        let published = planned.and_then(|()| self.publish());
        if is_made {
            self.in_vain = published.as_ref().err().cloned();
        }
        self.or_discard(published)
    }

    /// Has the judge loaded that the larger tables which are filled will want, and tells whether it is worth waiting for: a
    /// verifier takes its time, and the owner has others to serve. What comes in between makes it another judge; that one is
    /// loaded when it is published.
    fn waits_for_judge(&mut self, filled: &PerSet<Growing>) -> bool {
        let foreseen = PerSet::from_fn(|name| self.sets[name].foreseen(filled[name]));
        if foreseen.iter().all(|(_, set)| set.is_none()) {
            self.foreseen = None;
            return false;
        }
        let sets = PerSet::from_fn(|name| foreseen[name].clone().unwrap_or_else(|| self.sets[name].spec()));
        let spec = self.spec_of(sets);
        let count = |set: &Growing| usize::from(set.addresses) + usize::from(set.six);
        let filled = filled.iter().map(|(_, set)| count(set)).sum();
        let (asked, before) = self.foreseen.get_or_insert_with(|| (spec.clone(), filled));
        if *asked != spec {
            if filled <= *before {
                return false;
            }
            // Another table has been filled meanwhile, and both take their places at once. The broker loads one at a time.
            if self.maps.broker().foresee(asked.blueprint()).unwrap_or(false) {
                return true;
            }
            self.foreseen = Some((spec.clone(), filled));
        }
        // Where it cannot be loaded, whoever publishes will be told why.
        self.maps.broker().foresee(spec.blueprint()).unwrap_or(false)
    }

    fn step(&mut self, filled: &PerSet<Growing>, truth: &impl Truth) -> Result<(), KernelError> {
        let Self { sets, maps, .. } = self;
        sets.iter_mut().try_for_each(|(name, set)| set.step(filled[name], maps, truth.of(name)))
    }

    fn plan_anew(&mut self, truth: &impl Truth) -> Result<(), KernelError> {
        let Self { sets, maps, .. } = self;
        sets.iter_mut().try_for_each(|(name, set)| set.settle_anew(maps, truth.of(name)))
    }
}
