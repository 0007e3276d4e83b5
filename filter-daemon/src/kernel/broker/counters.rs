//! Packets by what became of them: a row of counters for each processor, in one value of a map, whose address the judge is
//! loaded with as it is with that of tables. What is told is summed over processors.

use std::fs;

use aya::maps::{MapData, MapInfo, MapType};
use filter_common::Words;
use filter_common::reason::{COUNTERS, Outcome};
use filter_common::settings::{self, Settings};

use super::super::KernelError;
use super::super::window::Window;
use super::pins::Pins;
use super::processors;
use super::storage;

/// What the map is called in the judge.
pub const SYMBOL: &str = "COUNTERS";

/// Removes counters of another shape, which another version left: they begin anew.
pub fn make_fit(pins: &Pins) -> Result<(), KernelError> {
    if fit(pins)? {
        return Ok(());
    }
    tracing::warn!("the counters were made by another version of filterd: they begin anew");
    fs::remove_file(pins.counters()).map_err(|error| KernelError::load("remove old counters", error))
}

/// Are the counters that are pinned, if any, of our shape?
pub fn fit(pins: &Pins) -> Result<bool, KernelError> {
    let path = pins.counters();
    if !path.exists() {
        return Ok(true);
    }
    pins.must_be_ours(&path)?;
    Ok(MapInfo::from_pin(&path).is_ok_and(|map| {
        matches!(map.map_type(), Ok(MapType::Array))
            && map.key_size() as usize == size_of::<u32>()
            && map.value_size() == words() * size_of::<u64>() as u32
            && map.max_entries() == 1
    }))
}

/// Those that are pinned; where there are none they are made.
pub fn open(pins: &Pins) -> Result<MapData, KernelError> {
    if !pins.counters().exists() {
        let made = storage::create_of("counters", words())?;
        storage::pin(&made, &pins.counters())?;
    }
    MapData::from_pin(pins.counters()).map_err(|error| KernelError::load("open the counters", error))
}

/// These settings of a judge, which then knows how many rows there are.
pub fn known_to(words: &[u64]) -> Vec<u64> {
    let Ok(words) = <&[u64; settings::WORDS]>::try_from(words) else { return words.to_vec() };
    let last_processor = (processors::rows() - 1).into();
    Settings { last_processor, ..Settings::from_words(words) }.as_words().to_vec()
}

/// Of how many packets this became, in the order of all outcomes. Those that are held are asked, whatever becomes of their pin.
pub fn read(held: Option<&MapData>, pins: &Pins) -> Result<Vec<u64>, KernelError> {
    match held {
        Some(map) => sums(map),
        None => {
            let pinned = MapData::from_pin(pins.counters());
            sums(&pinned.map_err(|error| KernelError::load("read the counters", error))?)
        }
    }
}

fn sums(map: &MapData) -> Result<Vec<u64>, KernelError> {
    let rows =
        Window::open(map.fd(), words()).map_err(|error| KernelError::load("read the counters", error))?;
    let sum = |outcome: Outcome| {
        (0..processors::rows()).map(|row| rows.load(row * COUNTERS + outcome.counter())).sum()
    };
    Ok(Outcome::all().map(sum).collect())
}

fn words() -> u32 {
    processors::rows() * COUNTERS
}
