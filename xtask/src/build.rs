//! `build`: the toolchain, the BPF programs, then the daemon that embeds them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::{ebpf, process, toolchain, workspace};

/// How the daemon is built.
#[derive(Debug, Clone, Copy)]
pub enum Profile {
    Debug,
    Release,
}

/// One piece at one place: when it starts there is no library to find and no address to adjust, which was half of what
/// `filterd add` took. Said for the program alone, so that libraries and macros stay what cargo makes of them.
const ONE_PIECE: [&str; 5] = ["--", "-C", "target-feature=+crt-static", "-C", "relocation-model=static"];

/// Builds the daemon and tells where it lies.
pub fn daemon(profile: Profile) -> Result<PathBuf> {
    // The build script would build the programs too, but silently: here one sees them grow.
    ebpf::build(&toolchain::ensure()?)?;
    let mut cargo = workspace::cargo();
    cargo.args(["rustc", "--package", "filter-daemon", "--bin", "filterd"]);
    let directory = match profile {
        Profile::Debug => "debug",
        Profile::Release => {
            cargo.arg("--release");
            "release"
        }
    };
    if can_be_one_piece() {
        cargo.args(ONE_PIECE);
    }
    process::run(&mut cargo).context("cannot build the daemon")?;
    workspace::daemon(directory)
}

/// Is the C library here as an archive? Debian and its kin bring it with the headers, others in a package of its own.
fn can_be_one_piece() -> bool {
    let told = process::output(Command::new("cc").arg("-print-file-name=libc.a"));
    // What is not found is told as it was asked for, without a directory.
    told.is_ok_and(|path| Path::new(path.trim()).is_absolute())
}
