//! Where packets meet the filter, and its end.

use super::Filter;
use crate::config::Mode;
use crate::kernel::broker::request::{Answer, Request};
use crate::kernel::{Attached, Interface, KernelError};

impl Filter {
    /// Attaches to an interface.
    pub fn attach(&mut self, interface: Interface, mode: Mode) -> Result<Attached, KernelError> {
        match self.maps.broker().ask(Request::Attach {
            name: interface.name,
            index: interface.index,
            mode,
        })? {
            (Answer::Attached(attached), _) => Ok(attached),
            _ => Err(KernelError::broker_gone("it mixed up its answers")),
        }
    }

    /// Takes the filter off an interface that was attached under this name.
    pub fn detach(&mut self, interface: &str) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Detach { interface: interface.to_owned() })
    }

    /// The number of the interface that was attached under this name, in whatever namespace it now is; none if it is gone.
    pub fn whereabouts(&mut self, interface: &str) -> Result<Option<u32>, KernelError> {
        match self.maps.broker().ask(Request::Whereabouts { interface: interface.to_owned() })? {
            (Answer::Whereabouts(index), _) => Ok(index),
            _ => Err(KernelError::broker_gone("it mixed up its answers")),
        }
    }

    /// Takes everything out of the kernel, unless an earlier daemon's filter was found at work: that goes on.
    pub fn rollback(&mut self) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Rollback)
    }

    /// Takes the filter off every interface, and everything out of the kernel.
    pub fn remove(&mut self) -> Result<(), KernelError> {
        self.maps.broker().order(Request::Remove)
    }

    /// Ends the broker, and waits until it is gone: whoever comes next finds the pins as they will stay.
    pub fn end(self) {
        self.maps.into_broker().end();
    }
}
