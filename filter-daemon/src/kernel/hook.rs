//! The places in a packet's path at which a judge can run.

use serde::{Deserialize, Serialize};

use super::AttachMode;
use super::interface::Framing;

/// A kind of judge, with a root program of its own. All interfaces with the same hook share both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Hook {
    /// Frames are judged in the driver.
    Xdp,
    /// Behind the driver, on interfaces whose frames have an Ethernet header.
    Tc,
    /// Behind the driver, on interfaces whose frames begin with the packet.
    TcBare,
}

impl Hook {
    pub const ALL: [Self; 3] = [Self::Xdp, Self::Tc, Self::TcBare];

    /// The hook of an interface that is attached in this mode.
    pub const fn of(mode: AttachMode, framing: Framing) -> Self {
        match (mode, framing) {
            (AttachMode::Native, _) => Self::Xdp,
            (AttachMode::Tcx | AttachMode::Clsact, Framing::Bare) => Self::TcBare,
            (AttachMode::Tcx | AttachMode::Clsact, Framing::Ethernet | Framing::Unknown) => Self::Tc,
        }
    }

    /// What the names of its pins end with.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Xdp => "",
            Self::Tc => "-tc",
            Self::TcBare => "-bare",
        }
    }

    /// Whether frames begin with the packet.
    pub const fn is_bare(self) -> bool {
        matches!(self, Self::TcBare)
    }
}
