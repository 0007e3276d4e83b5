//! What a filterd that is no longer there has left in the kernel.

use std::path::Path;

use aya::programs::links::PinnedLink;

use super::super::KernelError;
use super::pins::Pins;

/// Takes everything out of the kernel that is pinned under `directory`. Tells the names that interfaces had when they were
/// attached; none if there was nothing at all.
pub fn remove(directory: &Path) -> Result<Option<Vec<String>>, KernelError> {
    let Some(pins) = Pins::find(directory)? else { return Ok(None) };
    let names = pins.links().iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect();
    // Whoever holds a link longest lets the kernel take it off at once; where that is a pin, it does so later.
    let _held: Vec<_> = pins.links().iter().filter_map(|path| PinnedLink::from_pin(path).ok()).collect();
    pins.remove().map_err(|error| KernelError::load("remove the pins", error))?;
    Ok(Some(names))
}
