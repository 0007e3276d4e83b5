//! Attaches the root program to interfaces in an explicit mode. `earlier` handles links that an earlier
//! filterd left.

mod earlier;

use std::collections::HashMap;
use std::io;
use std::path::Path;

use aya::programs::XdpMode;
use aya::programs::links::{FdLink, PinnedLink};
use tracing::warn;

use super::super::error::errno_of;
use super::super::interface::KernelInterface;
use super::super::{AttachMode, Attachment, KernelError, Link};
use super::held::{HeldLink, LinkState};
use super::mending::TamperingLog;
use super::occupied;
use super::pins::Pins;
use super::root::Root;
use super::surroundings::{self, LoadedPrograms};
use crate::config::Mode;
use crate::text::Explain;
pub use earlier::is_on_an_interface;

/// The links of one daemon, by the names that their interfaces had when they were attached.
#[derive(Debug, Default)]
pub struct Links(HashMap<String, HeldLink>);

impl Links {
    /// Attaches to `interface`. An existing link, ours or an earlier daemon's, is reused. If someone gave it
    /// another program, it gets ours again.
    pub fn attach(
        &mut self,
        root: &mut Root,
        interface: &KernelInterface,
        mode: Mode,
        pins: &Pins,
        neighbours: &LoadedPrograms,
    ) -> Result<Attachment, KernelError> {
        let name = &interface.name;
        let mode = match self.mode_of_own(root, interface, pins)? {
            Some(mode) => mode,
            None => {
                self.detach(name, pins)?;
                if let Some(occupant) = &interface.occupant {
                    return Err(occupied::refusal(occupant, name, neighbours));
                }
                let (link, mode) = climb(root, interface, mode)?;
                // The index may have been reassigned since the lookup. The link is then dropped again here.
                surroundings::interface(name, interface.index)?;
                let pin = pins.link(name);
                let pinned = link.pin(&pin).map_err(|error| KernelError::load("pin the link", error))?;
                self.hold(name, pinned, &pin)?;
                mode
            }
        };
        Ok(Attachment { index: interface.index, mode: Some(mode), program: root.id()? })
    }

    /// Detaches the filter, or drops the link if its interface is gone.
    pub fn detach(&mut self, interface: &str, pins: &Pins) -> Result<(), KernelError> {
        // The descriptor is dropped after the pin, so that the link is detached when this returns.
        let _held = self.0.remove(interface);
        pins.forget_link(interface).map_err(|error| KernelError::load("remove the pin of a link", error))
    }

    /// The links that are still on interfaces, in any network namespace.
    pub fn look(&mut self, pins: &Pins) -> Vec<Link> {
        let seated = |(name, held): (&String, &mut HeldLink)| {
            let LinkState { index, program } = held.seat()?;
            Some(Link { name: name.clone(), index, program, formerly: pins.former_name(name), egress: None })
        };
        self.0.iter_mut().filter_map(seated).collect()
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
        self.0.iter_mut().try_for_each(|(name, held)| held.mend(&pins.link(name), mending))
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

    fn hold(&mut self, name: &str, link: PinnedLink, pin: &Path) -> Result<(), KernelError> {
        let held =
            HeldLink::new(link.into(), pin).map_err(|error| KernelError::load("ask for a link", error))?;
        self.0.insert(name.to_owned(), held);
        Ok(())
    }

    /// The mode of our own link on this interface, if there is one. The link gets our program.
    fn mode_of_own(
        &mut self,
        root: &mut Root,
        interface: &KernelInterface,
        pins: &Pins,
    ) -> Result<Option<AttachMode>, KernelError> {
        let (name, path) = (&interface.name, pins.link(&interface.name));
        if !path.exists() {
            return Ok(None);
        }
        pins.must_be_ours(&path)?;
        if !self.0.contains_key(name) {
            let found = PinnedLink::from_pin(&path);
            let found = found.map_err(|error| KernelError::load("open the pinned link", error))?;
            self.hold(name, found, &path)?;
        }
        let seat = self.0.get_mut(name).and_then(HeldLink::seat).filter(|seat| seat.index == interface.index);
        let (Some(seat), Some(occupant)) = (seat, &interface.occupant) else { return Ok(None) };
        if seat.program != root.id()? {
            root.return_to(&path)?;
            warn!("{name}: its link had another program (id {}); filterd restored its own", seat.program);
        }
        Ok(Some(occupant.mode))
    }
}

/// Tries the modes that `mode` allows, best first.
fn climb(
    root: &mut Root,
    interface: &KernelInterface,
    mode: Mode,
) -> Result<(FdLink, AttachMode), KernelError> {
    let name = &interface.name;
    match mode {
        Mode::Native => attach(root, interface, AttachMode::Native),
        Mode::Generic => attach(root, interface, AttachMode::Generic),
        Mode::Auto => attach(root, interface, AttachMode::Native).or_else(|error| {
            warn!("{}", error.explain());
            let link = attach(root, interface, AttachMode::Generic)?;
            warn!("{name}: fell back to generic mode, which is several times slower");
            Ok(link)
        }),
    }
}

fn attach(
    root: &mut Root,
    interface: &KernelInterface,
    mode: AttachMode,
) -> Result<(FdLink, AttachMode), KernelError> {
    let asked = match mode {
        AttachMode::Native => XdpMode::Driver,
        AttachMode::Generic => XdpMode::Skb,
    };
    let failed = |source: io::Error| refusal(interface, mode, source);
    let program = root.program();
    let id = program.attach_to_if_index(interface.index, asked).map_err(|error| {
        failed(
            errno_of(&error)
                .map_or_else(|| io::Error::other(error.to_string()), io::Error::from_raw_os_error),
        )
    })?;
    let link = program.take_link(id).map_err(|error| failed(io::Error::other(error)))?;
    // If the kernel refuses a link, aya attaches by netlink instead. Such an attachment cannot be pinned, so
    // it fails here.
    let link = FdLink::try_from(link).map_err(|_| failed(io::Error::from_raw_os_error(nix::libc::EINVAL)))?;
    Ok((link, mode))
}

fn refusal(interface: &KernelInterface, mode: AttachMode, source: io::Error) -> KernelError {
    let hint = match (mode, source.raw_os_error()) {
        (_, Some(nix::libc::EPERM | nix::libc::EACCES)) => {
            "filterd needs CAP_NET_ADMIN: run it as root".to_owned()
        }
        (_, Some(nix::libc::EBUSY | nix::libc::EEXIST)) => {
            "another XDP program came in between, or one sits on a device above it (macvlan)".to_owned()
        }
        (AttachMode::Native, Some(nix::libc::EOPNOTSUPP)) => format!(
            "its driver has no XDP support, or none while the card merges packets (hardware GRO, LRO: see `ethtool -k {}`); try `mode: generic` in the configuration (or `--mode generic`)\nto see what each interface supports: filterd doctor",
            interface.name
        ),
        (AttachMode::Native, Some(nix::libc::EINVAL | nix::libc::ERANGE)) => format!(
            "its driver refuses, often because of its MTU (now {}), LRO, hardware GRO, or too few queues: see the kernel log; `mode: generic` in the configuration (or `--mode generic`) does not need the driver\nto see what each interface supports: filterd doctor",
            interface.mtu
        ),
        _ => "see the kernel log".to_owned(),
    };
    let (name, mode) = (interface.name.clone(), mode.to_string());
    KernelError::Attach { name, mode, reason: source.to_string(), hint }
}
