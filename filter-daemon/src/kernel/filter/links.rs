//! Attaches the filter to interfaces, and removes it.

use std::os::fd::OwnedFd;

use filter_common::flow::KEY_WORDS;

use super::Filter;
use crate::config::Mode;
use crate::kernel::broker::request::{Repairs, Reply, Request};
use crate::kernel::hook::Hook;
use crate::kernel::{Attachment, KernelError, KernelInterface, Link};

impl Filter {
    pub fn attach(&mut self, interface: KernelInterface, mode: Mode) -> Result<Attachment, KernelError> {
        match self.maps.broker().ask(Request::Attach {
            name: interface.name,
            index: interface.index,
            mode,
        })? {
            (Reply::Attached(attached), _) => Ok(attached),
            _ => Err(KernelError::broker_gone("its answers are out of order")),
        }
    }

    /// Loads judges for these hooks as well from now on, before anything is attached there.
    pub fn expect(&mut self, hooks: &[Hook]) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Expect(hooks.to_vec()))
    }

    /// Takes the filter off an interface that was attached under this name.
    pub fn detach(&mut self, interface: &str) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Detach { interface: interface.to_owned() })
    }

    /// Adopts every pinned link that an earlier daemon left, under any name.
    pub fn adopt(&mut self) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Adopt)
    }

    /// Our links that are still on interfaces, with the programs there.
    pub fn links(&mut self) -> Result<Vec<Link>, KernelError> {
        match self.maps.broker().ask(Request::Look)? {
            (Reply::Links(links), _) => Ok(links),
            _ => Err(KernelError::broker_gone("its answers are out of order")),
        }
    }

    /// The map of the UDP ports that begin flows.
    pub fn ports(&mut self) -> Result<OwnedFd, KernelError> {
        let (_, made) = self.maps.broker().ask(Request::Ports)?;
        made.ok_or_else(|| KernelError::broker_gone("it has the map of ports and kept it"))
    }

    /// Records flows that are open already.
    pub fn seed(&mut self, keys: Vec<[u64; KEY_WORDS]>) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Seed(keys))
    }

    /// Attaches the filter again on every interface that has it. Returns the number of the program that is
    /// attached then.
    pub fn renew(&mut self) -> Result<u32, KernelError> {
        match self.maps.broker().ask(Request::Renew)? {
            (Reply::Renewed(program), _) => Ok(program),
            _ => Err(KernelError::broker_gone("its answers are out of order")),
        }
    }

    /// Restores pins, the judge in its slot, and the egress program, wherever someone removed or replaced
    /// them. Fails if one cannot be restored.
    pub fn mend_pins(&mut self) -> Result<Repairs, KernelError> {
        match self.maps.broker().ask(Request::MendPins)? {
            (Reply::Mended(mended), _) => Ok(mended),
            _ => Err(KernelError::broker_gone("its answers are out of order")),
        }
    }

    /// Renames a link. If the other name is in use, the two links exchange their names. `formerly` is the
    /// name under which the link was requested, if another interface has that name now.
    pub fn rename(&mut self, from: &str, to: &str, formerly: Option<String>) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Rename { from: from.to_owned(), to: to.to_owned(), formerly })
    }

    /// True if an earlier filterd left tables.
    pub fn find_earlier_tables(&mut self) -> bool {
        self.maps.broker().latest_generation() > 0
    }

    /// Removes everything from the kernel, unless an earlier daemon's filter was found at work: that one
    /// keeps working.
    pub fn rollback(&mut self) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Rollback)
    }

    /// Takes the filter off every interface, and removes everything from the kernel.
    pub fn remove(&mut self) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Remove)
    }

    /// The error that says how the broker ended, if it has ended.
    pub fn obituary(&mut self) -> Option<KernelError> {
        self.maps.broker().obituary()
    }

    /// Ends the broker and waits for it, so that the next filterd finds the pins in their final state.
    pub fn end(self) {
        self.maps.into_broker().end();
    }
}
