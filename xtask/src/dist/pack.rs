//! The archives: the static binary with what an operator needs beside it, and the source.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::{process, workspace};

use super::staged::Staged;
use super::{Release, git};
use crate::processor::Processor;

/// Of the tree, beside the binary.
const BESIDE: [&str; 10] = [
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
    "configs/filterd.yaml",
    "configs/reference.yaml",
    "configs/systemd/filterd.service",
    "configs/systemd/filterd.sysusers",
    "configs/systemd/filterd.tmpfiles",
];

/// The static binary, for whoever has no Debian.
pub fn binary(release: &Release, processor: Processor, binary: &Path) -> Result<()> {
    let name = format!("filterd-{}-{}-linux", release.version, processor.rust());
    let staged = Staged::new(release.stage(&name))?;
    staged.copy(binary, &format!("{name}/filterd"), 0o755)?;
    for file in BESIDE {
        staged.copy(&workspace::root().join(file), &format!("{name}/{file}"), 0o644)?;
    }
    staged.settle(release.seconds)?;
    let archive = release.file(&format!("{name}.tar"));
    let mut tar = Command::new("tar");
    tar.args([
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--format=ustar",
        "--create",
        "--file",
    ]);
    process::run_quietly(tar.arg(&archive).arg("--directory").arg(&staged.root).arg(&name))?;
    compress(&archive)
}

/// What is committed.
pub fn source(release: &Release) -> Result<()> {
    let name = format!("filterd-{}-source", release.version);
    let archive = release.file(&format!("{name}.tar"));
    let file = File::create(&archive).with_context(|| format!("cannot write {}", archive.display()))?;
    let mut git = git();
    git.args([
        "-c",
        "tar.umask=0022",
        "archive",
        "--format=tar",
        &format!("--prefix={name}/"),
        release.commit.trim(),
    ]);
    process::run(git.stdout(file))?;
    compress(&archive)
}

/// With one thread: with several, it depends on how many there are.
fn compress(archive: &Path) -> Result<()> {
    process::run_quietly(Command::new("xz").args(["--threads=1", "-6", "--force"]).arg(archive))
}

/// As Debian keeps documents and manual pages: without a time or a name.
pub fn gzip(file: &Path) -> Result<Vec<u8>> {
    let output = Command::new("gzip").args(["-9", "--no-name", "--stdout"]).arg(file).output();
    let output = output.context("cannot start gzip")?;
    anyhow::ensure!(output.status.success(), "gzip failed at {}", file.display());
    Ok(output.stdout)
}

/// How large a file is.
pub fn size(file: &Path) -> Result<u64> {
    Ok(fs::metadata(file).with_context(|| format!("cannot look at {}", file.display()))?.len())
}
