//! Removes what an ended filterd left in the kernel.

use std::path::{Path, PathBuf};

use aya::programs::links::PinnedLink;

use super::super::KernelError;
use super::link;
use super::pins::Pins;
use super::sent_work::SentWork;
use crate::config::pin;

#[derive(Debug, Default)]
pub struct RemovedPins {
    /// The names of the interfaces when they were attached.
    pub interfaces: Vec<String>,
    /// The interfaces whose filter stays, because they are in another network namespace. It passes every packet.
    pub received_out_of_reach: Vec<String>,
    /// The same of programs on sent frames.
    pub sent_out_of_reach: Vec<String>,
    /// Files among the pins that are not filterd's.
    pub left: Vec<PathBuf>,
}

/// Removes everything that a filterd has pinned under `directory`; none if there was nothing. Fails if a
/// running filterd uses the pins.
pub fn remove(directory: &Path) -> Result<Option<RemovedPins>, KernelError> {
    let Some((pins, _lock)) = Pins::find(directory)? else { return Ok(None) };
    let interfaces = pins.links().iter().filter_map(|path| pin::interface(path)).collect();
    // If the last reference to a link is a descriptor, the kernel detaches it at once; if it is a pin, only
    // later.
    let _held: Vec<_> = pins.links().iter().filter_map(|path| PinnedLink::from_pin(path).ok()).collect();
    let mut sent_out_of_reach = Vec::new();
    for work in SentWork::ALL {
        sent_out_of_reach.extend(work.remove(&pins)?);
    }
    let received_out_of_reach = link::release_all(&pins)?;
    let left = pins.remove().map_err(|error| KernelError::load("remove the pins", error))?;
    Ok(Some(RemovedPins { interfaces, received_out_of_reach, sent_out_of_reach, left }))
}
