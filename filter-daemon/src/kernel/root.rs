//! The root program, which stays attached, and the one slot through which it reaches the judge.

use aya::maps::{Map, MapData, ProgramArray};
use aya::programs::{ProgramInfo, Xdp};
use aya::{Ebpf, EbpfLoader, include_bytes_aligned};
use aya_obj::programs::XdpAttachType;

use super::KernelError;
use super::judge::Judge;
use super::pins::Pins;

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/root"));

/// The root program and its slot.
pub struct Root {
    program: Xdp,
    next: ProgramArray<MapData>,
}

impl Root {
    /// The root program that is pinned, or else a new one, which is then pinned with its slot.
    pub fn open(pins: &Pins) -> Result<Self, KernelError> {
        if !pins.root().exists() || !pins.next().exists() {
            pins.forget_root().map_err(|source| KernelError::NoBpffs { path: pins.root(), source })?;
            load(pins)?;
        }
        let failed = |error: &dyn std::error::Error| KernelError::Load {
            what: "open the root program",
            reason: error.to_string(),
        };
        let program = Xdp::from_pin(pins.root(), XdpAttachType::Interface).map_err(|error| failed(&error))?;
        let next = MapData::from_pin(pins.next()).map_err(|error| failed(&error))?;
        let next = ProgramArray::try_from(Map::ProgramArray(next)).map_err(|error| failed(&error))?;
        Ok(Self { program, next })
    }

    /// What gets attached.
    pub fn program(&mut self) -> &mut Xdp {
        &mut self.program
    }

    /// The kernel's number for it.
    pub fn id(&self) -> Option<u32> {
        self.program.info().ok().map(|info: ProgramInfo| info.id())
    }

    /// Makes `judge` the one that packets meet from now on, by one store.
    pub fn publish(&mut self, judge: &Judge) -> Result<(), KernelError> {
        self.next.set(0, judge.program(), 0).map_err(|error| KernelError::load("publish the judge", error))
    }
}

fn load(pins: &Pins) -> Result<(), KernelError> {
    let mut object: Ebpf = EbpfLoader::new()
        .btf(None)
        .map_pin_path("NEXT", pins.next())
        .load(OBJECT)
        .map_err(|error| KernelError::load("load the root program", error))?;
    let program: &mut Xdp = object
        .program_mut("filterd_root")
        .and_then(|program| program.try_into().ok())
        .expect("the embedded object has this XDP program");
    program.load().map_err(|error| KernelError::load("load the root program", error))?;
    program.pin(pins.root()).map_err(|error| KernelError::load("pin the root program", error))
}
