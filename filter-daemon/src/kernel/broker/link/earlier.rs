//! Takes over attachments that an earlier filterd left pinned.

use std::path::Path;

use aya::programs::ProgramInfo;
use aya::programs::links::{FdLink, LinkType, PinnedLink};
use tracing::{info, warn};

use super::super::held::{HeldLink, LinkState};
use super::super::pins::Pins;
use super::super::root::{NAME_TC, Root};
use super::super::roots::Roots;
use super::super::sent_work::SentWork;
use super::super::tc::{self, TcAttachment, TcSide};
use super::{HeldFilter, Judges, Links};
use crate::config::pin;
use crate::kernel::KernelError;
use crate::kernel::hook::Hook;
use crate::text::{Explain, printable};

impl Links {
    /// Holds every pinned attachment that is still on an interface, in any network namespace, and gives it our
    /// program. One that cannot be held is reported and left alone. Only an attachment whose interface is gone
    /// for good loses its pin.
    pub fn adopt(&mut self, judges: &mut impl Judges, pins: &Pins) {
        for path in pins.links() {
            let Some(name) = pin::interface(&path).filter(|name| !self.has(name)) else { continue };
            match adopted(&path, judges, pins) {
                Ok(Some(held)) => _ = self.0.insert(name, held),
                Ok(None) => {}
                Err(error) => warn!("{} is left as it is: {}", printable::path(&path), error.explain()),
            }
        }
    }
}

/// True if the attachment that is pinned there is still on an interface, in any network namespace.
pub fn is_on_an_interface(path: &Path) -> bool {
    opened(path, TcSide::Received).is_some_and(|mut found| found.state().is_some())
}

/// The hook of the attachment that is pinned there, on received frames.
pub fn hook_of_pin(path: &Path, pins: &Pins) -> Option<Hook> {
    hook_on(TcSide::Received, path, pins)
}

/// The hook of the attachment that is pinned there. It is that of the root program it has.
fn hook_on(side: TcSide, path: &Path, pins: &Pins) -> Option<Hook> {
    let mut found = opened(path, side)?;
    if let OpenedPin::Xdp(_) = found {
        return Some(Hook::Xdp);
    }
    let program = found.state()?.program;
    let is_root = |hook: &Hook| {
        let roots = [pins.root(*hook), pins.new_root(*hook)];
        roots.iter().any(|root| ProgramInfo::from_pin(root).is_ok_and(|root| root.id() == program))
    };
    let unknown = match side {
        TcSide::Received => Hook::Tc,
        TcSide::Sent => Hook::Sent,
    };
    Hook::ALL.into_iter().find(is_root).or(Some(unknown))
}

/// Gives every pinned attachment whose root is `chosen` that root.
pub fn hand_over(
    roots: &mut Roots,
    pins: &Pins,
    chosen: impl Fn(Hook, &Root) -> bool,
) -> Result<(), KernelError> {
    let received = pins.links().into_iter().map(|path| (path, TcSide::Received));
    let work = SentWork::JudgeDestinations;
    let sent = pins.all_sent(work).into_iter().map(|name| (pins.sent(work, &name), TcSide::Sent));
    for (path, side) in received.chain(sent) {
        if !path.is_symlink() {
            pins.must_be_ours(&path)?;
        }
        let Some(hook) = hook_on(side, &path, pins) else { continue };
        let root = roots.get(hook)?;
        if chosen(hook, root) {
            give(&path, side, root)?;
        }
    }
    Ok(())
}

/// Detaches every attachment that no link of the kernel holds, before their pins are removed. Returns the
/// interfaces that this network namespace cannot reach.
pub fn release_all(pins: &Pins) -> Result<Vec<String>, KernelError> {
    let mut out_of_reach = Vec::new();
    for path in pins.links().into_iter().filter(|path| path.is_symlink()) {
        let (is_off, _) = tc::release(&path, TcSide::Received, NAME_TC)?;
        if let Some(name) = pin::interface(&path).filter(|_| !is_off) {
            out_of_reach.push(name);
        }
    }
    Ok(out_of_reach)
}

/// What is pinned, opened for a look.
enum OpenedPin {
    Xdp(HeldLink),
    Tc(TcAttachment),
}

impl OpenedPin {
    fn state(&mut self) -> Option<LinkState> {
        match self {
            Self::Xdp(held) => held.seat(),
            Self::Tc(attached) => attached.state(),
        }
    }
}

fn opened(path: &Path, side: TcSide) -> Option<OpenedPin> {
    if path.is_symlink() {
        return TcAttachment::noted(path, side, NAME_TC).map(OpenedPin::Tc);
    }
    let link = FdLink::from(PinnedLink::from_pin(path).ok()?);
    let is_tcx = matches!(link.info().ok()?.link_type().ok()?, LinkType::Tcx);
    let held = HeldLink::new(link, path).ok()?;
    Some(if is_tcx { OpenedPin::Tc(TcAttachment::Tcx(held)) } else { OpenedPin::Xdp(held) })
}

fn give(path: &Path, side: TcSide, root: &mut Root) -> Result<(), KernelError> {
    let given = match root.program().tc() {
        Some(program) => tc::give(path, side, NAME_TC, program),
        None => match root.program().update_xdp(path) {
            // The link's interface is gone, so there is nothing to filter.
            Err(error) => {
                info!("{}: its link is dead ({error})", printable::path(path));
                Ok(())
            }
            Ok(()) => Ok(()),
        },
    };
    given.map_err(|error| KernelError::load_of("give a link the root program", &error))
}

fn adopted(path: &Path, judges: &mut impl Judges, pins: &Pins) -> Result<Option<HeldFilter>, KernelError> {
    if !path.is_symlink() {
        pins.must_be_ours(path)?;
    }
    let found = opened(path, TcSide::Received)
        .ok_or_else(|| KernelError::refused("open a pinned link", "it is none"))?;
    let hook = hook_of_pin(path, pins);
    let mut held = match found {
        OpenedPin::Xdp(held) => HeldFilter::Xdp(held),
        OpenedPin::Tc(attached) => HeldFilter::Tc(attached, hook.unwrap_or(Hook::Tc)),
    };
    let Some(LinkState { program, .. }) = held.state() else {
        if held.check_detached() {
            info!(
                "{}: this link is attached to no interface: the interface is missing, or another process detached the filter",
                printable::path(path)
            );
            let forgotten = pin::interface(path).map_or(Ok(()), |name| pins.forget_link(&name));
            forgotten.map_err(|error| KernelError::load("remove the pin of a link", error))?;
        }
        return Ok(None);
    };
    let root = judges.root(held.hook())?;
    if program != root.id()? {
        give(path, TcSide::Received, root)?;
        let path = printable::path(path);
        if root.is_new() {
            warn!(
                "{path}: no root program was pinned beside this link, so it has a new one (before: id {program})"
            );
        } else {
            warn!(
                "{path}: this link had another program (id {program}) than the pinned one; filterd restored its own"
            );
        }
    }
    Ok(Some(held))
}

impl HeldFilter {
    /// True only if the kernel reports that it is on no interface.
    fn check_detached(&mut self) -> bool {
        match self {
            Self::Xdp(held) | Self::Tc(TcAttachment::Tcx(held), _) => held.check_detached(),
            Self::Tc(TcAttachment::Clsact(note, ..), _) => note.is_here(note.index),
        }
    }
}
