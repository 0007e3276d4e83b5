//! The root program, which stays attached, and the one slot through which it calls the judge.
//!
//! A root that an earlier daemon left pinned is reused if it was built from the same object. Otherwise that
//! daemon's filter keeps working until the first judge is published. Then each link gets the new root by one
//! update.

use std::path::Path;

use aya::maps::{Array, Map, MapData, MapError, ProgramArray};
use aya::programs::links::{FdLink, PinnedLink};
use aya::programs::xdp::XdpLink;
use aya::programs::{ProgramFd, ProgramInfo, Xdp};
use aya::{Ebpf, EbpfLoader, include_bytes_aligned};
use aya_obj::programs::XdpAttachType;
use tracing::info;

use super::super::{KernelError, Tampering};
use super::judge::Judge;
use super::mending::TamperingLog;
use super::pins::Pins;
use super::storage;
use crate::text::printable;

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/root"));

/// The name of the root program in the kernel.
pub const NAME: &str = "filterd_root";

pub struct Root {
    program: Xdp,
    next: ProgramArray<MapData>,
    /// The same slot, for pinning it again. `seen` reads the number of the program in it.
    slot: MapData,
    seen: Array<MapData, u32>,
    /// The judge that was last put into the slot.
    met: Option<PublishedJudge>,
    /// Whether the root of another version is still attached.
    succeeds: bool,
    /// Whether no root was pinned.
    is_new: bool,
}

/// A judge that packets meet.
struct PublishedJudge {
    program: ProgramFd,
    id: u32,
}

impl Root {
    /// Opens the pinned root program if its version is ours. Otherwise loads and pins a new one with its
    /// slot.
    pub fn open(pins: &Pins) -> Result<Self, KernelError> {
        let version = version();
        let failed = |source| KernelError::no_bpffs(pins.directory(), &source);
        let succeeds = match pins.root_version().map_err(failed)? {
            Some(pinned) if pinned == version => false,
            Some(_) => true,
            None => {
                pins.forget_root().map_err(failed)?;
                pins.set_root_version(&version).map_err(failed)?;
                false
            }
        };
        let is_new = !succeeds && !pins.root().exists();
        if succeeds || is_new {
            load(pins, succeeds)?;
        }
        Self::pinned(pins, succeeds, is_new)
    }

    /// Opens the pinned root: the new one, if it is to replace another version.
    fn pinned(pins: &Pins, succeeds: bool, is_new: bool) -> Result<Self, KernelError> {
        let program = if succeeds { pins.new_root() } else { pins.root() };
        let next = if succeeds { pins.new_next() } else { pins.next() };
        let failed =
            |error: &(dyn std::error::Error + 'static)| KernelError::load_of("open the root program", error);
        pins.must_be_ours(&program)?;
        pins.must_be_ours(&next)?;
        let program = Xdp::from_pin(program, XdpAttachType::Interface).map_err(|error| failed(&error))?;
        let open = || MapData::from_pin(&next).map_err(|error| failed(&error));
        let slot = open()?;
        let seen = Array::try_from(Map::Array(open()?)).map_err(|error| failed(&error))?;
        let next = ProgramArray::try_from(Map::ProgramArray(open()?)).map_err(|error| failed(&error))?;
        Ok(Self { program, next, slot, seen, met: None, succeeds, is_new })
    }

    /// The program to attach.
    pub fn program(&mut self) -> &mut Xdp {
        &mut self.program
    }

    /// True if no root was pinned. A link that existed then has another program.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// The kernel's number of the program.
    pub fn id(&self) -> Result<u32, KernelError> {
        let info: Result<ProgramInfo, _> = self.program.info();
        info.map(|info| info.id()).map_err(|error| KernelError::load("ask for the root program", error))
    }

    /// Makes packets meet `judge` from now on, by one store.
    pub fn publish(&mut self, judge: &Judge, pins: &Pins) -> Result<(), KernelError> {
        self.meet(judge, pins)?;
        self.settle(pins)
    }

    /// Does the same, but changes no pin, so that the earlier filterd can come back.
    pub fn meet(&mut self, judge: &Judge, pins: &Pins) -> Result<(), KernelError> {
        let failed =
            |error: &(dyn std::error::Error + 'static)| KernelError::load_of("publish the judge", error);
        let program = judge.program().try_clone().map_err(|error| failed(&error))?;
        self.next.set(0, &program, 0).map_err(|error| failed(&error))?;
        self.met = Some(PublishedJudge { program, id: judge.id() });
        if self.succeeds { self.succeed(pins) } else { Ok(()) }
    }

    /// Gives every link this root again after another filterd had begun to replace it.
    pub fn come_back(&mut self, judge: &Judge, pins: &Pins) -> Result<(), KernelError> {
        self.meet(judge, pins)?;
        if self.succeeds { Ok(()) } else { self.succeed(pins) }
    }

    /// Loads the same program again, and gives it to each link. The kernel does not inform the driver if a
    /// link gets the program that it has already.
    pub fn renew(&mut self, judge: &Judge, pins: &Pins) -> Result<(), KernelError> {
        load(pins, true)?;
        *self = Self::pinned(pins, true, false)?;
        self.meet(judge, pins)?;
        self.promote(pins)
    }

    fn promote(&mut self, pins: &Pins) -> Result<(), KernelError> {
        self.succeeds = false;
        pins.promote_root(&version()).map_err(|error| KernelError::load("pin the new root", error))
    }

    /// Gives every pinned link this root in place of an earlier one.
    fn succeed(&mut self, pins: &Pins) -> Result<(), KernelError> {
        pins.links().iter().try_for_each(|path| {
            pins.must_be_ours(path)?;
            self.update(path).map_err(|error| KernelError::load_of("give a link the new root", &*error))
        })
    }

    /// Moves the pins of this root to the places of the earlier one.
    pub fn settle(&mut self, pins: &Pins) -> Result<(), KernelError> {
        if !self.succeeds {
            return Ok(());
        }
        self.promote(pins)?;
        info!("the filter of another version was replaced without a gap");
        Ok(())
    }

    /// Restores the judge in the slot, if someone emptied it or put another program there.
    pub fn mend_slot(&mut self, mending: &mut TamperingLog) -> Result<(), KernelError> {
        let Some(met) = &self.met else { return Ok(()) };
        let found = match self.seen.get(&0, 0) {
            Ok(program) => Some(program),
            Err(MapError::KeyNotFound) => None,
            Err(error) => return Err(KernelError::load("look into the slot of the judge", error)),
        };
        if found == Some(met.id) {
            return Ok(());
        }
        let put = self.next.set(0, &met.program, 0);
        put.map_err(|error| KernelError::load("put the judge back into its slot", error))?;
        mending.note(Tampering::Slot(found));
        Ok(())
    }

    /// Pins the root, its slot and its version again where someone removed or replaced them.
    pub fn mend(&mut self, pins: &Pins, mending: &mut TamperingLog) -> Result<(), KernelError> {
        if self.succeeds {
            return Ok(());
        }
        let (path, ours) = (pins.root(), self.id()?);
        let failed = |error| KernelError::load("look at the pin of the root program", error);
        let there = || ProgramInfo::from_pin(&path).map(|there| there.id()).map_err(failed);
        if mending.make_place(&path, ours, there)? {
            let pinned = self.program.pin(&path);
            pinned.map_err(|error| KernelError::load("pin the root program again", error))?;
        }
        storage::pin_again(&self.slot, &pins.next(), mending)?;
        if !pins.has_version(&version()) {
            mending.note_missing();
            pins.set_root_version(&version())
                .map_err(|source| KernelError::no_bpffs(pins.directory(), &source))?;
        }
        Ok(())
    }

    /// Gives a link our program again after it had another one.
    pub fn return_to(&mut self, link: &Path) -> Result<(), KernelError> {
        self.update(link).map_err(|error| KernelError::load_of("give a link our program again", &*error))
    }

    fn update(&mut self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let link = XdpLink::try_from(FdLink::from(PinnedLink::from_pin(path)?))?;
        match self.program.attach_to_link(link) {
            Ok(updated) => drop(self.program.take_link(updated)?),
            // The link's interface is gone, so there is nothing to filter.
            Err(error) => info!("{}: its link is dead ({error})", printable::path(path)),
        }
        Ok(())
    }
}

/// The version that distinguishes this root from those of other builds.
fn version() -> String {
    format!("{:08x}", crc32fast::hash(OBJECT))
}

fn load(pins: &Pins, succeeds: bool) -> Result<(), KernelError> {
    let (root, next) = if succeeds { (pins.new_root(), pins.new_next()) } else { (pins.root(), pins.next()) };
    for stale in [&root, &next] {
        // Left by a daemon that was killed while it loaded a root.
        _ = std::fs::remove_file(stale);
    }
    let mut object: Ebpf = EbpfLoader::new()
        .btf(None)
        .map_pin_path("NEXT", next)
        .load(OBJECT)
        .map_err(|error| KernelError::load("load the root program", error))?;
    let program: &mut Xdp = object
        .program_mut(NAME)
        .and_then(|program| program.try_into().ok())
        .expect("the embedded object has this XDP program");
    program.load().map_err(|error| KernelError::load("load the root program", error))?;
    program.pin(root).map_err(|error| KernelError::load("pin the root program", error))
}
