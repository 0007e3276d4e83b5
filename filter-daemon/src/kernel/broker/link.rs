//! Attaches root programs to interfaces, in the best way that each allows (`ladder`). `earlier` handles what
//! an earlier filterd left attached.

mod earlier;

use std::collections::HashMap;
use std::io;
use std::path::Path;

use aya::programs::XdpMode;
use aya::programs::links::{FdLink, LinkType, PinnedLink};
use tracing::{info, warn};

use super::super::error::errno_of;
use super::super::hook::Hook;
use super::super::interface::{Framing, KernelInterface, Occupant};
use super::super::{AttachMode, AttachReason, Attachment, KernelError, Link};
use super::held::{HeldLink, LinkState};
use super::ladder::{NoWay, Rung, ladder};
use super::mending::TamperingLog;
use super::occupied;
use super::pins::Pins;
use super::root::{NAME_TC, Root};
use super::roots::Roots;
use super::surroundings::{self, LoadedPrograms};
use super::tc::{self, TcAttachment, TcPlace, TcSide};
use crate::config::Mode;
use crate::text::{Explain, Explanation};
pub use earlier::{hand_over, hook_of_pin, is_on_an_interface, release_all};

/// The links of one daemon, by the names that their interfaces had when they were attached.
#[derive(Debug, Default)]
pub struct Links(HashMap<String, HeldFilter>);

/// How the filter is attached to one interface.
#[derive(Debug)]
enum HeldFilter {
    Xdp(HeldLink),
    Tc(TcAttachment, Hook),
}

/// Makes sure that the root of a hook has a judge before packets meet it.
pub trait Judges {
    fn root(&mut self, hook: Hook) -> Result<&mut Root, KernelError>;
}

impl Links {
    /// Attaches to `interface`. An existing attachment, ours or an earlier daemon's, is reused if `mode`
    /// still allows it. If someone gave it another program, it gets ours again.
    pub fn attach(
        &mut self,
        judges: &mut impl Judges,
        interface: &KernelInterface,
        mode: Mode,
        pins: &Pins,
        neighbours: &LoadedPrograms,
    ) -> Result<Attachment, KernelError> {
        let own = self.own(judges, interface, pins)?;
        let foreign = interface.occupant.as_ref().filter(|_| own.is_none_or(|own| own != AttachMode::Native));
        if let Some(occupant) = foreign.filter(|occupant| occupied::is_filterd(occupant.id, neighbours)) {
            return Err(occupied::refusal(occupant, &interface.name, neighbours));
        }
        let rungs = ladder(mode, interface, foreign.map(|occupant| occupant.id))
            .map_err(|why| refused(why, interface, neighbours))?;
        let is_generic = interface.occupant.as_ref().is_some_and(|occupant| occupant.is_generic);
        let kept = own.filter(|own| *own != AttachMode::Native || !is_generic).and_then(|own| {
            let allowed = |rung: &&Rung| rung.allows(own);
            rungs.iter().find(allowed).map(|rung| (own, rung.reason()))
        });
        let (mode, reason) = match (kept, own) {
            (Some(kept), _) => kept,
            (None, Some(_)) => self.change(judges, interface, &rungs, pins)?,
            (None, None) => {
                self.detach(&interface.name, pins)?;
                refuse_beside_another(interface, neighbours)?;
                self.climb(judges, interface, &rungs, pins)?
            }
        };
        let hook = Hook::of(mode, interface.framing);
        let program = judges.root(hook)?.id()?;
        Ok(Attachment {
            index: interface.index,
            mode: Some(mode),
            reason: Some(reason),
            program,
            framing: interface.framing,
        })
    }

    /// Detaches the filter, or drops the link if its interface is gone.
    pub fn detach(&mut self, interface: &str, pins: &Pins) -> Result<(), KernelError> {
        // The descriptor is dropped after the pin, so that the link is detached when this returns.
        let _held = self.0.remove(interface);
        let (_, _pinned) = tc::release(&pins.link(interface), TcSide::Received, NAME_TC)?;
        pins.forget_link(interface).map_err(|error| KernelError::load("remove the pin of a link", error))
    }

    /// The links that are still on interfaces, in any network namespace.
    pub fn look(&mut self, pins: &Pins) -> Vec<Link> {
        let seated = |(name, held): (&String, &mut HeldFilter)| {
            let LinkState { index, program } = held.state()?;
            let (name, formerly) = (name.clone(), pins.former_name(name));
            let (mode, is_found_here) = (held.tc_mode(), held.is_found_here(index));
            let before = if is_found_here { tc::before(index, program) } else { Vec::new() };
            let framing = if held.hook().is_bare() { Framing::Bare } else { Framing::Ethernet };
            Some(Link {
                name,
                index,
                program,
                mode,
                is_found_here,
                framing,
                before,
                formerly,
                egress: None,
                outbound: None,
            })
        };
        self.0.iter_mut().filter_map(seated).collect()
    }

    /// The hooks of all links.
    pub fn hooks(&self) -> impl Iterator<Item = Hook> {
        self.0.values().map(HeldFilter::hook)
    }

    /// Renames a link. If the other name is in use, the two links exchange their names.
    pub fn rename(
        &mut self,
        from: &str,
        to: &str,
        formerly: Option<&str>,
        pins: &Pins,
    ) -> Result<(), KernelError> {
        let renamed = || {
            let others = pins.former_name(to);
            // Written first, so that the note survives if filterd is killed in between.
            pins.note_former_name(to, formerly)?;
            pins.rename_link(from, to)?;
            pins.note_former_name(from, others.as_deref())
        };
        renamed().map_err(|error| KernelError::load("rename the pin of a link", error))?;
        let (one, other) = (self.0.remove(from), self.0.remove(to));
        self.0.extend(one.map(|link| (to.to_owned(), link)));
        self.0.extend(other.map(|link| (from.to_owned(), link)));
        Ok(())
    }

    /// Pins links again whose pins someone removed or replaced.
    pub fn mend(&mut self, pins: &Pins, mending: &mut TamperingLog) -> Result<(), KernelError> {
        self.0.iter_mut().try_for_each(|(name, held)| match held {
            HeldFilter::Xdp(link) => link.mend(&pins.link(name), mending),
            HeldFilter::Tc(attached, _) => attached.mend(&pins.link(name), mending),
        })
    }

    /// True if a link has this name.
    pub fn has(&self, interface: &str) -> bool {
        self.0.contains_key(interface)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Drops the descriptors of the links; their pins keep them attached.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// Our own attachment on this interface, if there is one. It gets our program.
    fn own(
        &mut self,
        judges: &mut impl Judges,
        interface: &KernelInterface,
        pins: &Pins,
    ) -> Result<Option<AttachMode>, KernelError> {
        let (name, path) = (&interface.name, pins.link(&interface.name));
        let Ok(found) = path.symlink_metadata() else { return Ok(None) };
        if !found.is_symlink() {
            pins.must_be_ours(&path)?;
        }
        if !self.0.contains_key(name) {
            let hook = Hook::of(AttachMode::Tcx, interface.framing);
            let Some(held) = HeldFilter::open(&path, interface, hook, pins)? else { return Ok(None) };
            self.0.insert(name.clone(), held);
        }
        let Some(held) = self.0.get_mut(name) else { return Ok(None) };
        let Some(state) = held.state().filter(|state| state.index == interface.index) else {
            return Ok(None);
        };
        let mode = match held {
            HeldFilter::Xdp(_) if interface.occupant.is_none() => return Ok(None),
            HeldFilter::Xdp(_) => AttachMode::Native,
            HeldFilter::Tc(attached, _) if !attached.is_here(interface.index) => return Ok(None),
            HeldFilter::Tc(attached, _) => attached.mode(),
        };
        let root = judges.root(held.hook())?;
        if state.program != root.id()? {
            held.return_to(root, name, interface.index, &path)?;
            warn!("{name}: its link had another program (id {}); filterd restored its own", state.program);
        }
        Ok(Some(mode))
    }

    /// Tries these ways, best first.
    fn climb(
        &mut self,
        judges: &mut impl Judges,
        interface: &KernelInterface,
        rungs: &[Rung],
        pins: &Pins,
    ) -> Result<(AttachMode, AttachReason), KernelError> {
        let (name, pin) = (&interface.name, pins.link(&interface.name));
        let (held, way) = attached(judges, interface, rungs, &pin)?;
        // The index may have been reassigned since the lookup. The link is then dropped again here.
        if let Err(gone) = surroundings::interface(name, interface.index) {
            let (_, _pinned) = tc::release(&pin, TcSide::Received, NAME_TC)?;
            _ = pins.forget_link(name);
            return Err(gone);
        }
        self.0.insert(name.clone(), held);
        Ok(way)
    }

    /// Attaches in another way than before: the new attachment comes first, so that there is no gap.
    fn change(
        &mut self,
        judges: &mut impl Judges,
        interface: &KernelInterface,
        rungs: &[Rung],
        pins: &Pins,
    ) -> Result<(AttachMode, AttachReason), KernelError> {
        let name = &interface.name;
        let failed = |error: io::Error| KernelError::load("move the pin of a link", error);
        pins.put_link_aside(name).map_err(failed)?;
        let pin = pins.link(name);
        match attached(judges, interface, rungs, &pin) {
            Ok((held, way)) => {
                let _before = self.0.insert(name.clone(), held);
                let (_, _pinned) = tc::release(&pins.link_aside(name), TcSide::Received, NAME_TC)?;
                pins.forget_link_aside(name).map_err(failed)?;
                info!("{name}: attached in {} mode now, without a gap", way.0);
                Ok(way)
            }
            Err(error) => {
                pins.restore_link(name).map_err(failed)?;
                Err(error)
            }
        }
    }
}

impl HeldFilter {
    /// Opens what is pinned there. None for a filter of `clsact` that is elsewhere.
    fn open(
        path: &Path,
        interface: &KernelInterface,
        hook: Hook,
        pins: &Pins,
    ) -> Result<Option<Self>, KernelError> {
        let place = place(&interface.name, interface.index, path);
        if path.is_symlink() {
            return Ok(place.pinned(pins)?.map(|attached| Self::Tc(attached, hook)));
        }
        let link = PinnedLink::from_pin(path);
        let link = FdLink::from(link.map_err(|error| KernelError::load("open the pinned link", error))?);
        let kind = link.info().and_then(|info| info.link_type());
        let kind = kind.map_err(|error| KernelError::load("ask for a link", error))?;
        if matches!(kind, LinkType::Tcx) {
            return Ok(place.pinned(pins)?.map(|attached| Self::Tc(attached, hook)));
        }
        let held = HeldLink::new(link, path).map_err(|error| KernelError::load("ask for a link", error))?;
        Ok(Some(Self::Xdp(held)))
    }

    fn hook(&self) -> Hook {
        match self {
            Self::Xdp(_) => Hook::Xdp,
            Self::Tc(_, hook) => *hook,
        }
    }

    fn state(&mut self) -> Option<LinkState> {
        match self {
            Self::Xdp(held) => held.seat(),
            Self::Tc(attached, _) => attached.state(),
        }
    }

    fn tc_mode(&self) -> Option<AttachMode> {
        match self {
            Self::Xdp(_) => None,
            Self::Tc(attached, _) => Some(attached.mode()),
        }
    }

    fn is_found_here(&self, index: u32) -> bool {
        match self {
            Self::Xdp(_) => false,
            Self::Tc(attached, _) => attached.is_here(index),
        }
    }

    /// Gives it our program again.
    fn return_to(&mut self, root: &mut Root, name: &str, index: u32, pin: &Path) -> Result<(), KernelError> {
        let failed = |error: &(dyn std::error::Error + 'static)| {
            KernelError::load_of("give a link our program again", error)
        };
        match self {
            Self::Xdp(_) => root.program().update_xdp(pin).map_err(|error| failed(&*error)),
            Self::Tc(attached, _) => {
                let program = root.program().tc().expect("the root of a TC hook is a program of TC");
                place(name, index, pin).return_to(attached, program)
            }
        }
    }
}

impl Rung {
    /// Whether an attachment in this mode may stay.
    fn allows(self, mode: AttachMode) -> bool {
        match (self, mode) {
            (Self::Native(_), AttachMode::Native) | (Self::Tc(_), AttachMode::Tcx | AttachMode::Clsact) => {
                true
            }
            (Self::Native(_), AttachMode::Tcx | AttachMode::Clsact) | (Self::Tc(_), AttachMode::Native) => {
                false
            }
        }
    }

    fn reason(self) -> AttachReason {
        match self {
            Self::Native(reason) | Self::Tc(reason) => reason,
        }
    }
}

fn place<'a>(name: &'a str, index: u32, pin: &'a Path) -> TcPlace<'a> {
    TcPlace { name, index, side: TcSide::Received, program: NAME_TC, pin }
}

/// Attaches by the first of these ways that works, and pins the attachment.
fn attached(
    judges: &mut impl Judges,
    interface: &KernelInterface,
    rungs: &[Rung],
    pin: &Path,
) -> Result<(HeldFilter, (AttachMode, AttachReason)), KernelError> {
    let mut refusals = Vec::new();
    for (number, rung) in (1..).zip(rungs) {
        let tried = match rung {
            Rung::Native(reason) => attach_native(judges, interface, pin, number == rungs.len())
                .map(|held| (HeldFilter::Xdp(held), (AttachMode::Native, *reason))),
            Rung::Tc(reason) => attach_tc(judges, interface, pin).map(|(held, hook)| {
                let mode = held.mode();
                (HeldFilter::Tc(held, hook), (mode, *reason))
            }),
        };
        match tried {
            Ok(attached) => {
                for refusal in &refusals {
                    let Explanation { message, remedy } = KernelError::explain(refusal);
                    let cause = remedy.map(|cause| format!(": {cause}")).unwrap_or_default();
                    info!("{message}{cause}; filterd uses TC instead");
                }
                return Ok(attached);
            }
            Err(error) => refusals.push(error),
        }
    }
    Err(refusals.pop().unwrap_or_else(|| KernelError::refused("attach", "there is no way to")))
}

fn attach_tc(
    judges: &mut impl Judges,
    interface: &KernelInterface,
    pin: &Path,
) -> Result<(TcAttachment, Hook), KernelError> {
    let hook = Hook::of(AttachMode::Tcx, interface.framing);
    let root = judges.root(hook)?;
    let program = root.program().tc().expect("the root of a TC hook is a program of TC");
    Ok((place(&interface.name, interface.index, pin).attach(program)?, hook))
}

fn attach_native(
    judges: &mut impl Judges,
    interface: &KernelInterface,
    pin: &Path,
    is_last: bool,
) -> Result<HeldLink, KernelError> {
    let failed = |source: io::Error| refusal(interface, source, is_last);
    let root = judges.root(Hook::Xdp)?;
    let program = root.program().xdp().expect("the root of XDP is a program of XDP");
    let id = program.attach_to_if_index(interface.index, XdpMode::Driver).map_err(|error| {
        failed(
            errno_of(&error)
                .map_or_else(|| io::Error::other(error.to_string()), io::Error::from_raw_os_error),
        )
    })?;
    let link = program.take_link(id).map_err(|error| failed(io::Error::other(error)))?;
    // If the kernel refuses a link, aya attaches by netlink instead. Such an attachment cannot be pinned, so
    // it fails here.
    let link = FdLink::try_from(link).map_err(|_| failed(io::Error::from_raw_os_error(nix::libc::EINVAL)))?;
    let pinned = link.pin(pin).map_err(|error| KernelError::load("pin the link", error))?;
    HeldLink::new(pinned.into(), pin).map_err(|error| KernelError::load("ask for a link", error))
}

/// The error of a driver. If there is another way, the hint is only the probable cause.
fn refusal(interface: &KernelInterface, source: io::Error, is_last: bool) -> KernelError {
    let (cause, instead) = match source.raw_os_error() {
        Some(nix::libc::EPERM | nix::libc::EACCES) => {
            ("filterd needs CAP_NET_ADMIN: run it as root".to_owned(), "")
        }
        Some(nix::libc::EBUSY | nix::libc::EEXIST) => {
            ("another XDP program came in between, or one sits on a device above it (macvlan)".to_owned(), "")
        }
        Some(nix::libc::EOPNOTSUPP) => (
            format!(
                "its driver has no XDP support, or none while the card merges packets (hardware GRO, LRO: see `ethtool -k {}`)",
                interface.name
            ),
            "try `mode: auto` in the configuration (or `--mode auto`)\nto see what each interface supports: filterd doctor",
        ),
        Some(nix::libc::EINVAL | nix::libc::ERANGE) => (
            format!(
                "its driver refuses, often because of its MTU (now {}), LRO, hardware GRO, or too few queues: see the kernel log",
                interface.mtu
            ),
            "`mode: auto` in the configuration (or `--mode auto`) does not need the driver\nto see what each interface supports: filterd doctor",
        ),
        _ => ("see the kernel log".to_owned(), ""),
    };
    let hint = if is_last && !instead.is_empty() { format!("{cause}; {instead}") } else { cause };
    let (name, mode) = (interface.name.clone(), AttachMode::Native.to_string());
    KernelError::Attach { name, mode, reason: source.to_string(), hint }
}

/// Refuses an interface that another filterd filters by TC. Nothing of ours is attached there.
fn refuse_beside_another(
    interface: &KernelInterface,
    neighbours: &LoadedPrograms,
) -> Result<(), KernelError> {
    let other = tc::roots_on(interface.index, NAME_TC).into_iter();
    match other
        .map(|id| Occupant { id, is_generic: false })
        .find(|it| occupied::is_filterd(it.id, neighbours))
    {
        Some(other) => Err(occupied::refusal(&other, &interface.name, neighbours)),
        None => Ok(()),
    }
}

/// The error for an interface that no allowed way suits.
fn refused(why: NoWay, interface: &KernelInterface, neighbours: &LoadedPrograms) -> KernelError {
    let name = interface.name.clone();
    let of = |mode: &str, reason: &str, hint: &str| KernelError::Attach {
        name,
        mode: mode.to_owned(),
        reason: reason.to_owned(),
        hint: hint.to_owned(),
    };
    match (why, &interface.occupant) {
        (NoWay::Occupied, Some(occupant)) => occupied::refusal(occupant, &interface.name, neighbours),
        (NoWay::Occupied, None) => of("native", "another XDP program is attached", "try `mode: auto`"),
        (NoWay::NoEthernet, _) => of(
            "native",
            "its frames have no Ethernet header",
            "write `mode: auto` in the configuration (or start with `--mode auto`)",
        ),
        (NoWay::UnknownFraming, _) => of(
            "any",
            "filterd does not know the header that its frames begin with",
            "remove it from `interfaces:`",
        ),
    }
}

/// All roots, for callers that need no judge.
impl Judges for Roots {
    fn root(&mut self, hook: Hook) -> Result<&mut Root, KernelError> {
        self.get(hook)
    }
}
