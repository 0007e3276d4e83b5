//! What the tables need between changes: entries on the move, larger tables made aside, smaller ones, and lookups that
//! nothing needs any more.

use super::Filter;
use crate::kernel::KernelError;
use crate::kernel::growth::Growing;
use crate::kernel::needs::{Needs, Truth};

impl Filter {
    /// Is there room for `needs` in the tables as they are, those of both families?
    pub fn has_room(&self, needs: &Needs) -> bool {
        self.block.has_room(&needs.block)
    }

    /// Is there even nothing to be made or loaded for them?
    pub fn is_ready_for(&self, needs: &Needs) -> bool {
        self.has_room(needs) && self.block.looks_up(&needs.block)
    }

    /// Should those who add many entries wait for a grace period first? One entry never needs to.
    pub fn is_crowded(&self) -> bool {
        self.block.addresses.is_crowded() || self.block.six.is_crowded()
    }

    /// Is a larger table being made aside?
    pub fn is_growing(&self) -> bool {
        self.growing().any()
    }

    /// For which families?
    pub fn growing(&self) -> Growing {
        self.block.growing()
    }

    /// Begins to make tables with room for `needs` aside, for each family that has one which is too small. Tells which of
    /// those that are too small are being made then, and so are worth waiting for; the others [`reserve`](Self::reserve)
    /// makes at once. `settle` does the next steps. Fails, too, if the table made last could not be published: else those
    /// who wait would wait as long as the kernel refuses.
    pub fn grow_aside(&mut self, needs: &Needs, _truth: &impl Truth) -> Result<Growing, KernelError> {
        self.in_vain.take().map_or(Ok(()), Err)?;
        self.block.grow_aside(&needs.block, &mut self.maps)
    }

    /// Does the next step for larger tables in the making and for entries on the move, and publishes what is done. True if
    /// another step is due after a grace period.
    pub fn settle(&mut self, truth: &impl Truth) -> Result<bool, KernelError> {
        let due = self.block.advance();
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
        self.block.is_roomy_for(&needs.block)
    }

    /// Makes those tables anew that are much larger than `needs`.
    pub fn shrink_to(&mut self, needs: &Needs, truth: &impl Truth) -> Result<(), KernelError> {
        let planned = self.block.shrink_to(&needs.block, &mut self.maps, truth.block());
        let published = planned.and_then(|()| self.publish());
        self.or_discard(published)
    }

    /// Looks up no more than `needs`, which is all there is: packets pay for nothing else, and empty maps go.
    pub fn tidy(&mut self, needs: &Needs) -> Result<(), KernelError> {
        self.block.tidy(&needs.block, &mut self.maps);
        let published = self.publish();
        self.or_discard(published)
    }

    fn settle_plan(&mut self, truth: &impl Truth, anew: bool) -> Result<(), KernelError> {
        self.maps.forget_unwanted();
        let before = self.growing();
        let mut planned = self.block.step(&mut self.maps, truth.block());
        let after = self.growing();
        let is_made = before.addresses && !after.addresses || before.six && !after.six;
        if anew {
            planned = planned.and_then(|()| self.block.settle_anew(&mut self.maps, truth.block()));
        }
        let published = planned.and_then(|()| self.publish());
        if is_made {
            self.in_vain = published.as_ref().err().cloned();
        }
        self.or_discard(published)
    }
}
