//! `build`: the BPF programs, where they do not come with the source, then the daemon that embeds them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use bpf_build::{compiled, process, workspace};

use crate::cross::Builder;
use crate::piece;

/// How the daemon is built.
#[derive(Debug, Clone, Copy)]
pub enum Profile {
    Debug,
    /// The least to wait for among those that may hold lists of any size.
    Quick,
    Release,
}

/// One piece, so that there is no library to look for when it starts, which was half of what `filterd add` took; and one
/// that lies wherever the kernel puts it. Said for the program alone, so that libraries and macros stay what cargo makes of
/// them.
const ONE_PIECE: [&str; 5] = ["--", "-C", "target-feature=+crt-static", "-C", "relocation-model=pie"];

/// Builds the daemon and tells where it lies.
pub fn daemon(profile: Profile) -> Result<PathBuf> {
    build(profile, workspace::cargo(), can_be_one_piece(), &workspace::daemon)
}

/// Builds it in a place of its own, since everything in it is told these variables: in one piece, that it runs everywhere.
pub fn to_give_away(builder: &Builder, variables: &[(&str, String)]) -> Result<PathBuf> {
    ensure!(
        builder.is_for_another() || can_be_one_piece(),
        "there is no archive of the C library\n       try: apt-get install libc6-dev"
    );
    let target = give_away()?;
    let mut cargo = builder.cargo()?;
    cargo.env("CARGO_TARGET_DIR", &target).envs(variables.iter().map(|(name, value)| (name, value)));
    build(Profile::Release, cargo, true, &|directory| {
        Ok(builder.within(&target).join(directory).join("filterd"))
    })
}

/// Where that place is.
pub fn give_away() -> Result<PathBuf> {
    Ok(workspace::target()?.join("give-away"))
}

fn build(
    profile: Profile,
    mut cargo: Command,
    one_piece: bool,
    place: &dyn Fn(&str) -> Result<PathBuf>,
) -> Result<PathBuf> {
    compiled::provide()?;
    cargo.args(["rustc", "--package", "filter-daemon", "--bin", "filterd"]);
    let directory = match profile {
        Profile::Debug => "debug",
        Profile::Quick => {
            cargo.args(["--profile", "quick"]);
            "quick"
        }
        Profile::Release => {
            cargo.arg("--release");
            "release"
        }
    };
    if one_piece {
        cargo.args(ONE_PIECE);
    }
    process::run(&mut cargo).context("cannot build the daemon")?;
    let program = place(directory)?;
    if one_piece {
        piece::must_lie_anywhere(&program)?;
    }
    if matches!(profile, Profile::Release) {
        piece::must_be_stripped(&program)?;
    }
    Ok(program)
}

/// Is the C library here as an archive? Debian and its kin bring it with the headers, others in a package of its own.
fn can_be_one_piece() -> bool {
    let told = process::output(Command::new("cc").arg("-print-file-name=libc.a"));
    // What is not found is told as it was asked for, without a directory.
    told.is_ok_and(|path| Path::new(path.trim()).is_absolute())
}
