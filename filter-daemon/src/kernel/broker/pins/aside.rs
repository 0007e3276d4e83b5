//! Pins of attachments that are being replaced by others on the same interface. Each lies aside as
//! `aside-NAME` until the new one works.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::{Pins, entries, remove_pin};
use crate::config::pin;

const ASIDE: &str = "aside-";

impl Pins {
    /// Where the pin of an interface lies meanwhile.
    pub fn link_aside(&self, interface: &str) -> PathBuf {
        self.directory.join(format!("{ASIDE}{}", pin::of(interface)))
    }

    /// Makes room for the pin of another attachment.
    pub fn put_link_aside(&self, interface: &str) -> io::Result<()> {
        fs::rename(self.link(interface), self.link_aside(interface))
    }

    /// Puts the pin back in its place.
    pub fn restore_link(&self, interface: &str) -> io::Result<()> {
        fs::rename(self.link_aside(interface), self.link(interface))
    }

    /// Removes the pin, because the new attachment works.
    pub fn forget_link_aside(&self, interface: &str) -> io::Result<()> {
        remove_pin(&self.link_aside(interface))
    }

    /// The interfaces whose pin a killed filterd left aside.
    pub fn links_aside(&self) -> Vec<String> {
        let interface = |path: PathBuf| {
            let name = path.file_name()?.to_str()?.strip_prefix(ASIDE)?.to_owned();
            pin::interface(&path.with_file_name(name))
        };
        entries(&self.directory).into_iter().filter_map(interface).collect()
    }
}
