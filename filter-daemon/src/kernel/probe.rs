//! Finds out which required features the kernel has, and whose programs are loaded. It attaches nothing, and
//! unloads its test programs at once.

use std::io;
use std::path::Path;

use aya::maps::MapType;
use aya::programs::{ProgramInfo, ProgramType, loaded_programs};
use aya::sys::{BpfHelper, is_helper_supported, is_map_supported, is_program_supported};

use super::KernelError;
use super::broker::surroundings::LoadedPrograms;
use super::broker::{occupied, root, tc};
use super::error::errno_of;
use super::hook::Hook;
use super::interface::{KernelInterface, Occupant};

#[derive(Debug)]
pub struct Feature {
    /// The name, in the words of the kernel's documentation.
    pub name: &'static str,
    /// Whether the kernel has it, or why this could not be determined.
    pub is_there: io::Result<bool>,
}

/// Checks all features that filterd needs.
pub fn features() -> Vec<Feature> {
    let asked = [
        ("XDP programs", program(ProgramType::Xdp)),
        ("programs on what interfaces send (`match: new`)", program(ProgramType::SchedClassifier)),
        ("arrays", map(MapType::Array)),
        ("tail calls", map(MapType::ProgramArray)),
        ("LRU hashes (`match: new`)", map(MapType::LruHash)),
        ("ring buffers (`filterd watch`)", map(MapType::RingBuf)),
        ("reading frames in pieces", helper(BpfHelper::BPF_FUNC_xdp_load_bytes)),
        ("the time since boot", helper(BpfHelper::BPF_FUNC_ktime_get_boot_ns)),
    ];
    asked.into_iter().map(|(name, is_there)| Feature { name, is_there }).collect()
}

fn program(kind: ProgramType) -> io::Result<bool> {
    is_program_supported(kind).map_err(|error| plain(&error))
}

fn map(kind: MapType) -> io::Result<bool> {
    is_map_supported(kind).map_err(|error| plain(&error))
}

fn helper(helper: BpfHelper) -> io::Result<bool> {
    is_helper_supported(ProgramType::Xdp, helper).map_err(|error| plain(&error))
}

fn plain(error: &(dyn std::error::Error + 'static)) -> io::Error {
    errno_of(error).map_or_else(|| io::Error::other(error.to_string()), io::Error::from_raw_os_error)
}

/// Whether any loaded program is JIT-compiled. None if no program is loaded, or if this process may not look.
pub fn is_compiled() -> Option<bool> {
    let mut loaded = loaded_programs().flatten().peekable();
    loaded.peek()?;
    Some(loaded.any(|program| program.size_jitted() > 0))
}

/// The name of the program that occupies the interface, and the error with its remedy.
pub fn refusal(occupant: &Occupant, interface: &str) -> (String, KernelError) {
    let neighbours = LoadedPrograms::look();
    (neighbours.name_of(occupant.id), occupied::refusal(occupant, interface, &neighbours))
}

/// The error for an interface that a filterd filters by TC whose pins are in another directory.
pub fn another_in_tc(interface: &KernelInterface, directory: &Path) -> Option<KernelError> {
    let ours = [Hook::Tc, Hook::TcBare].map(|hook| {
        let root = ProgramInfo::from_pin(directory.join(format!("root{}", hook.suffix())));
        root.ok().map(|root| root.id())
    });
    let neighbours = LoadedPrograms::look();
    let others =
        tc::roots_on(interface.index, root::NAME_TC).into_iter().filter(|id| !ours.contains(&Some(*id)));
    let other = others
        .map(|id| Occupant { id, is_generic: false })
        .find(|it| occupied::is_filterd(it.id, &neighbours))?;
    Some(occupied::refusal(&other, &interface.name, &neighbours))
}

/// The kernel's number of the root program that is pinned in this directory.
pub fn pinned_root(directory: &Path) -> Option<u32> {
    ProgramInfo::from_pin(directory.join("root")).ok().map(|root| root.id())
}
