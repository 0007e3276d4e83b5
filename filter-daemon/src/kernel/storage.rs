//! Making the maps that tables live in: arrays of words, mapped into memory, pinned for the judge to find.

use std::fs;
use std::path::Path;

use aya::maps::MapData;
use aya_obj::Map;

use super::KernelError;
use super::window::Window;

const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_F_MMAPABLE: u32 = 1 << 10;

/// Makes an array of zeroed words, and pins it at `path` in place of whatever an earlier daemon left there.
pub fn create(name: &'static str, words: u32, path: &Path) -> Result<Window, KernelError> {
    let definition = Map::new_from_params(
        BPF_MAP_TYPE_ARRAY,
        size_of::<u32>() as u32,
        size_of::<u64>() as u32,
        words,
        BPF_F_MMAPABLE,
    );
    let map = MapData::create(definition, name, None)
        .map_err(|error| KernelError::map(name, u64::from(words) * 8, error))?;
    _ = fs::remove_file(path);
    map.pin(path).map_err(|error| KernelError::load("pin a table", error))?;
    Window::open(map.fd(), words).map_err(|source| KernelError::Window { what: name, source })
}
