//! What a filterd that is no longer there has left in the kernel.

use std::path::{Path, PathBuf};

use aya::programs::links::PinnedLink;

use super::super::KernelError;
use super::egress;
use super::pins::Pins;
use crate::config::pin;

/// What was found and removed.
#[derive(Debug, Default)]
pub struct Removed {
    /// The names that interfaces had when they were attached.
    pub interfaces: Vec<String>,
    /// The interfaces whose egress filter stays, because they are in another network namespace.
    pub out_of_reach: Vec<String>,
    /// What lies among the pins and is not filterd's.
    pub left: Vec<PathBuf>,
}

/// Takes everything out of the kernel that a filterd has pinned under `directory`; none if there was nothing at all. The
/// pins of one that runs are its own.
pub fn remove(directory: &Path) -> Result<Option<Removed>, KernelError> {
    let Some((pins, _lock)) = Pins::find(directory)? else { return Ok(None) };
    let interfaces = pins.links().iter().filter_map(|path| pin::interface(path)).collect();
    // Whoever holds a link longest lets the kernel take it off at once; where that is a pin, it does so later.
    let _held: Vec<_> = pins.links().iter().filter_map(|path| PinnedLink::from_pin(path).ok()).collect();
    let out_of_reach = egress::remove(&pins)?;
    let left = pins.remove().map_err(|error| KernelError::load("remove the pins", error))?;
    Ok(Some(Removed { interfaces, out_of_reach, left }))
}
