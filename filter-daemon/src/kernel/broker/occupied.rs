//! Finds out whose program occupies an interface that filterd should filter, and how to remove it.

use std::fs;
use std::path::{Path, PathBuf};

use aya::programs::ProgramInfo;

use super::super::KernelError;
use super::super::hook::Hook;
use super::super::interface::Occupant;
use super::root;
use super::surroundings::LoadedPrograms;
use crate::lock::Holder;

/// The default directory in which filterds create their pin directories.
const USUAL: &str = "/sys/fs/bpf";

/// Whether this program is the root of a filterd.
pub fn is_filterd(program: u32, neighbours: &LoadedPrograms) -> bool {
    [root::NAME, root::NAME_TC].contains(&neighbours.name_of(program).as_str()) || pins_of(program).is_some()
}

/// The error for an interface that another filterd or a foreign program occupies.
pub fn refusal(occupant: &Occupant, name: &str, neighbours: &LoadedPrograms) -> KernelError {
    let (name, id) = (name.to_owned(), occupant.id);
    let (program, link) = (neighbours.name_of(id), neighbours.link_of(id));
    // The name of a program that was loaded later is not accessible, but its pins identify it.
    let pins = pins_of(id);
    let is_root = [root::NAME, root::NAME_TC].contains(&program.as_str());
    if is_root || pins.is_some() {
        let program = if is_root { program } else { root::NAME.to_owned() };
        let holder = pins.as_deref().and_then(Holder::of).map(Box::new);
        return KernelError::Occupied { name, program, id, link, pins, holder };
    }
    let (mode, off) = if occupant.is_generic { ("generic", "xdpgeneric") } else { ("native", "xdpdrv") };
    KernelError::Foreign { name, program, id, mode: mode.to_owned(), off: off.to_owned(), link }
}

/// The directory in which another filterd has pinned this root program.
fn pins_of(program: u32) -> Option<PathBuf> {
    let is_pinned_in = |directory: &Path| {
        Hook::ALL.into_iter().any(|hook| {
            let root = directory.join(format!("root{}", hook.suffix()));
            ProgramInfo::from_pin(root).is_ok_and(|root| root.id() == program)
        })
    };
    fs::read_dir(USUAL).ok()?.flatten().map(|entry| entry.path()).find(|path| is_pinned_in(path))
}
