//! The pins of own flows: their maps, and `egress/`, which exists only where flows are recorded.

use std::fs;
use std::io;
use std::path::PathBuf;

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

use super::{Pins, entries, remove_pin};
use crate::config::pin;
use crate::kernel::KernelError;

/// The number changes with the layout of keys, values or ports, so that maps of another layout are never
/// used.
const FLOWS: &str = "flows-1";
const PORTS: &str = "ports-1";

const EGRESS: &str = "egress";

impl Pins {
    /// The map of own flows.
    pub fn flows(&self) -> PathBuf {
        self.directory.join(FLOWS)
    }

    /// The map of the UDP ports that begin flows.
    pub fn ports(&self) -> PathBuf {
        self.directory.join(PORTS)
    }

    /// The egress link of an interface, or the note about its filter.
    pub fn egress(&self, interface: &str) -> PathBuf {
        self.directory.join(EGRESS).join(pin::of(interface))
    }

    /// The interfaces that have such a pin.
    pub fn egresses(&self) -> Vec<String> {
        entries(&self.directory.join(EGRESS)).iter().filter_map(|path| pin::interface(path)).collect()
    }

    /// Makes the directory for these pins.
    pub fn make_egress(&self) -> Result<(), KernelError> {
        self.make_ours(EGRESS)
    }

    /// Removes the egress pin of an interface, if it exists.
    pub fn forget_egress(&self, interface: &str) -> io::Result<()> {
        remove_pin(&self.egress(interface))
    }

    /// Renames the egress pin. If the other name is in use, the two pins exchange their names.
    pub fn rename_egress(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.egress(from), self.egress(to));
        let is_there = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
        let both = match (is_there(&from), is_there(&to)) {
            (false, false) => return Ok(()),
            (false, true) => return fs::rename(to, from),
            (true, false) => RenameFlags::RENAME_NOREPLACE,
            (true, true) => RenameFlags::RENAME_EXCHANGE,
        };
        Ok(renameat2(AT_FDCWD, &from, AT_FDCWD, &to, both)?)
    }

    /// Removes own flows and all their pins.
    pub fn forget_flows(&self) -> io::Result<()> {
        [self.flows(), self.ports()].iter().try_for_each(|path| remove_pin(path))?;
        self.clear(EGRESS, |name| pin::spelled(name).is_some())
    }

    /// True if no pin of own flows exists.
    pub(super) fn have_no_flows(&self) -> bool {
        !self.flows().exists() && !self.ports().exists() && self.egresses().is_empty()
    }
}
