//! `soak`: the stories that go on for long, each in full.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use bpf_build::{ebpf, process, toolchain, workspace};
use clap::ValueEnum;

use crate::build::{self, Profile};
use crate::test;
use crate::tools::Tools;

/// What is told in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Soak {
    /// Frames at full speed while entries move and tables grow
    Moves,
    /// All IPv4 addresses, through a table as full as can be
    Exact,
    /// SIGKILL at any moment and at any system call, and calls that fail
    Kill,
    /// Restarts, takeovers and reloads under a flood
    Restart,
    /// A day of an operator's life
    Day,
    /// Hostile clients beside a good one
    Clients,
}

impl Soak {
    /// What its stories' names begin with.
    fn stories(self) -> &'static [&'static str] {
        match self {
            Self::Moves => &["moves::"],
            Self::Exact => &["exact::"],
            Self::Kill => &["kill::", "mangled::"],
            Self::Restart => &["restart::"],
            Self::Day => &["day::"],
            Self::Clients => &["clients::"],
        }
    }
}

/// Tells its stories, in full or in short.
pub fn run(soak: Soak, short: bool) -> Result<ExitCode> {
    ensure!(process::is_root(), "soaking needs root: it makes network namespaces and loads programs");
    let toolchain = toolchain::ensure()?;
    let tools = Tools::provide(&test::TOOLS)?;
    let daemon = build::daemon(Profile::Release)?;
    let mut cargo = workspace::cargo();
    tools.equip(&mut cargo);
    cargo.args(["test", "--package", "filterd-tests", "--test", "soak", "--", "--show-output"]);
    cargo.arg("--test-threads=1").args(soak.stories()).env("FILTERD_BIN", daemon);
    cargo.env(test::SOAK_OBJECT, ebpf::build_soak(&toolchain)?);
    if !short {
        cargo.env("FILTERD_SOAK", "1");
    }
    test::tell("soak", &mut cargo)
}
