//! Loading a judge: the program that its shape specialises, over maps that are pinned already.

use std::path::PathBuf;

use aya::programs::{ProgramFd, Xdp};
use aya::{Ebpf, EbpfLoader, include_bytes_aligned};
use filter_common::networks;

use super::KernelError;
use super::debug::Lines;
use super::pins::Pins;
use super::shape::{Addresses, Kind, Shape, SixTable};

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/judge"));

/// The name of the map of IPv4 prefixes.
pub const NETWORKS: &str = "networks";

/// A loaded judge.
#[derive(Debug)]
pub struct Judge {
    object: Ebpf,
    lines: Option<Lines>,
}

impl Judge {
    /// Loads a judge of this shape over the maps that are pinned for it.
    pub fn load(shape: &Shape, pins: &Pins) -> Result<Self, KernelError> {
        let settings = shape.settings();
        let mut loader = EbpfLoader::new();
        loader
            .btf(None)
            .override_global("SETTINGS", &settings[..], true)
            .map_pin_path("COUNTERS", pins.counters());
        for (map, name, words, generation) in maps(shape) {
            loader.map_max_entries(map, words);
            if let Some(generation) = generation {
                loader.map_pin_path(map, pins.table(name, generation));
            }
        }
        let mut object = loader.load(OBJECT).map_err(|error| KernelError::load("load the judge", error))?;
        let program: &mut Xdp = object
            .program_mut("filterd_judge")
            .and_then(|program| program.try_into().ok())
            .expect("the embedded object has this XDP program");
        program.load().map_err(|error| KernelError::load("load the judge", error))?;
        let lines = Lines::follow(&mut object);
        Ok(Self { object, lines })
    }

    /// What it prints, if it was built for debugging.
    pub fn into_lines(self) -> Option<Lines> {
        self.lines
    }

    /// The program.
    pub fn program(&self) -> &ProgramFd {
        let program = self.object.program("filterd_judge").expect("the embedded object has this program");
        program.fd().expect("it is loaded")
    }
}

/// The pins of the maps that a judge of this shape uses.
pub fn table_pins(shape: &Shape, pins: &Pins) -> Vec<PathBuf> {
    maps(shape)
        .into_iter()
        .filter_map(|(_, name, _, generation)| Some(pins.table(name, generation?)))
        .collect()
}

/// Each map: its name in the object and in its pin, its size, and its generation. One that is not in use is as small as
/// can be, and shared with nobody.
fn maps(shape: &Shape) -> [(&'static str, &'static str, u32, Option<u64>); 3] {
    let (addresses, six) = (shape.addresses.as_ref(), shape.six.as_ref());
    [
        (
            "ADDRESSES",
            Addresses::NAME,
            addresses.map_or(1, Kind::words),
            addresses.map(|table| table.generation),
        ),
        ("NETWORKS", NETWORKS, shape.networks.map_or(1, |_| networks::WORDS), shape.networks),
        ("SIX", SixTable::NAME, six.map_or(1, Kind::words), six.map(|table| table.generation)),
    ]
}
