//! Attaching the root program to interfaces: each mode asked for by name, and what it became read back.

use std::collections::HashMap;
use std::fs;
use std::io;

use aya::programs::XdpMode;
use aya::programs::links::{FdLink, PinnedLink};
use tracing::{info, warn};

use super::super::error::errno_of;
use super::super::interface::{Interface, Occupant};
use super::super::{Attached, AttachedMode, KernelError};
use super::pins::Pins;
use super::root::Root;
use super::server::must_agree;
use super::surroundings::{self, Neighbours};
use crate::config::Mode;
use crate::text::Explain;

/// The links of one daemon, by the names their interfaces had when they were attached.
#[derive(Debug, Default)]
pub struct Links(HashMap<String, FdLink>);

impl Links {
    /// Attaches to `interface`, or takes over the link that an earlier daemon left there.
    pub fn attach(
        &mut self,
        root: &mut Root,
        interface: &Interface,
        mode: Mode,
        pins: &Pins,
        neighbours: &Neighbours,
    ) -> Result<Attached, KernelError> {
        let name = &interface.name;
        let (link, mode) = match adopt(root, interface, pins)? {
            Some(adopted) => adopted,
            None => {
                if let Some(occupant) = &interface.occupant {
                    return Err(refusal_for(occupant, name, neighbours));
                }
                let (link, mode) = climb(root, interface, mode)?;
                // Between looking and attaching its number may have become another's: then the link goes again here.
                must_agree(surroundings::interface(name)?, name, interface.index)?;
                let pinned = link.pin(pins.link(name));
                (pinned.map_err(|error| KernelError::load("pin the link", error))?.into(), mode)
            }
        };
        self.0.insert(name.clone(), link);
        Ok(Attached { index: interface.index, mode, program: root.id()? })
    }

    /// Takes the filter off, or drops the link if its interface is gone.
    pub fn detach(&mut self, interface: &str, pins: &Pins) -> Result<(), KernelError> {
        // Dropped behind its pin: then it is taken off when this returns.
        let _held = self.0.remove(interface);
        match fs::remove_file(pins.link(interface)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(KernelError::load("remove the pin of a link", error))
            }
            _ => Ok(()),
        }
    }

    /// The number of the interface that a link sits on, in whatever namespace that now is; none if it is gone.
    pub fn whereabouts(&self, interface: &str) -> Option<u32> {
        link_index(self.0.get(interface)?.info().ok()?.id())
    }

    /// Is nothing attached?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lets go of the links; their pins hold them.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

/// The link pinned for this interface, if our root program is what sits there.
fn adopt(
    root: &Root,
    interface: &Interface,
    pins: &Pins,
) -> Result<Option<(FdLink, AttachedMode)>, KernelError> {
    let path = pins.link(&interface.name);
    if !path.exists() {
        return Ok(None);
    }
    pins.must_be_ours(&path)?;
    let id = root.id()?;
    let ours = interface.occupant.as_ref().filter(|occupant| occupant.id == id);
    let Some(occupant) = ours else {
        // Its interface is gone, or another one has its name now.
        fs::remove_file(&path).map_err(|error| KernelError::load("remove a stale link", error))?;
        return Ok(None);
    };
    let link =
        PinnedLink::from_pin(&path).map_err(|error| KernelError::load("open the pinned link", error))?;
    info!("{} was still filtering: taken over without a gap", interface.name);
    Ok(Some((link.into(), occupant.mode)))
}

/// The kernel tells it only in the description of the descriptor.
fn link_index(id: u32) -> Option<u32> {
    let described = |text: &str, key: &str| -> Option<u32> {
        text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
    };
    let open = fs::read_dir("/proc/self/fdinfo").ok()?.flatten();
    let texts = open.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    let text = texts.into_iter().find(|text| described(text, "link_id:") == Some(id))?;
    described(&text, "ifindex:").filter(|index| *index != 0)
}

/// Tries the modes that `mode` allows, best first.
fn climb(root: &mut Root, interface: &Interface, mode: Mode) -> Result<(FdLink, AttachedMode), KernelError> {
    let name = &interface.name;
    match mode {
        Mode::Native => attach(root, interface, AttachedMode::Native),
        Mode::Generic => attach(root, interface, AttachedMode::Generic),
        Mode::Auto => attach(root, interface, AttachedMode::Native).or_else(|error| {
            warn!("{}", error.explain());
            let link = attach(root, interface, AttachedMode::Generic)?;
            warn!("{name}: fell back to generic mode: it filters as exactly, but several times slower");
            Ok(link)
        }),
    }
}

fn attach(
    root: &mut Root,
    interface: &Interface,
    mode: AttachedMode,
) -> Result<(FdLink, AttachedMode), KernelError> {
    let asked = match mode {
        AttachedMode::Native => XdpMode::Driver,
        AttachedMode::Generic => XdpMode::Skb,
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
    // Where the kernel refuses a link, aya attaches by netlink instead; that cannot be pinned, and ends here.
    let link = FdLink::try_from(link).map_err(|_| failed(io::Error::from_raw_os_error(nix::libc::EINVAL)))?;
    info!("{}: attached in {mode} mode", interface.name);
    Ok((link, mode))
}

fn refusal(interface: &Interface, mode: AttachedMode, source: io::Error) -> KernelError {
    let hint = match (mode, source.raw_os_error()) {
        (_, Some(nix::libc::EPERM | nix::libc::EACCES)) => {
            "filterd needs CAP_NET_ADMIN: run it as root".to_owned()
        }
        (_, Some(nix::libc::EBUSY | nix::libc::EEXIST)) => {
            "another XDP program came in between, or one sits on a device above it (macvlan)".to_owned()
        }
        (AttachedMode::Native, Some(nix::libc::EOPNOTSUPP)) => format!(
            "its driver has no XDP support, or none while the card merges packets (hardware GRO, LRO: \
             `ethtool -k {}` tells); try `--mode generic`",
            interface.name
        ),
        (AttachedMode::Native, Some(nix::libc::EINVAL | nix::libc::ERANGE)) => format!(
            "its driver refuses: often for its MTU (now {}), LRO or hardware GRO, or too few queues; \
             the kernel log says which, `--mode generic` works without",
            interface.mtu
        ),
        _ => "the kernel log may say more".to_owned(),
    };
    let (name, mode) = (interface.name.clone(), mode.to_string());
    KernelError::Attach { name, mode, reason: source.to_string(), hint }
}

fn refusal_for(occupant: &Occupant, name: &str, neighbours: &Neighbours) -> KernelError {
    let (mode, off) = match occupant.mode {
        AttachedMode::Native => ("native", "xdpdrv"),
        AttachedMode::Generic => ("generic", "xdpgeneric"),
    };
    KernelError::Foreign {
        name: name.to_owned(),
        program: neighbours.name_of(occupant.id),
        id: occupant.id,
        mode: mode.to_owned(),
        off: off.to_owned(),
    }
}
