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
    /// On sent frames, which are judged by their destination.
    Sent,
    /// The same where frames begin with the packet.
    SentBare,
}

impl Hook {
    pub const ALL: [Self; 5] = [Self::Xdp, Self::Tc, Self::TcBare, Self::Sent, Self::SentBare];

    /// The hook of an interface that is attached in this mode.
    pub const fn of(mode: AttachMode, framing: Framing) -> Self {
        match (mode, framing) {
            (AttachMode::Native, _) => Self::Xdp,
            (AttachMode::Tcx | AttachMode::Clsact, Framing::Bare) => Self::TcBare,
            (AttachMode::Tcx | AttachMode::Clsact, Framing::Ethernet | Framing::Unknown) => Self::Tc,
        }
    }

    /// The hook of what an interface with such frames sends.
    pub const fn sent(framing: Framing) -> Self {
        match framing {
            Framing::Bare => Self::SentBare,
            Framing::Ethernet | Framing::Unknown => Self::Sent,
        }
    }

    /// Whether sent frames are judged.
    pub const fn is_sent(self) -> bool {
        matches!(self, Self::Sent | Self::SentBare)
    }

    /// What the frames of its interfaces begin with.
    pub const fn framing(self) -> Framing {
        if self.is_bare() { Framing::Bare } else { Framing::Ethernet }
    }

    /// What the names of its pins end with.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Xdp => "",
            Self::Tc => "-tc",
            Self::TcBare => "-bare",
            Self::Sent => "-sent",
            Self::SentBare => "-sent-bare",
        }
    }

    /// Whether frames begin with the packet.
    pub const fn is_bare(self) -> bool {
        matches!(self, Self::TcBare | Self::SentBare)
    }
}
