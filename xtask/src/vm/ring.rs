//! The rings of stories that need a kernel.

use clap::ValueEnum;

/// In the order in which they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Ring {
    /// The BPF programs on crafted frames, in the kernel
    Program,
    /// A running daemon between network namespaces
    Network,
    /// Every combination of settings before the verifier, with and without CAP_PERFMON, and again under lockdown
    Verifier,
    /// Whole machines, seen from outside: virtio cards, boot, power loss, two guests and a third party
    Guest,
}

impl Ring {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Program, Self::Network, Self::Verifier, Self::Guest];

    /// Its test program.
    pub fn program(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Network => "network",
            Self::Verifier => "verifier",
            Self::Guest => "guest",
        }
    }
}
