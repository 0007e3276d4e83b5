//! Attaches programs of TC to interfaces: by a TCX link where the kernel has them (6.6), otherwise as a filter
//! of `clsact`. The pin of an attachment is the link itself, or a symbolic link that describes the filter
//! (`clsact`).

mod clsact;
mod query;

use std::path::Path;

use aya::programs::links::{FdLink, LinkOrder, PinnedLink};
use aya::programs::tc::{SchedClassifierLink, TcAttachOptions};
use aya::programs::{SchedClassifier, TcAttachType};
use tracing::{info, warn};

use super::super::{AttachMode, KernelError};
use super::held::{HeldLink, LinkState};
use super::mending::TamperingLog;
use super::pins::Pins;
use super::surroundings;
use crate::text::printable;

/// The side of an interface at which a program sees frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcSide {
    Received,
    Sent,
}

/// A place for a program: a side of an interface, and the pin of the attachment.
#[derive(Clone, Copy)]
pub struct TcPlace<'a> {
    pub name: &'a str,
    pub index: u32,
    pub side: TcSide,
    /// The program's name in the kernel, by which its filters are recognised.
    pub program: &'static str,
    pub pin: &'a Path,
}

/// How a program is attached.
#[derive(Debug)]
pub enum TcAttachment {
    Tcx(HeldLink),
    /// A filter of `clsact`, as described by the note at the pin.
    Clsact(clsact::ClsactNote, TcSide, &'static str),
}

impl TcSide {
    const fn attach_type(self) -> TcAttachType {
        match self {
            Self::Received => TcAttachType::Ingress,
            Self::Sent => TcAttachType::Egress,
        }
    }
}

impl TcPlace<'_> {
    /// Attaches the program, first in the row, so that no other program hides frames from it.
    pub fn attach(&self, program: &mut SchedClassifier) -> Result<TcAttachment, KernelError> {
        match self.attach_tcx(program)? {
            Ok(attached) => Ok(attached),
            Err(refused) => {
                let note = clsact::attach(program, self)
                    .inspect_err(|_| warn!("{}: no link of TCX: {refused}", self.name))?;
                Ok(TcAttachment::Clsact(note, self.side, self.program))
            }
        }
    }

    /// Attaches the program by a link. The inner error says why the kernel makes none.
    fn attach_tcx(&self, program: &mut SchedClassifier) -> Result<Result<TcAttachment, String>, KernelError> {
        let order = TcAttachOptions::TcxOrder(LinkOrder::first());
        let id = match program.attach_with_options(self.name, self.side.attach_type(), order) {
            Ok(id) => id,
            Err(refused) => return Ok(Err(refused.to_string())),
        };
        let link = program.take_link(id).map_err(|error| self.failed("attach", &error))?;
        let link = FdLink::try_from(link).map_err(|error| self.failed("attach", &error))?;
        let pinned = link.pin(self.pin).map_err(|error| self.failed("pin", &error))?;
        let held = HeldLink::new(pinned.into(), self.pin).map_err(|error| self.failed("ask for", &error))?;
        Ok(Ok(TcAttachment::Tcx(held)))
    }

    /// Opens the attachment that is pinned there, if it still is on this interface. It may have another
    /// program.
    pub fn pinned(&self, pins: &Pins) -> Result<Option<TcAttachment>, KernelError> {
        let Ok(found) = self.pin.symlink_metadata() else { return Ok(None) };
        if found.is_symlink() {
            return Ok(self.pinned_note());
        }
        pins.must_be_ours(self.pin)?;
        let link = PinnedLink::from_pin(self.pin).map_err(|error| self.failed("open", &error))?;
        let held = HeldLink::new(link.into(), self.pin).map_err(|error| self.failed("ask for", &error))?;
        let mut attached = TcAttachment::Tcx(held);
        let is_here = attached.state().is_some_and(|state| state.index == self.index);
        Ok(is_here.then_some(attached))
    }

    /// The filter of `clsact` that is noted there, if it is on this interface.
    fn pinned_note(&self) -> Option<TcAttachment> {
        let note = clsact::ClsactNote::read(self.pin).filter(|note| note.is_here(self.index));
        note.map(|note| TcAttachment::Clsact(note, self.side, self.program))
    }

    /// Gives the pinned attachment this program.
    pub fn return_to(
        &self,
        attached: &mut TcAttachment,
        program: &mut SchedClassifier,
    ) -> Result<(), KernelError> {
        match attached {
            TcAttachment::Tcx(_) => update(self.pin, program).map_err(|error| self.failed("update", &*error)),
            TcAttachment::Clsact(note, ..) => {
                *note = clsact::attach(program, self)?;
                Ok(())
            }
        }
    }

    fn failed(&self, what: &str, error: &(dyn std::error::Error + 'static)) -> KernelError {
        KernelError::load_of(&format!("{what} the program {} on {}", self.program, self.name), error)
    }
}

impl TcAttachment {
    /// The filter of `clsact` that a note describes.
    pub fn noted(pin: &Path, side: TcSide, program: &'static str) -> Option<Self> {
        clsact::ClsactNote::read(pin).map(|note| Self::Clsact(note, side, program))
    }

    pub const fn mode(&self) -> AttachMode {
        match self {
            Self::Tcx(_) => AttachMode::Tcx,
            Self::Clsact(..) => AttachMode::Clsact,
        }
    }

    /// The interface and the program. None if it is detached, or if its interface is gone. A filter of
    /// `clsact` cannot be seen from another network namespace.
    pub fn state(&mut self) -> Option<LinkState> {
        match self {
            Self::Tcx(held) => held.seat(),
            Self::Clsact(note, side, program) => {
                let program = clsact::program_on(note.index, *side, program)?;
                note.is_here(note.index).then_some(LinkState { index: note.index, program })
            }
        }
    }

    /// Whether it is on this interface, with this program.
    pub fn check(&mut self, index: u32, program: u32) -> bool {
        self.state() == Some(LinkState { index, program })
    }

    /// Whether it is in our network namespace. A number of an interface means another one elsewhere.
    pub fn is_here(&self, index: u32) -> bool {
        match self {
            Self::Tcx(held) => {
                let row = query::row(index, TcSide::Received).unwrap_or_default();
                row.iter().any(|found| found.link == held.id())
            }
            Self::Clsact(note, ..) => note.is_here(index),
        }
    }

    /// Restores its pin, if that is missing or was replaced.
    pub fn mend(&mut self, pin: &Path, mending: &mut TamperingLog) -> Result<(), KernelError> {
        match self {
            Self::Tcx(held) => held.mend(pin, mending),
            Self::Clsact(note, ..) => {
                if note.mend(pin)? {
                    mending.note_missing();
                }
                Ok(())
            }
        }
    }
}

/// The interface of the filter of `clsact` that the note at this pin describes.
pub fn noted_interface(pin: &Path) -> Option<u32> {
    clsact::ClsactNote::read(pin).map(|note| note.index)
}

/// Gives the attachment that is pinned there this program. One that cannot be reached stays as it is.
pub fn give(
    pin: &Path,
    side: TcSide,
    its: &'static str,
    program: &mut SchedClassifier,
) -> Result<(), KernelError> {
    if !pin.is_symlink() {
        if let Err(error) = update(pin, program) {
            info!("{}: its link is dead ({error})", printable::path(pin));
        }
        return Ok(());
    }
    let index = noted_interface(pin).unwrap_or_default();
    let Some(name) = surroundings::name_of(index)? else { return Ok(()) };
    let place = TcPlace { name: &name, index, side, program: its, pin };
    if let Some(mut attached) = place.pinned_note() {
        place.return_to(&mut attached, program)?;
    }
    Ok(())
}

/// Gives the link that is pinned there this program.
fn update(pin: &Path, program: &mut SchedClassifier) -> Result<(), Box<dyn std::error::Error>> {
    let link = SchedClassifierLink::try_from(FdLink::from(PinnedLink::from_pin(pin)?))?;
    let updated = program.attach_to_link(link)?;
    drop(program.take_link(updated)?);
    Ok(())
}

/// Detaches what is pinned there. False if it is in another network namespace, and therefore stays. The pin
/// itself is left to the caller, with the returned descriptor: if the last reference to a link is a
/// descriptor, the kernel detaches it at once.
pub fn release(pin: &Path, side: TcSide, program: &str) -> Result<(bool, Option<PinnedLink>), KernelError> {
    let is_off = !pin.is_symlink() || clsact::detach(pin, side, program)?;
    Ok((is_off, PinnedLink::from_pin(pin).ok()))
}

/// The numbers of the programs that run before this one on received frames, by links of TCX.
pub fn before(index: u32, program: u32) -> Vec<u32> {
    let row = query::row(index, TcSide::Received).unwrap_or_default();
    row.iter().map(|found| found.program).take_while(|found| *found != program).collect()
}

/// The numbers of the programs on received frames that may be roots of another filterd.
pub fn roots_on(index: u32, name: &'static str) -> Vec<u32> {
    let row = query::row(index, TcSide::Received).unwrap_or_default();
    let filter = clsact::program_on(index, TcSide::Received, name);
    row.iter().map(|found| found.program).chain(filter).collect()
}
