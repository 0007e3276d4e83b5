//! The pins of own flows, and of programs on sent frames, whose directories exist only where there are any.

use std::fs;
use std::io;
use std::path::PathBuf;

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

use super::super::sent_work::{self, SentWork};
use super::{Pins, entries, remove_pin};
use crate::config::pin;
use crate::kernel::KernelError;

/// The number changes with the layout of keys, values or ports, so that maps of another layout are never
/// used.
const FLOWS: &str = "flows-1";
const PORTS: &str = "ports-1";

const CONNECT: &str = "connect";

impl Pins {
    /// The map of own flows.
    pub fn flows(&self) -> PathBuf {
        self.directory.join(FLOWS)
    }

    /// The map of the UDP ports that begin flows.
    pub fn ports(&self) -> PathBuf {
        self.directory.join(PORTS)
    }

    /// The egress link of an interface for this work, or the note about its filter.
    pub fn sent(&self, work: SentWork, interface: &str) -> PathBuf {
        self.directory.join(work.directory()).join(pin::of(interface))
    }

    /// The interfaces that have such a pin.
    pub fn all_sent(&self, work: SentWork) -> Vec<String> {
        entries(&self.directory.join(work.directory()))
            .iter()
            .filter_map(|path| pin::interface(path))
            .collect()
    }

    /// Makes the directory for these pins.
    pub fn make_sent(&self, work: SentWork) -> Result<(), KernelError> {
        self.make_ours(work.directory())
    }

    /// Removes the egress pin of an interface, if it exists.
    pub fn forget_sent(&self, work: SentWork, interface: &str) -> io::Result<()> {
        remove_pin(&self.sent(work, interface))
    }

    /// Removes all egress pins of this work.
    pub fn forget_all_sent(&self, work: SentWork) -> io::Result<()> {
        self.clear(work.directory(), |name| pin::spelled(name).is_some())
    }

    /// Renames the egress pin. If the other name is in use, the two pins exchange their names.
    pub fn rename_sent(&self, work: SentWork, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.sent(work, from), self.sent(work, to));
        let is_there = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
        let both = match (is_there(&from), is_there(&to)) {
            (false, false) => return Ok(()),
            (false, true) => return fs::rename(to, from),
            (true, false) => RenameFlags::RENAME_NOREPLACE,
            (true, true) => RenameFlags::RENAME_EXCHANGE,
        };
        Ok(renameat2(AT_FDCWD, &from, AT_FDCWD, &to, both)?)
    }

    /// The link of a program at the root cgroup.
    pub fn connect(&self, program: &str) -> PathBuf {
        self.directory.join(CONNECT).join(program)
    }

    /// The link that is about to replace it.
    pub fn new_connect(&self, program: &str) -> PathBuf {
        self.directory.join(CONNECT).join(format!("new_{program}"))
    }

    /// Makes the directory for these links.
    pub fn make_connect(&self) -> Result<(), KernelError> {
        self.make_ours(CONNECT)
    }

    /// Removes the pins of cgroup programs, and so detaches them.
    pub fn forget_connect(&self) -> io::Result<()> {
        let is_ours = |name: &str| sent_work::CONNECT.contains(&name.strip_prefix("new_").unwrap_or(name));
        self.clear(CONNECT, is_ours)
    }

    /// Removes own flows and their maps' pins.
    pub fn forget_flows(&self) -> io::Result<()> {
        [self.flows(), self.ports()].iter().try_for_each(|path| remove_pin(path))
    }

    /// True if no pin of own flows exists, and none of a program on sent frames.
    pub(super) fn have_nothing_sent(&self) -> bool {
        let is_unused = |work| self.all_sent(work).is_empty();
        !self.flows().exists() && !self.ports().exists() && SentWork::ALL.into_iter().all(is_unused)
    }
}
