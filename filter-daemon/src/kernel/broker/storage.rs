//! Makes the maps of tables. Each is one value of many words, pinned so that judges can be loaded on it.

use std::fs;
use std::path::Path;

use aya::maps::{MapData, MapInfo};
use aya_obj::Map;

use super::super::KernelError;
use super::mending::TamperingLog;
use super::request::MapName;

const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_MAP_TYPE_RINGBUF: u32 = 27;
const BPF_F_MMAPABLE: u32 = 1 << 10;

/// Size of the ring of samples in bytes.
pub const RING: u32 = 1 << 20;

/// Makes a map of zeroed words.
pub fn create(map: MapName, words: u32) -> Result<MapData, KernelError> {
    create_of(map.name(), words)
}

/// Makes a map of zeroed words under this name.
pub fn create_of(name: &str, words: u32) -> Result<MapData, KernelError> {
    let size = words.checked_mul(size_of::<u64>() as u32);
    let size = size.ok_or_else(|| KernelError::refused("make a table", "it has no such size"))?;
    let definition =
        Map::new_from_params(BPF_MAP_TYPE_ARRAY, size_of::<u32>() as u32, size, 1, BPF_F_MMAPABLE);
    MapData::create(definition, name, None)
        .map_err(|error| KernelError::map(name, u64::from(words) * 8, error))
}

/// Makes the ring for sampled drops. It holds some thousand samples, and is read many times a second.
pub fn create_ring() -> Result<MapData, KernelError> {
    let definition = Map::new_from_params(BPF_MAP_TYPE_RINGBUF, 0, 0, RING, 0);
    MapData::create(definition, "samples", None)
        .map_err(|error| KernelError::map("samples", RING.into(), error))
}

/// Pins a map at `path`, in place of anything an earlier daemon left there.
pub fn pin(made: &MapData, path: &Path) -> Result<(), KernelError> {
    _ = fs::remove_file(path);
    made.pin(path).map_err(|error| KernelError::load("pin a table", error))
}

/// Pins a map again if its pin is missing or leads elsewhere.
pub fn pin_again(held: &MapData, path: &Path, mending: &mut TamperingLog) -> Result<(), KernelError> {
    let failed = |error| KernelError::load("look at the pin of a map", error);
    let ours = held.info().map_err(failed)?.id();
    let there = || MapInfo::from_pin(path).map(|there| there.id()).map_err(failed);
    if mending.make_place(path, ours, there)? {
        held.pin(path).map_err(|error| KernelError::load("pin a map again", error))?;
    }
    Ok(())
}
