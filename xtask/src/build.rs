//! `build`: the toolchain, the BPF programs, then the daemon that embeds them.

use std::path::PathBuf;

use anyhow::{Context, Result};
use xtask::{ebpf, process, toolchain, workspace};

/// How the daemon is built.
#[derive(Debug, Clone, Copy)]
pub enum Profile {
    Debug,
    Release,
}

/// Builds the daemon and tells where it lies.
pub fn daemon(profile: Profile) -> Result<PathBuf> {
    // The build script would build the programs too, but silently: here one sees them grow.
    ebpf::build(&toolchain::ensure()?)?;
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--package", "filter-daemon", "--bin", "filterd"]);
    let directory = match profile {
        Profile::Debug => "debug",
        Profile::Release => {
            cargo.arg("--release");
            "release"
        }
    };
    process::run(&mut cargo).context("cannot build the daemon")?;
    workspace::daemon(directory)
}
