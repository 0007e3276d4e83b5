//! Whose program sits on an interface that we were to filter, and what takes it off.

use std::fs;
use std::path::{Path, PathBuf};

use aya::programs::{ProgramInfo, loaded_links, loaded_programs};

use super::super::interface::Occupant;
use super::super::{AttachedMode, KernelError};
use super::root;
use crate::lock::Holder;

/// Where filterds pin what is theirs, unless they are told otherwise.
const USUAL: &str = "/sys/fs/bpf";

/// Why there is no place for us: another filterd, or somebody else's program.
pub fn refusal(occupant: &Occupant, name: &str) -> KernelError {
    let (name, id, link) = (name.to_owned(), occupant.id, link_of(occupant.id));
    let program = program_name(id);
    if program == root::NAME {
        let pins = pins_of(id);
        let holder = pins.as_deref().and_then(Holder::of).map(Box::new);
        return KernelError::Occupied { name, program, id, link, pins, holder };
    }
    let (mode, off) = match occupant.mode {
        AttachedMode::Native => ("native", "xdpdrv"),
        AttachedMode::Generic => ("generic", "xdpgeneric"),
    };
    KernelError::Foreign { name, program, id, mode: mode.to_owned(), off: off.to_owned(), link }
}

/// A question mark if it has no name that we may read.
fn program_name(id: u32) -> String {
    let info = loaded_programs().flatten().find(|info| info.id() == id);
    let name = info.and_then(|info| info.name_as_str().map(ToOwned::to_owned));
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "?".to_owned())
}

/// The link that holds it, if it is held by just one: `ip link` does not take off what a link holds.
fn link_of(program: u32) -> Option<u32> {
    let mut links = loaded_links().flatten().filter(|link| link.program_id() == program);
    links.next().filter(|_| links.next().is_none()).map(|link| link.id())
}

/// The directory in which another filterd has pinned this root.
fn pins_of(program: u32) -> Option<PathBuf> {
    let is_pinned_in = |directory: &Path| {
        ProgramInfo::from_pin(directory.join("root")).is_ok_and(|root| root.id() == program)
    };
    fs::read_dir(USUAL).ok()?.flatten().map(|entry| entry.path()).find(|path| is_pinned_in(path))
}
