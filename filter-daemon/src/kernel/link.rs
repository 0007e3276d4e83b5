//! Attaching the root program to interfaces: each mode asked for by name, and what it became read back.

use std::fmt;
use std::io;

use aya::programs::XdpMode;
use aya::programs::links::{FdLink, PinnedLink};
use tracing::{info, warn};

use super::KernelError;
use super::error::errno_of;
use super::interface::{self, Interface, Occupant};
use super::pins::Pins;
use super::root::Root;
use crate::config::Mode;

/// An interface that filterd is attached to, for as long as this lives or its pin does.
#[derive(Debug)]
pub struct Attached {
    /// The interface.
    pub name: String,
    /// How.
    pub mode: AttachedMode,
    link: PinnedLink,
}

/// Where in its path a packet meets the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachedMode {
    /// In the driver, before the kernel has made anything of the packet.
    Native,
    /// In the kernel's stack, once it has: works everywhere, and is several times slower.
    Generic,
}

impl fmt::Display for AttachedMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "native",
            Self::Generic => "generic",
        })
    }
}

impl Attached {
    /// Attaches to the interface `name`, or takes over the link that an earlier daemon left there.
    pub async fn new(root: &mut Root, name: &str, mode: Mode, pins: &Pins) -> Result<Self, KernelError> {
        let interface = interface::find(name).await?;
        if let Some(adopted) = adopt(root, &interface, pins)? {
            return Ok(adopted);
        }
        if let Some(occupant) = interface.occupant {
            return Err(occupant.refusal(name));
        }
        let (link, mode) = climb(root, &interface, mode)?;
        let link = link.pin(pins.link(name)).map_err(|error| KernelError::load("pin the link", error))?;
        Ok(Self { name: name.to_owned(), mode, link })
    }

    /// Takes the filter off the interface.
    pub fn detach(self) -> io::Result<()> {
        self.link.unpin().map(drop)
    }
}

/// The link pinned for this interface, if our root program is what sits there.
fn adopt(root: &Root, interface: &Interface, pins: &Pins) -> Result<Option<Attached>, KernelError> {
    let path = pins.link(&interface.name);
    if !path.exists() {
        return Ok(None);
    }
    let (Some(occupant), Some(id)) = (&interface.occupant, root.id()) else { return forget(path) };
    let link =
        PinnedLink::from_pin(&path).map_err(|error| KernelError::load("open the pinned link", error))?;
    if occupant.id != id {
        return forget(path);
    }
    info!("{} was still filtering: taken over without a gap", interface.name);
    Ok(Some(Attached { name: interface.name.clone(), mode: occupant.mode, link }))
}

/// A pin whose link belongs to an interface that is gone, or to another program.
fn forget(path: std::path::PathBuf) -> Result<Option<Attached>, KernelError> {
    std::fs::remove_file(&path).map_err(|error| KernelError::load("remove a stale link", error))?;
    Ok(None)
}

/// Tries the modes that `mode` allows, best first.
fn climb(root: &mut Root, interface: &Interface, mode: Mode) -> Result<(FdLink, AttachedMode), KernelError> {
    let name = &interface.name;
    match mode {
        Mode::Native => attach(root, interface, AttachedMode::Native),
        Mode::Generic => attach(root, interface, AttachedMode::Generic),
        Mode::Auto => attach(root, interface, AttachedMode::Native).or_else(|error| {
            warn!("{error}");
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
        (AttachedMode::Native, Some(nix::libc::EOPNOTSUPP)) => {
            "its driver has no XDP support; try `--mode generic`".to_owned()
        }
        (AttachedMode::Native, Some(nix::libc::EINVAL | nix::libc::ERANGE)) => format!(
            "its driver refuses: often for its MTU (now {}), LRO or hardware GRO, or too few queues; \
             the kernel log says which, `--mode generic` works without",
            interface.mtu
        ),
        _ => "the kernel log may say more".to_owned(),
    };
    let mode = if mode == AttachedMode::Native { "native" } else { "generic" };
    KernelError::Attach { name: interface.name.clone(), mode, source, hint }
}

impl Occupant {
    fn refusal(self, name: &str) -> KernelError {
        let (mode, off) = match self.mode {
            AttachedMode::Native => ("native", "xdpdrv"),
            AttachedMode::Generic => ("generic", "xdpgeneric"),
        };
        KernelError::Foreign { name: name.to_owned(), program: self.name(), id: self.id, mode, off }
    }
}
