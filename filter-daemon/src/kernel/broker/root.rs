//! A root program, which stays attached, and the one slot through which it calls the judge. There is one for
//! each hook in use.
//!
//! A root that an earlier daemon left pinned is reused if it was built from the same object. Otherwise that
//! daemon's filter keeps working until the first judge is published. Then each link gets the new root by one
//! update.

use std::path::Path;

use aya::Ebpf;
use aya::maps::{Array, Map, MapData, MapError, ProgramArray};
use aya::programs::links::{FdLink, PinnedLink};
use aya::programs::xdp::XdpLink;
use aya::programs::{ProgramError, ProgramFd, ProgramInfo, SchedClassifier, Xdp};
use aya_obj::programs::XdpAttachType;
use tracing::info;

use super::super::hook::Hook;
use super::super::{KernelError, Tampering};
use super::judge::{Judge, JudgeProgram};
use super::loaders;
use super::mending::TamperingLog;
use super::object;
use super::pins::Pins;
use super::storage;

/// The name of the root program in the kernel.
pub const NAME: &str = "filterd_root";

/// The name of the root program for TC.
pub const NAME_TC: &str = "filterd_tc_root";

pub struct Root {
    hook: Hook,
    program: RootProgram,
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

/// The program, in the type that aya has for its hook.
pub enum RootProgram {
    Xdp(Xdp),
    Tc(SchedClassifier),
}

/// A judge that packets meet.
struct PublishedJudge {
    program: ProgramFd,
    id: u32,
}

impl Root {
    /// Opens the pinned root program if its version is ours. Otherwise loads and pins a new one with its
    /// slot.
    pub fn open(hook: Hook, pins: &Pins) -> Result<Self, KernelError> {
        let version = version(hook);
        let failed = |source| KernelError::no_bpffs(pins.directory(), &source);
        let succeeds = match pins.root_version(hook).map_err(failed)? {
            Some(pinned) if pinned == version => false,
            Some(_) => true,
            None => {
                pins.forget_root(hook).map_err(failed)?;
                pins.set_root_version(hook, &version).map_err(failed)?;
                false
            }
        };
        let is_new = !succeeds && !pins.root(hook).exists();
        if succeeds || is_new {
            load(hook, pins, succeeds)?;
        }
        Self::pinned(hook, pins, succeeds, is_new)
    }

    /// Opens the pinned root: the new one, if it is to replace another version.
    fn pinned(hook: Hook, pins: &Pins, succeeds: bool, is_new: bool) -> Result<Self, KernelError> {
        let program = if succeeds { pins.new_root(hook) } else { pins.root(hook) };
        let next = if succeeds { pins.new_next(hook) } else { pins.next(hook) };
        let failed =
            |error: &(dyn std::error::Error + 'static)| KernelError::load_of("open the root program", error);
        pins.must_be_ours(&program)?;
        pins.must_be_ours(&next)?;
        let program = RootProgram::from_pin(hook, &program).map_err(|error| failed(&error))?;
        let open = || MapData::from_pin(&next).map_err(|error| failed(&error));
        let slot = open()?;
        let seen = Array::try_from(Map::Array(open()?)).map_err(|error| failed(&error))?;
        let next = ProgramArray::try_from(Map::ProgramArray(open()?)).map_err(|error| failed(&error))?;
        Ok(Self { hook, program, next, slot, seen, met: None, succeeds, is_new })
    }

    /// The program to attach.
    pub fn program(&mut self) -> &mut RootProgram {
        &mut self.program
    }

    /// True if no root was pinned. A link that existed then has another program.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// The kernel's number of the program.
    pub fn id(&self) -> Result<u32, KernelError> {
        let info = self.program.info();
        info.map(|info| info.id()).map_err(|error| KernelError::load("ask for the root program", error))
    }

    /// Makes packets meet this program of a judge from now on, by one store.
    pub fn meet(&mut self, judge: &JudgeProgram) -> Result<(), KernelError> {
        let failed =
            |error: &(dyn std::error::Error + 'static)| KernelError::load_of("publish the judge", error);
        let program = judge.program().try_clone().map_err(|error| failed(&error))?;
        self.next.set(0, &program, 0).map_err(|error| failed(&error))?;
        self.met = Some(PublishedJudge { program, id: judge.id() });
        Ok(())
    }

    /// Empties the slot, so that a judge that no packet meets does not keep its tables.
    pub fn rest(&mut self) -> Result<(), KernelError> {
        if self.met.take().is_none() {
            return Ok(());
        }
        let emptied = self.next.clear_index(&0);
        emptied.map_err(|error| KernelError::load("empty the slot of the judge", error))
    }

    /// Whether another version's root is still to be replaced.
    pub fn is_successor(&self) -> bool {
        self.succeeds
    }

    /// Loads the same program again. The kernel does not inform the driver if a link gets the program that it
    /// has already.
    pub fn renew(&mut self, judge: &Judge, pins: &Pins) -> Result<(), KernelError> {
        load(self.hook, pins, true)?;
        *self = Self::pinned(self.hook, pins, true, false)?;
        judge.program(self.hook).map_or(Ok(()), |program| self.meet(program))
    }

    /// Moves the pins of this root to the places of the earlier one.
    pub fn promote(&mut self, pins: &Pins) -> Result<(), KernelError> {
        self.succeeds = false;
        pins.promote_root(self.hook, &version(self.hook))
            .map_err(|error| KernelError::load("pin the new root", error))
    }

    /// Moves the pins likewise, if this root has replaced that of another version.
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
        let (path, ours) = (pins.root(self.hook), self.id()?);
        let failed = |error| KernelError::load("look at the pin of the root program", error);
        let there = || ProgramInfo::from_pin(&path).map(|there| there.id()).map_err(failed);
        if mending.make_place(&path, ours, there)? {
            let pinned = self.program.pin(&path);
            pinned.map_err(|error| KernelError::load("pin the root program again", error))?;
        }
        storage::pin_again(&self.slot, &pins.next(self.hook), mending)?;
        let version = version(self.hook);
        if !pins.has_version(self.hook, &version) {
            mending.note_missing();
            pins.set_root_version(self.hook, &version)
                .map_err(|source| KernelError::no_bpffs(pins.directory(), &source))?;
        }
        Ok(())
    }
}

impl RootProgram {
    fn from_pin(hook: Hook, pin: &Path) -> Result<Self, ProgramError> {
        match hook {
            Hook::Xdp => Xdp::from_pin(pin, XdpAttachType::Interface).map(Self::Xdp),
            Hook::Tc | Hook::TcBare | Hook::Sent | Hook::SentBare => {
                SchedClassifier::from_pin(pin).map(Self::Tc)
            }
        }
    }

    fn info(&self) -> Result<ProgramInfo, ProgramError> {
        match self {
            Self::Xdp(program) => program.info(),
            Self::Tc(program) => program.info(),
        }
    }

    fn pin(&mut self, at: &Path) -> Result<(), aya::pin::PinError> {
        match self {
            Self::Xdp(program) => program.pin(at),
            Self::Tc(program) => program.pin(at),
        }
    }

    /// The program, if it is one of XDP.
    pub fn xdp(&mut self) -> Option<&mut Xdp> {
        match self {
            Self::Xdp(program) => Some(program),
            Self::Tc(_) => None,
        }
    }

    /// The program, if it is one of TC.
    pub fn tc(&mut self) -> Option<&mut SchedClassifier> {
        match self {
            Self::Xdp(_) => None,
            Self::Tc(program) => Some(program),
        }
    }

    /// Gives the XDP link that is pinned there this program. Does nothing for another kind of link.
    pub fn update_xdp(&mut self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let Some(program) = self.xdp() else { return Ok(()) };
        let link = XdpLink::try_from(FdLink::from(PinnedLink::from_pin(path)?))?;
        let updated = program.attach_to_link(link)?;
        drop(program.take_link(updated)?);
        Ok(())
    }
}

/// The version that distinguishes this root from those of other builds.
fn version(hook: Hook) -> String {
    format!("{:08x}", crc32fast::hash(compiled(hook).0))
}

/// The compiled root, and the name of its program.
fn compiled(hook: Hook) -> (&'static [u8], &'static str) {
    match hook {
        Hook::Xdp => (&object::ROOT, NAME),
        Hook::Tc | Hook::TcBare | Hook::Sent | Hook::SentBare => (&object::ROOT_TC, NAME_TC),
    }
}

fn load(hook: Hook, pins: &Pins, succeeds: bool) -> Result<(), KernelError> {
    let (root, next) = if succeeds {
        (pins.new_root(hook), pins.new_next(hook))
    } else {
        (pins.root(hook), pins.next(hook))
    };
    for stale in [&root, &next] {
        // Left by a daemon that was killed while it loaded a root.
        _ = std::fs::remove_file(stale);
    }
    let failed =
        |error: &(dyn std::error::Error + 'static)| KernelError::load_of("load the root program", error);
    let (bytes, name) = compiled(hook);
    let loaded = loaders::with(|loader| loader.map_pin_path("NEXT", next).load(bytes));
    let mut object: Ebpf = loaded.map_err(|error| failed(&error))?;
    let program = object.program_mut(name).expect("the embedded object has this program");
    let pinned = match hook {
        Hook::Xdp => {
            let program: &mut Xdp = program.try_into().expect("it is one of XDP");
            program.load().map_err(|error| failed(&error))?;
            program.pin(root)
        }
        Hook::Tc | Hook::TcBare | Hook::Sent | Hook::SentBare => {
            let program: &mut SchedClassifier = program.try_into().expect("it is one of TC");
            program.load().map_err(|error| failed(&error))?;
            program.pin(root)
        }
    };
    pinned.map_err(|error| KernelError::load("pin the root program", error))
}
