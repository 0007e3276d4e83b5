//! The judges at work in the kernel, found by what they count in.

use std::path::Path;

use anyhow::{Context, Result};
use aya::maps::{Array, Map, MapData, MapInfo};
use aya::programs::{ProgramInfo, loaded_programs};
use filter_common::settings;

/// The newest judge that counts in the counters pinned here.
pub fn at_work(pins: &Path) -> Result<ProgramInfo> {
    let counters = MapInfo::from_pin(pins.join("counters"))?.id();
    let is_ours = |program: &ProgramInfo| {
        let maps = program.map_ids().ok().flatten().unwrap_or_default();
        matches!(program.name_as_str(), Some("filterd_judge" | "filterd_ports")) && maps.contains(&counters)
    };
    loaded_programs().flatten().filter(is_ours).max_by_key(ProgramInfo::id).context("no judge is loaded")
}

/// What it is specialised by.
pub fn settings(judge: &ProgramInfo) -> Result<[u64; settings::WORDS]> {
    let maps = judge.map_ids()?.context("the kernel tells a program's maps")?;
    let infos = maps.into_iter().map(MapInfo::from_id).collect::<Result<Vec<_>, _>>()?;
    let constants = infos.into_iter().find(|map| map.name_as_str() == Some(".rodata"));
    let constants = MapData::from_id(constants.context("a judge has settings")?.id())?;
    Ok(Array::try_from(Map::Array(constants))?.get(&0, 0)?)
}
