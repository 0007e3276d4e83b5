//! The kinds of processors that filterd is given away for.

use std::env;

use clap::ValueEnum;

/// As Debian calls them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Processor {
    /// x86-64
    Amd64,
    /// 64-bit ARM
    Arm64,
}

impl Processor {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Amd64, Self::Arm64];

    /// This machine's; none if nothing is given away for its kind.
    pub fn of_this_machine() -> Option<Self> {
        Self::ALL.into_iter().find(|processor| processor.rust() == env::consts::ARCH)
    }

    /// As Debian names packages for it.
    pub const fn debian(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// As Rust and uname call it.
    pub const fn rust(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64",
            Self::Arm64 => "aarch64",
        }
    }

    /// What Rust is told to build for.
    pub fn triple(self) -> String {
        format!("{}-unknown-linux-gnu", self.rust())
    }
}
