//! Makes large maps in threads of the broker. The kernel clears their memory first, which takes about a
//! millisecond for some megabytes. The daemon does other work meanwhile.

use std::thread::{self, JoinHandle};

use aya::maps::MapData;

use super::super::KernelError;
use super::request::MapUse;
use super::storage;

/// Maps that are being made. `kept` has checked their memory before.
#[derive(Default)]
pub struct Making(Vec<(MapUse, JoinHandle<Result<MapData, KernelError>>)>);

impl Making {
    /// Starts making a map of this many words.
    pub fn begin(&mut self, map: MapUse, words: u32) {
        self.0.push((map, thread::spawn(move || storage::create(map.map, words))));
    }

    /// True if the map is being made, or waits to be collected.
    pub fn has(&self, map: MapUse) -> bool {
        self.0.iter().any(|(made, _)| *made == map)
    }

    /// Returns the finished map or its error. None while it is being made, unless `waits` is set.
    pub fn collect(&mut self, map: MapUse, waits: bool) -> Option<Result<MapData, KernelError>> {
        let at = self.0.iter().position(|(made, thread)| *made == map && (waits || thread.is_finished()))?;
        let made = self.0.swap_remove(at).1.join();
        Some(made.unwrap_or_else(|_| Err(KernelError::refused("make a table", "its maker has failed"))))
    }
}
