//! What the tables need between changes: entries on the move, larger tables made aside, smaller ones, and lookups that
//! nothing needs any more.

use super::Filter;
use filter_common::labels::Counters;

use crate::kernel::KernelError;
use crate::kernel::growth::Growing;
use crate::kernel::needs::{Needs, Truth};

impl Filter {
    /// Is there room for `needs` in the tables as they are, those of both families and both sets?
    pub fn has_room(&self, needs: &Needs) -> bool {
        let counts = needs.counters == Counters::Total || self.block.is_labelled();
        counts && self.block.has_room(&needs.block) && self.allow.has_room(&needs.allow)
    }

    /// Is there even nothing to be made or loaded for them?
    pub fn is_ready_for(&self, needs: &Needs) -> bool {
        self.has_room(needs) && self.block.looks_up(&needs.block) && self.allow.looks_up(&needs.allow)
    }

    /// Should those who add many entries wait for a grace period first? One entry never needs to.
    pub fn is_crowded(&self) -> bool {
        self.block.is_crowded() || self.allow.is_crowded()
    }

    /// Is a larger table being made aside?
    pub fn is_growing(&self) -> bool {
        self.growing().any()
    }

    /// For which families?
    pub fn growing(&self) -> Growing {
        self.block.growing() | self.allow.growing()
    }

    /// Begins to make tables with room for `needs` aside, for each family that has one which is too small. Tells which of
    /// those that are too small are being made then, and so are worth waiting for; the others [`reserve`](Self::reserve)
    /// makes at once. `settle` does the next steps. Fails, too, if the table made last could not be published: else those
    /// who wait would wait as long as the kernel refuses.
    pub fn grow_aside(&mut self, needs: &Needs, _truth: &impl Truth) -> Result<Growing, KernelError> {
        self.in_vain.take().map_or(Ok(()), Err)?;
        let block = self.block.grow_aside(&needs.block, &mut self.maps)?;
        Ok(block | self.allow.grow_aside(&needs.allow, &mut self.maps)?)
    }

    /// Does the next step for larger tables in the making and for entries on the move, and publishes what is done. True if
    /// another step is due after a grace period.
    pub fn settle(&mut self, truth: &impl Truth) -> Result<bool, KernelError> {
        let due = [self.block.advance(), self.allow.advance()];
        self.settle_plan(truth, false)?;
        Ok(due.contains(&true))
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
        self.block.is_roomy_for(&needs.block) || self.allow.is_roomy_for(&needs.allow)
    }

    /// Makes those tables anew that are much larger than `needs`.
    pub fn shrink_to(&mut self, needs: &Needs, truth: &impl Truth) -> Result<(), KernelError> {
        let block = self.block.shrink_to(&needs.block, &mut self.maps, truth.block());
        let planned = block.and_then(|()| self.allow.shrink_to(&needs.allow, &mut self.maps, truth.allow()));
        let published = planned.and_then(|()| self.publish());
        self.or_discard(published)
    }

    /// Looks up no more than `needs`, which is all there is: packets pay for nothing else, and empty maps go. Where nothing
    /// is allowed, no judge asks.
    pub fn tidy(&mut self, needs: &Needs) -> Result<(), KernelError> {
        if needs.counters == Counters::Total && self.settings().counters == Counters::Total {
            self.maps.count(Counters::Total);
            self.block.forget_labels();
        }
        self.block.tidy(&needs.block, &mut self.maps);
        if needs.allow.is_empty() {
            self.allow.drop_next(&mut self.maps);
            self.overlap.drop_next(&mut self.maps);
        } else {
            self.allow.tidy(&needs.allow, &mut self.maps);
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
        let before = [self.block.growing(), self.allow.growing()];
        let mut planned = self.step(truth);
        let after = [self.block.growing(), self.allow.growing()];
        let is_made = before.into_iter().zip(after).any(|(before, after)| before.is_over_in(after));
        if anew {
            planned = planned.and_then(|()| self.plan_anew(truth));
        }
        let published = planned.and_then(|()| self.publish());
        if is_made {
            self.in_vain = published.as_ref().err().cloned();
        }
        self.or_discard(published)
    }

    fn step(&mut self, truth: &impl Truth) -> Result<(), KernelError> {
        self.block.step(&mut self.maps, truth.block())?;
        self.allow.step(&mut self.maps, truth.allow())
    }

    fn plan_anew(&mut self, truth: &impl Truth) -> Result<(), KernelError> {
        self.block.settle_anew(&mut self.maps, truth.block())?;
        self.allow.settle_anew(&mut self.maps, truth.allow())
    }
}
