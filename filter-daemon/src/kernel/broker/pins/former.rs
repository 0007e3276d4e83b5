//! Notes under which names links were requested, before other interfaces took these names. A start of filterd
//! thereby keeps these links. Each note is a symbolic link `formerly-NOW` to the former name, which only the
//! owner of the pins can have made.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::{Pins, entries, remove_pin};
use crate::config::{check_interface_name, pin};

const FORMERLY: &str = "formerly-";

impl Pins {
    /// The name under which the link called `now` was requested, if another interface has taken it.
    pub fn former_name(&self, now: &str) -> Option<String> {
        let name = fs::read_link(self.former(now)).ok()?.to_str()?.to_owned();
        check_interface_name(&name).is_ok().then_some(name)
    }

    /// Notes the former name, or removes the note.
    pub fn note_former_name(&self, now: &str, before: Option<&str>) -> io::Result<()> {
        let path = self.former(now);
        remove_pin(&path)?;
        before.map_or(Ok(()), |before| symlink(before, path))
    }

    /// Removes the pin of a link, if it exists, and the note about it.
    pub fn forget_link(&self, name: &str) -> io::Result<()> {
        remove_pin(&self.link(name))?;
        self.note_former_name(name, None)
    }

    pub(super) fn forget_former_names(&self) -> io::Result<()> {
        let is_note = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            path.is_symlink() && name.is_some_and(|name| name.starts_with(FORMERLY))
        };
        entries(&self.directory).iter().filter(|path| is_note(path)).try_for_each(|path| remove_pin(path))
    }

    fn former(&self, now: &str) -> PathBuf {
        self.directory.join(format!("{FORMERLY}{}", pin::of(now)))
    }
}
