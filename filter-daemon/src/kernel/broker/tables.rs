//! The tables of a judge, written into its object: where the program names one, the kernel puts the address of its words.
//!
//! A table is one value of a map. So it has an address that never changes, and a packet has nothing to look up, which would
//! take eleven instructions for each table (`BPF_PSEUDO_MAP_VALUE`; the settings are reached in the same way). aya does
//! this only for maps that it makes and fills itself: names without a definition it leaves alone, and these are those.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use aya::maps::MapData;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};

use super::super::KernelError;
use super::counters;
use super::pins::Pins;
use super::request::MapUse;

/// The bytes of an instruction that holds a number of 64 bits (RFC 9669, section 5.4).
const INSTRUCTION: usize = 16;
const BPF_PSEUDO_MAP_FD: u8 = 1;
const BPF_PSEUDO_MAP_VALUE: u8 = 2;

/// Maps that the program itself hands to the kernel: own flows, which it looks up, and the ring of samples.
const FLOWS: &str = "FLOWS";
const SAMPLES: &str = "SAMPLES";

/// Tables that are open, with their names in the program.
pub struct Tables(Vec<(&'static str, MapData)>);

impl Tables {
    /// Those that are pinned for `maps`, and the counters.
    pub fn open(maps: &[MapUse], pins: &Pins) -> Result<Self, KernelError> {
        let tables = maps.iter().map(|map| (map.map.symbol(), pins.table(*map)));
        let open = |(name, pin)| {
            let opened = MapData::from_pin(pin);
            Ok((name, opened.map_err(|error| KernelError::load("open a table", error))?))
        };
        let all = tables.chain([(counters::SYMBOL, pins.counters())]);
        all.map(open).collect::<Result<_, _>>().map(Self)
    }

    /// And own flows, for a judge that asks for them.
    pub fn open_flows(&mut self, pins: &Pins) -> Result<(), KernelError> {
        let opened = MapData::from_pin(pins.flows());
        self.0.push((FLOWS, opened.map_err(|error| KernelError::load("open own flows", error))?));
        Ok(())
    }

    /// And the ring of samples, for a judge that tells drops in full.
    pub fn add_samples(&mut self, ring: MapData) {
        self.0.push((SAMPLES, ring));
    }

    /// `object` with them in it, as long as they are open.
    pub fn write_into(&self, object: &[u8]) -> Result<Vec<u8>, object::Error> {
        let maps = self.0.iter().map(|(name, map)| (*name, map.fd().as_fd()));
        written(object, &maps.collect::<Vec<_>>())
    }
}

/// `object` with the addresses of these maps in place of their names. A program that asks for one more is refused by the
/// kernel, unless its settings switch that off.
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

/// Turns the number that an instruction holds, the place in the map, into that place's address; or into the map itself.
fn write_map(instruction: &mut [u8; INSTRUCTION], map: RawFd, name: &str) {
    let kind = if name == FLOWS || name == SAMPLES { BPF_PSEUDO_MAP_FD } else { BPF_PSEUDO_MAP_VALUE };
    let [_, registers, _, _, low @ .., _, _, _, _, _, _, _, _] = instruction;
    let source = if cfg!(target_endian = "little") { 4 } else { 0 };
    *registers = *registers & !(0xF << source) | kind << source;
    let place = *low;
    *low = map.to_ne_bytes();
    instruction[12..].copy_from_slice(&place);
}
