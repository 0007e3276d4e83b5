//! Packets by reason, summed over processors.

use aya::maps::{Map, MapData, PerCpuArray};
use filter_common::verdict::Reason;

use super::KernelError;
use super::pins::Pins;

/// How many packets met each reason, since the filter was first attached.
pub fn read(pins: &Pins) -> Result<Vec<(Reason, u64)>, KernelError> {
    let failed = |error| KernelError::load("read the counters", error);
    let map = MapData::from_pin(pins.counters()).map_err(failed)?;
    let counters: PerCpuArray<_, u64> = PerCpuArray::try_from(Map::PerCpuArray(map)).map_err(failed)?;
    let sum = |reason: Reason| {
        let values = counters.get(&(reason as u32), 0).map_err(failed)?;
        Ok((reason, values.iter().sum()))
    };
    Reason::ALL.into_iter().map(sum).collect()
}
