//! Writes the tables of a judge into its object: the kernel replaces each table name by the address of its
//! words.
//!
//! A table is one value of a map, so its address never changes. A packet therefore needs no map lookup, which
//! would take eleven instructions for each table (`BPF_PSEUDO_MAP_VALUE`). The settings are reached in the
//! same way.
//!
//! This is done here because aya does it only for maps that it makes and fills itself. It ignores names
//! without a definition, and the tables are such names.

use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use aya::maps::MapData;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
use thiserror::Error;

use super::super::KernelError;
use super::super::hook::Hook;
use super::counters;
use super::pins::Pins;
use super::request::{MapName, MapUse};

/// The bytes of an instruction that contains a 64-bit number (RFC 9669, section 5.4).
const INSTRUCTION: usize = 16;
const BPF_PSEUDO_MAP_FD: u8 = 1;
const BPF_PSEUDO_MAP_VALUE: u8 = 2;

/// Maps whose descriptor the program passes to the kernel: own flows for lookups, and the ring of samples.
const FLOWS: &str = "FLOWS";
const SAMPLES: &str = "SAMPLES";

/// The program's constants, in its read-only data.
const SETTINGS: &str = "SETTINGS";

/// Tables that are open, by name.
pub struct Tables(Vec<(TableName, MapData)>);

/// What a table is called in the program.
#[derive(Clone, Copy)]
enum TableName {
    /// As a map of a set; which of the sets it is depends on the hook.
    OfSet(MapName),
    Alone(&'static str),
}

impl TableName {
    /// The name in the program for this hook. None if that does not read the table.
    fn at(self, hook: Hook) -> Option<&'static str> {
        match self {
            Self::OfSet(map) => map.seen_at(hook).map(MapName::symbol),
            Self::Alone(name) => Some(name),
        }
    }
}

impl Tables {
    /// Opens the maps that are pinned for `maps`, and the counters.
    pub fn open(maps: &[MapUse], pins: &Pins) -> Result<Self, KernelError> {
        let tables = maps.iter().map(|map| (TableName::OfSet(map.map), pins.table(*map)));
        let open = |(name, pin)| {
            let opened = MapData::from_pin(pin);
            Ok((name, opened.map_err(|error| KernelError::load("open a table", error))?))
        };
        let all = tables.chain([(TableName::Alone(counters::SYMBOL), pins.counters())]);
        all.map(open).collect::<Result<_, _>>().map(Self)
    }

    /// Adds own flows, for a judge that checks them.
    pub fn open_flows(&mut self, pins: &Pins) -> Result<(), KernelError> {
        let opened = MapData::from_pin(pins.flows());
        self.0.push((
            TableName::Alone(FLOWS),
            opened.map_err(|error| KernelError::load("open own flows", error))?,
        ));
        Ok(())
    }

    /// Adds the ring of samples, for a judge that samples drops.
    pub fn add_samples(&mut self, ring: MapData) {
        self.0.push((TableName::Alone(SAMPLES), ring));
    }

    /// Returns `object` with the tables for this hook. It is valid while they are open.
    pub fn write_into(&self, object: &[u8], hook: Hook) -> Result<Vec<u8>, object::Error> {
        let maps = self.0.iter().filter_map(|(name, map)| Some((name.at(hook)?, map.fd().as_fd())));
        written(object, &maps.collect::<Vec<_>>())
    }
}

/// Returns `object` with the addresses of these maps in place of their names. The kernel refuses a program
/// that uses another name, unless its settings switch that use off.
pub fn written(object: &[u8], maps: &[(&str, BorrowedFd<'_>)]) -> Result<Vec<u8>, object::Error> {
    let mut written = object.to_vec();
    let file = object::File::parse(object)?;
    for section in file.sections() {
        let start = section.file_range().map_or(0, |(start, _)| start);
        for (at, relocation) in section.relocations() {
            let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
            let symbol = file.symbol_by_index(symbol)?;
            let name = symbol.name()?;
            let map = maps.iter().find(|(map, _)| *map == name && symbol.is_undefined());
            let place = written.get_mut((start + at) as usize..).and_then(<[u8]>::first_chunk_mut);
            if let (Some((_, map)), Some(place)) = (map, place) {
                write_map(place, map.as_raw_fd(), name);
            }
        }
    }
    Ok(written)
}

/// Replaces the settings in `object`. aya could do this, but its loader would keep a reference to them.
pub fn write_settings(object: &mut [u8], settings: &[u64]) -> Result<(), NoSettings> {
    let bytes: Vec<u8> = settings.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let place = place_of_settings(object).filter(|place| place.len() == bytes.len());
    let place = place.and_then(|place| object.get_mut(place)).ok_or(NoSettings)?;
    place.copy_from_slice(&bytes);
    Ok(())
}

/// The object has no settings, or a different number of them.
#[derive(Debug, Error)]
#[error("the object has not these settings")]
pub struct NoSettings;

fn place_of_settings(object: &[u8]) -> Option<Range<usize>> {
    let file = object::File::parse(object).ok()?;
    let symbol = file.symbol_by_name(SETTINGS)?;
    let (section, _) = file.section_by_index(symbol.section_index()?).ok()?.file_range()?;
    let start = (section + symbol.address()) as usize;
    Some(start..start + symbol.size() as usize)
}

/// Replaces an instruction's number, a position in the map, by the address of that position, or by the map
/// itself.
fn write_map(instruction: &mut [u8; INSTRUCTION], map: RawFd, name: &str) {
    let kind = if name == FLOWS || name == SAMPLES { BPF_PSEUDO_MAP_FD } else { BPF_PSEUDO_MAP_VALUE };
    let [_, registers, _, _, low @ .., _, _, _, _, _, _, _, _] = instruction;
    let source = if cfg!(target_endian = "little") { 4 } else { 0 };
    *registers = *registers & !(0xF << source) | kind << source;
    let place = *low;
    *low = map.to_ne_bytes();
    instruction[12..].copy_from_slice(&place);
}

#[cfg(test)]
mod tests {
    use filter_common::settings::WORDS;

    use super::super::JUDGE;
    use super::*;

    #[test]
    fn only_read_only_settings_are_written() {
        let settings: Vec<u64> = (0..WORDS as u64).map(|word| word | 0xF11E << 48).collect();
        let mut object = JUDGE.to_vec();
        write_settings(&mut object, &settings).expect("a judge has settings");
        let file = object::File::parse(&*object).unwrap();
        let constants = file.section_by_name(".rodata").and_then(|section| section.data().ok()).unwrap();
        let bytes: Vec<u8> = settings.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert!(constants.windows(bytes.len()).any(|window| window == bytes));
        let others = JUDGE.iter().zip(&object).filter(|(before, after)| before != after).count();
        assert!(others <= bytes.len() && object.len() == JUDGE.len());
    }

    #[test]
    fn object_with_other_settings_stays_unchanged() {
        let mut object = JUDGE.to_vec();
        assert!(write_settings(&mut object, &[7; WORDS - 1]).is_err());
        assert!(write_settings(&mut object, &[7; WORDS + 1]).is_err());
        assert!(object == *JUDGE);
        assert!(write_settings(&mut Vec::new(), &[7; WORDS]).is_err());
    }
}
