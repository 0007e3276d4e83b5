//! Describes how filterd is attached to an interface.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::interface::Framing;
use crate::text::Explanation;

/// An interface that filterd is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The kernel's interface index.
    pub index: u32,
    /// None for an interface that was in another network namespace when filterd found it.
    pub mode: Option<AttachMode>,
    /// Why it has this mode, if filterd has chosen it.
    pub reason: Option<AttachReason>,
    /// The kernel's number of the attached program. Any other number means that the program is not ours.
    pub program: u32,
    /// What the frames of the interface begin with.
    pub framing: Framing,
}

impl Attachment {
    #[must_use]
    pub fn mode(&self) -> &'static str {
        self.mode.map_or("unknown", AttachMode::name)
    }
}

/// How the filter is attached, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttachMode {
    /// XDP in the driver, before the kernel's stack handles the packet.
    Native,
    /// In the stack, by a link of TCX (Linux 6.6).
    Tcx,
    /// In the stack, as a filter of the qdisc `clsact`.
    Clsact,
}

/// Why filterd has chosen a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttachReason {
    /// The configuration demands it.
    Demanded,
    /// The configuration demands native XDP on a veth whose MTU (this one) makes it unsafe.
    DemandedOnLargeVeth(u32),
    /// The driver runs XDP programs.
    Driver,
    /// The driver runs none, or refused this one.
    Refused,
    /// Frames have no Ethernet header.
    Framing,
    /// Native XDP slows down TCP on veth.
    Veth,
    /// A foreign program (by its number) runs in XDP there.
    Occupied(u32),
}

impl AttachReason {
    /// The reason as a clause that follows "because".
    pub fn clause(self) -> String {
        match self {
            Self::Demanded | Self::DemandedOnLargeVeth(_) => "the configuration demands it".to_owned(),
            Self::Driver => "the driver supports XDP".to_owned(),
            Self::Refused => "the driver has no XDP, or refuses it".to_owned(),
            Self::Framing => "its frames have no Ethernet header".to_owned(),
            Self::Veth => "native XDP slows down TCP on veth".to_owned(),
            Self::Occupied(id) => format!("another XDP program is attached (id {id})"),
        }
    }

    /// The warning about an interface that is attached for this reason.
    pub fn warning(self, interface: &str) -> Option<Explanation> {
        let Self::DemandedOnLargeVeth(mtu) = self else { return None };
        let message = format!(
            "{interface} is a veth with MTU {mtu} in native mode: some kernels give the stack misaligned buffers there, which can crash the host (CVE-2026-99127)"
        );
        Some(Explanation::new(message, "write `mode: auto` in the configuration"))
    }
}

/// One of our links on an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The name of the link: the interface's name when it was attached.
    pub name: String,
    /// The interface index, valid in the network namespace where the interface is now.
    pub index: u32,
    /// The number of the program to which the link delivers packets.
    pub program: u32,
    /// How it is attached. None for XDP, where the interface itself says it.
    pub mode: Option<AttachMode>,
    /// Whether the broker has found it on the interface of this number in its own network namespace. Only
    /// for TC; for XDP the interface itself says it.
    pub is_found_here: bool,
    /// What the frames of its interface begin with.
    pub framing: Framing,
    /// The programs of others that see received frames before the filter, by links of TCX.
    pub before: Vec<u32>,
    /// The name under which it was requested, if another interface has taken that name since.
    pub formerly: Option<String>,
    /// Why own flows are not recorded there, although they should be.
    pub egress: Option<String>,
    /// Why destinations are not filtered there, although they should be.
    pub outbound: Option<String>,
}

impl fmt::Display for AttachMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl AttachMode {
    const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Tcx => "tcx",
            Self::Clsact => "clsact",
        }
    }
}
