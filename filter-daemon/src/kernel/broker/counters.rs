//! Packets by what became of them, summed over processors.

use std::fs;

use aya::maps::{Map, MapData, MapInfo, MapType, PerCpuArray};
use filter_common::reason::{COUNTERS, Outcome};

use super::super::KernelError;
use super::pins::Pins;

/// Removes counters of another shape, which another version left: they begin anew.
pub fn make_fit(pins: &Pins) -> Result<(), KernelError> {
    let path = pins.counters();
    if !path.exists() {
        return Ok(());
    }
    pins.must_be_ours(&path)?;
    let fits = MapInfo::from_pin(&path).is_ok_and(|map| {
        matches!(map.map_type(), Ok(MapType::PerCpuArray))
            && map.key_size() as usize == size_of::<u32>()
            && map.value_size() as usize == size_of::<u64>()
            && map.max_entries() == COUNTERS
    });
    if fits {
        return Ok(());
    }
    tracing::warn!("the counters were made by another version of filterd: they begin anew");
    fs::remove_file(&path).map_err(|error| KernelError::load("remove old counters", error))
}

/// Of how many packets this became, in the order of all outcomes.
pub fn read(pins: &Pins) -> Result<Vec<u64>, KernelError> {
    let failed = |error| KernelError::load("read the counters", error);
    let map = MapData::from_pin(pins.counters()).map_err(failed)?;
    let counters: PerCpuArray<_, u64> = PerCpuArray::try_from(Map::PerCpuArray(map)).map_err(failed)?;
    let sum = |outcome: Outcome| Ok(counters.get(&outcome.counter(), 0).map_err(failed)?.iter().sum());
    Outcome::all().map(sum).collect()
}
