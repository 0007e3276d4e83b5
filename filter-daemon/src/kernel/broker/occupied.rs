//! Whose program sits on an interface that we were to filter, and what takes it off.

use std::fs;
use std::path::{Path, PathBuf};

use aya::programs::ProgramInfo;

use super::super::interface::Occupant;
use super::super::{AttachedMode, KernelError};
use super::root;
use super::surroundings::Neighbours;
use crate::lock::Holder;

/// Where filterds pin what is theirs, unless they are told otherwise.
const USUAL: &str = "/sys/fs/bpf";

/// Why there is no place for us: another filterd, or somebody else's program.
pub fn refusal(occupant: &Occupant, name: &str, neighbours: &Neighbours) -> KernelError {
    let (name, id) = (name.to_owned(), occupant.id);
    let (program, link) = (neighbours.name_of(id), neighbours.link_of(id));
    // Of one that came later we may not ask the name, but its pins tell.
    let pins = pins_of(id);
    if program == root::NAME || pins.is_some() {
        let program = root::NAME.to_owned();
        let holder = pins.as_deref().and_then(Holder::of).map(Box::new);
        return KernelError::Occupied { name, program, id, link, pins, holder };
    }
    let (mode, off) = match occupant.mode {
        AttachedMode::Native => ("native", "xdpdrv"),
        AttachedMode::Generic => ("generic", "xdpgeneric"),
    };
    KernelError::Foreign { name, program, id, mode: mode.to_owned(), off: off.to_owned(), link }
}

/// The directory in which another filterd has pinned this root.
fn pins_of(program: u32) -> Option<PathBuf> {
    let is_pinned_in = |directory: &Path| {
        ProgramInfo::from_pin(directory.join("root")).is_ok_and(|root| root.id() == program)
    };
    fs::read_dir(USUAL).ok()?.flatten().map(|entry| entry.path()).find(|path| is_pinned_in(path))
}
