//! Large maps are made by threads of the broker's own: the kernel clears their memory first, which takes it a millisecond
//! for some megabytes, and whoever wants one does other things meanwhile.

use std::thread::{self, JoinHandle};

use aya::maps::MapData;

use super::super::KernelError;
use super::request::MapUse;
use super::storage;

/// Maps that are being made. How much memory they take together, `kept` has looked at before.
#[derive(Default)]
pub struct Making(Vec<(MapUse, JoinHandle<Result<MapData, KernelError>>)>);

impl Making {
    /// Begins to make one of so many words.
    pub fn begin(&mut self, map: MapUse, words: u32) {
        self.0.push((map, thread::spawn(move || storage::create(map.map, words))));
    }

    /// Is it being made, or to be collected?
    pub fn has(&self, map: MapUse) -> bool {
        self.0.iter().any(|(made, _)| *made == map)
    }

    /// What has become of it; nothing yet, unless it is waited for.
    pub fn collect(&mut self, map: MapUse, waits: bool) -> Option<Result<MapData, KernelError>> {
        let at = self.0.iter().position(|(made, thread)| *made == map && (waits || thread.is_finished()))?;
        let made = self.0.swap_remove(at).1.join();
        Some(made.unwrap_or_else(|_| Err(KernelError::refused("make a table", "its maker has failed"))))
    }
}
