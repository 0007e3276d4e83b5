//! Where packets meet the filter, and its end.

use std::os::fd::OwnedFd;

use filter_common::flow::KEY_WORDS;

use super::Filter;
use crate::config::Mode;
use crate::kernel::broker::request::{Answer, Mended, Request};
use crate::kernel::{Attached, Interface, KernelError, Link};

impl Filter {
    /// Attaches to an interface.
    pub fn attach(&mut self, interface: Interface, mode: Mode) -> Result<Attached, KernelError> {
        match self.maps.broker().ask(Request::Attach {
            name: interface.name,
            index: interface.index,
            mode,
        })? {
            (Answer::Attached(attached), _) => Ok(attached),
            _ => Err(KernelError::broker_gone("its answers are out of order")),
        }
    }

    /// Takes the filter off an interface that was attached under this name.
    pub fn detach(&mut self, interface: &str) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Detach { interface: interface.to_owned() })
    }

    /// Takes every link for ours that an earlier daemon has left pinned, by whatever name.
    pub fn adopt(&mut self) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Adopt)
    }

    /// Our links that are still on interfaces, with what sits there.
    pub fn links(&mut self) -> Result<Vec<Link>, KernelError> {
        match self.maps.broker().ask(Request::Look)? {
            (Answer::Links(links), _) => Ok(links),
            _ => Err(KernelError::broker_gone("its answers are out of order")),
        }
    }

    /// The map of the UDP ports that begin flows.
    pub fn ports(&mut self) -> Result<OwnedFd, KernelError> {
        let (_, made) = self.maps.broker().ask(Request::Ports)?;
        made.ok_or_else(|| KernelError::broker_gone("it has the map of ports and kept it"))
    }

    /// Remembers flows that are open.
    pub fn seed(&mut self, keys: Vec<[u64; KEY_WORDS]>) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Seed(keys))
    }

    /// Gives the filter anew to every interface that has it. Tells the number of the program that sits there then.
    pub fn renew(&mut self) -> Result<u32, KernelError> {
        match self.maps.broker().ask(Request::Renew)? {
            (Answer::Renewed(program), _) => Ok(program),
            _ => Err(KernelError::broker_gone("its answers are out of order")),
        }
    }

    /// Puts back pins, the judge in its slot and the egress program, where somebody has removed or replaced them; fails
    /// where that cannot be.
    pub fn mend_pins(&mut self) -> Result<Mended, KernelError> {
        match self.maps.broker().ask(Request::MendPins)? {
            (Answer::Mended(mended), _) => Ok(mended),
            _ => Err(KernelError::broker_gone("its answers are out of order")),
        }
    }

    /// Knows a link by another name; if one is known by that already, the two exchange their names. `formerly` is the name
    /// it was asked for by, if another interface has that now.
    pub fn rename(&mut self, from: &str, to: &str, formerly: Option<String>) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Rename { from: from.to_owned(), to: to.to_owned(), formerly })
    }

    /// Were there tables of a filterd that is no more?
    pub fn was_left_at_work(&mut self) -> bool {
        self.maps.broker().latest_generation() > 0
    }

    /// Takes everything out of the kernel, unless an earlier daemon's filter was found at work: that goes on.
    pub fn rollback(&mut self) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Rollback)
    }

    /// Lets packets meet this filter in place of another filterd's, which goes on beside until then; and after `too_late`
    /// (milliseconds of the machine's uptime), too.
    pub fn succeed(&mut self, too_late: u64) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Succeed { too_late })
    }

    /// The other filterd has gone.
    pub fn stand_alone(&mut self) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Settle)
    }

    /// Lets packets meet this filter again, after another filterd has failed to take its place.
    pub fn come_back(&mut self) -> Result<(), KernelError> {
        self.maps.broker().order(Request::ComeBack)
    }

    /// Leaves everything to the filterd that has taken this one's place.
    pub fn give_way(&mut self) -> Result<(), KernelError> {
        self.maps.broker().order(Request::GiveWay)
    }

    /// Takes the filter off every interface, and everything out of the kernel.
    pub fn remove(&mut self) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Remove)
    }

    /// If the broker is gone, the error that says how it ended.
    pub fn obituary(&mut self) -> Option<KernelError> {
        self.maps.broker().obituary()
    }

    /// Ends the broker, and waits until it is gone: whoever comes next finds the pins as they will stay.
    pub fn end(self) {
        self.maps.into_broker().end();
    }
}
