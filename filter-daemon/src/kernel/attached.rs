//! How filterd is attached to an interface.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An interface that filterd is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// The kernel's number for it.
    pub index: u32,
    /// How; unknown of one that was in another network namespace already when it was found.
    pub mode: Option<AttachedMode>,
    /// The kernel's number for the program that sits there: whoever finds another one there knows that it is not ours.
    pub program: u32,
}

impl Attached {
    /// How, in a word.
    #[must_use]
    pub fn mode(&self) -> &'static str {
        self.mode.map_or("unknown", AttachedMode::name)
    }
}

/// Where in its path a packet meets the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttachedMode {
    /// In the driver, before the kernel has made anything of the packet.
    Native,
    /// In the kernel's stack, once it has: works everywhere, and is several times slower.
    Generic,
}

/// A link of ours that is on an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The name it is known by: what its interface was called when it was attached.
    pub name: String,
    /// The number of its interface, in whatever namespace that now is.
    pub index: u32,
    /// The number of the program that it brings packets to.
    pub program: u32,
    /// What it was asked for as, before another interface took that name.
    pub formerly: Option<String>,
    /// Why own flows are not remembered there, if they should be.
    pub egress: Option<String>,
}

impl fmt::Display for AttachedMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl AttachedMode {
    const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Generic => "generic",
        }
    }
}
