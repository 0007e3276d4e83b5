//! Describes how filterd is attached to an interface.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An interface that filterd is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The kernel's interface index.
    pub index: u32,
    /// None for an interface that was in another network namespace when filterd found it.
    pub mode: Option<AttachMode>,
    /// The kernel's number of the attached program. Any other number means that the program is not ours.
    pub program: u32,
}

impl Attachment {
    #[must_use]
    pub fn mode(&self) -> &'static str {
        self.mode.map_or("unknown", AttachMode::name)
    }
}

/// The place in a packet's path at which the filter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttachMode {
    /// In the driver, before the kernel's stack handles the packet.
    Native,
    /// In the kernel's stack. Works on every interface, and is several times slower.
    Generic,
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
    /// The name under which it was requested, if another interface has taken that name since.
    pub formerly: Option<String>,
    /// Why own flows are not recorded there, although they should be.
    pub egress: Option<String>,
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
            Self::Generic => "generic",
        }
    }
}
