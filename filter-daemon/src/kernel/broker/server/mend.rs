//! Restores pins that someone removed or replaced. Without them the filter would end with this process, and
//! no other judge could be loaded on its tables. Also restores the judge in its slot.

use std::os::fd::{AsFd, OwnedFd};

use aya::maps::MapData;
use nix::unistd::geteuid;

use super::super::link;
use super::super::request::Repairs;
use super::{BrokerServer, counters, storage};
use crate::kernel::KernelError;
use crate::kernel::hook::Hook;

impl BrokerServer {
    /// Checks the judge's slot and all our pins, and restores them.
    pub(super) fn mend_pins(&mut self) -> Result<(), KernelError> {
        if self.is_gone {
            return Ok(());
        }
        self.roots.mend_slots(&mut self.mending)?;
        self.mend_directories()?;
        self.roots.mend(&mut self.mending)?;
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
        self.outbound.mend_pins(&self.pins, &mut self.mending)?;
        self.mend_outbound()?;
        self.mend_connect()
    }

    /// Reports the repairs since the last call.
    pub(super) fn mended(&mut self) -> Repairs {
        let (egress, tampered) = (self.egress.programs().take_newly_attached(), self.mending.take());
        Repairs { egress, tampered, owner: geteuid().as_raw(), calls: self.connect.state() }
    }

    /// Gives every link of XDP our program again, and returns the program's number. Some drivers (virtio_net)
    /// lose it while the machine sleeps, although the kernel still reports it.
    pub(super) fn renew(&mut self) -> Result<u32, KernelError> {
        let root = self.roots.get(Hook::Xdp)?;
        if let Some(judge) = &self.published
            && !self.is_gone
            && judge.program(Hook::Xdp).is_some()
        {
            root.renew(judge, &self.pins)?;
            link::hand_over(&mut self.roots, &self.pins, |hook, _| hook == Hook::Xdp)?;
            self.roots.get(Hook::Xdp)?.promote(&self.pins)?;
        }
        self.roots.get(Hook::Xdp)?.id()
    }

    /// Recreates missing directories and locks a new one. If another filterd has locked it first, that
    /// filterd keeps it.
    pub(super) fn mend_directories(&mut self) -> Result<(), KernelError> {
        if self.is_gone {
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

    /// Opens the counters, which are made for the first judge unless an earlier filterd left some.
    pub(super) fn hold_counters(&mut self) -> Result<(), KernelError> {
        if self.counters.is_none() {
            self.counters = Some(counters::open(&self.pins)?);
        }
        Ok(())
    }

    /// Closes the descriptors of discarded tables, because they would keep the memory.
    pub(super) fn forget_tables(&mut self) {
        let kept = self.kept.maps();
        self.tables.retain(|(map, _)| kept.contains(map));
    }
}

/// Another descriptor of the same map, to be passed on.
pub(super) fn share(map: &MapData) -> Result<OwnedFd, KernelError> {
    let shared = map.fd().as_fd().try_clone_to_owned();
    shared.map_err(|error| KernelError::load("hand a table over", error))
}
