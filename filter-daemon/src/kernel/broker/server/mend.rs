//! Pins that somebody has removed or replaced are put back: without them the filter would go with this process, and no other
//! judge could be loaded over its tables. So is the judge, where somebody has taken it out of its slot.

use std::os::fd::{AsFd, OwnedFd};

use aya::maps::MapData;
use nix::unistd::geteuid;

use super::super::request::Mended;
use super::{Server, counters, storage};
use crate::kernel::KernelError;

impl Server {
    /// Looks whether the judge is in its slot, and every pin of ours is there. One that is about to take another's place has
    /// few, and not for long.
    pub(super) fn mend_pins(&mut self) -> Result<(), KernelError> {
        if self.is_gone || self.is_apart {
            return Ok(());
        }
        self.root.mend_slot(&mut self.mending)?;
        self.mend_directories()?;
        self.root.mend(&self.pins, &mut self.mending)?;
        if let Some(counters) = &self.counters {
            storage::pin_again(counters, &self.pins.counters(), &mut self.mending)?;
        }
        for (map, held) in &self.tables {
            storage::pin_again(held, &self.pins.table(*map), &mut self.mending)?;
        }
        self.links.mend(&self.pins, &mut self.mending)?;
        if self.matches_new() {
            self.egress.mend_pins(&self.pins, &mut self.mending)?;
            let links = self.links.look(&self.pins);
            self.egress.mend(&links, &self.pins);
        }
        Ok(())
    }

    /// What has been put right since this was asked last.
    pub(super) fn mended(&mut self) -> Mended {
        let (egress, tampered) = (self.egress.was_attached(), self.mending.take());
        Mended { egress, tampered, owner: geteuid().as_raw() }
    }

    /// Gives every link our program anew. Some drivers forget it while the machine sleeps (virtio_net does), and the kernel
    /// goes on saying that it is there. Tells the program's number.
    pub(super) fn renew(&mut self) -> Result<u32, KernelError> {
        if let Some(judge) = &self.published
            && !self.is_gone
            && !self.is_apart
        {
            self.root.renew(judge, &self.pins)?;
        }
        self.root.id()
    }

    /// The lock is one for the directory that was there: whoever has locked the one that is there now keeps it.
    pub(super) fn mend_directories(&mut self) -> Result<(), KernelError> {
        if self.is_gone || self.is_apart {
            return Ok(());
        }
        if self.pins.is_missing() {
            self.mending.note_missing();
        }
        self.pins.make()?;
        if !self.lock.is_at(self.pins.directory()) {
            self.lock = self.pins.lock("")?;
        }
        Ok(())
    }

    /// Our own hold on the counters, which are made for the first judge unless an earlier filterd has left some.
    pub(super) fn hold_counters(&mut self) -> Result<(), KernelError> {
        if self.counters.is_none() {
            self.counters = Some(counters::open(&self.pins)?);
        }
        Ok(())
    }

    /// Tables that nobody wants any more are not to be held: that would keep their memory.
    pub(super) fn forget_tables(&mut self) {
        let kept = self.kept.maps();
        self.tables.retain(|(map, _)| kept.contains(map));
    }
}

/// The same map for somebody else.
pub(super) fn share(map: &MapData) -> Result<OwnedFd, KernelError> {
    let shared = map.fd().as_fd().try_clone_to_owned();
    shared.map_err(|error| KernelError::load("hand a table over", error))
}
