//! Counts packets by outcome and by interface, in a row of counters for each processor. All rows are one
//! value of one map, whose address is written into the judge as with tables. Reported numbers are sums over
//! processors. `filter_common::counters` defines the layout, and `slots` assigns slots to interfaces.

pub mod slots;

use std::fs;

use aya::maps::{MapData, MapInfo, MapType};
use filter_common::counters::{self, GONE, NUMBERS, OTHER, ROW, SLOTS};
use filter_common::reason::Outcome;
use filter_common::settings::{self, Settings};
use filter_common::{Words, WordsMut};

use super::super::KernelError;
use super::super::window::Window;
use super::counts::{InterfaceDrops, PacketCounts};
use super::pins::Pins;
use super::processors;
use super::storage;
use slots::SlotOwner;

/// The name of the map in the judge.
pub const SYMBOL: &str = "COUNTERS";

/// Removes counters of another layout, which another version left. Counting then restarts.
pub fn make_fit(pins: &Pins) -> Result<(), KernelError> {
    if fit(pins)? {
        return Ok(());
    }
    tracing::warn!("the counters are from another version of filterd and restart at zero");
    fs::remove_file(pins.counters()).map_err(|error| KernelError::load("remove old counters", error))
}

/// True if no counters are pinned, or if they have our layout.
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

/// Opens the pinned counters, and makes them if there are none.
pub fn open(pins: &Pins) -> Result<MapData, KernelError> {
    if !pins.counters().exists() {
        let made = storage::create_of("counters", words())?;
        slots::begin(&window(&made)?);
        storage::pin(&made, &pins.counters())?;
    }
    MapData::from_pin(pins.counters()).map_err(|error| KernelError::load("open the counters", error))
}

/// Completes a judge's settings: the number of rows, and in the same word whether the judge samples drops.
pub fn known_to(words: &[u64]) -> Vec<u64> {
    let Ok(words) = <&[u64; settings::WORDS]>::try_from(words) else { return words.to_vec() };
    let settings = Settings::from_words(words);
    let sampled = if settings.samples == 0 { 0 } else { settings::SAMPLED };
    let last_processor = u64::from(processors::rows() - 1) | sampled;
    Settings { last_processor, ..settings }.as_words().to_vec()
}

/// Reads all counters, from `held` if given, so that a missing pin does not matter.
pub fn read(held: Option<&MapData>, pins: &Pins) -> Result<PacketCounts, KernelError> {
    match held {
        Some(map) => window(map).map(|counters| counts(&counters)),
        None => {
            let pinned = MapData::from_pin(pins.counters());
            let pinned = pinned.map_err(|error| KernelError::load("read the counters", error))?;
            window(&pinned).map(|counters| counts(&counters))
        }
    }
}

/// The counters, mapped into memory.
pub fn window(map: &MapData) -> Result<Window, KernelError> {
    Window::open(map.fd(), words()).map_err(|error| KernelError::load("read the counters", error))
}

fn counts(counters: &impl Words) -> PacketCounts {
    let directory = slots::all(counters);
    let named =
        directory.into_iter().map(|(slot, SlotOwner { index, name, .. })| (Some((index, name)), vec![slot]));
    // All slots with counts have an entry, except these two.
    let all = named.chain([(None, vec![OTHER, GONE])]);
    let interfaces: Vec<_> = all
        .map(|(interface, slots)| InterfaceDrops {
            interface,
            counts: drops().map(|drop| sum(counters, &slots, drop)).collect(),
        })
        .filter(|one| one.interface.is_some() || one.counts.iter().any(|[packets, _]| *packets > 0))
        .collect();
    let mut drop = 0;
    let packets = Outcome::all().map(|outcome| match counters::drop_number(outcome) {
        None => rows().map(|row| counters.load(row * ROW + outcome.counter())).sum(),
        Some(_) => {
            drop += 1;
            interfaces.iter().filter_map(|one| Some(one.counts.get(drop - 1)?[0])).sum()
        }
    });
    PacketCounts { packets: packets.collect(), since: slots::since(counters), interfaces }
}

/// The numbers of all drops, in the order of their outcomes.
fn drops() -> impl Iterator<Item = u32> {
    Outcome::all().filter_map(counters::drop_number)
}

/// Packets and bytes of a drop in these slots.
fn sum(counters: &impl Words, slots: &[u32], drop: u32) -> [u64; 2] {
    let places =
        || slots.iter().flat_map(move |slot| rows().map(move |row| row * ROW + counters::place(*slot, drop)));
    [0, 1].map(|more| places().map(|place| counters.load(place + more)).sum())
}

/// Adds the counts of one slot to those of removed interfaces, and resets the slot.
fn empty(counters: &impl WordsMut, slot: u32) {
    for (row, drop) in rows().flat_map(|row| drops().map(move |drop| (row, drop))) {
        let (from, to) = (row * ROW + counters::place(slot, drop), row * ROW + counters::place(GONE, drop));
        for more in 0..2 {
            counters.store(to + more, counters.load(to + more) + counters.load(from + more));
            counters.store(from + more, 0);
        }
    }
}

fn rows() -> std::ops::Range<u32> {
    0..processors::rows()
}

/// The first word of the bytes that hold each interface's slot. The directory follows them.
fn numbers() -> u32 {
    processors::rows() * ROW
}

fn directory() -> u32 {
    numbers() + NUMBERS
}

fn words() -> u32 {
    counters::words(processors::rows())
}

const _: () = assert!(SLOTS < 32, "a slot of the judge's is cut to this");
