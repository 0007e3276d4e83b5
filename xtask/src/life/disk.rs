//! The same Debian on a disk, for guests that have a kernel of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::process;

use super::versions::Packages;
use crate::tools::Tools;

/// What a base takes, with the packages and some room; of a file that is sparse.
const SIZE: &str = "1G";

/// Lays both packages into a copy of the base, and makes a file system of it.
pub fn make(base: &Path, packages: &Packages, tools: &Tools) -> Result<PathBuf> {
    let (root, disk) = (base.with_extension("onto-disk"), base.with_extension("disk"));
    clear(&root)?;
    process::run_quietly(Command::new("cp").args(["--archive", "--"]).arg(base).arg(&root))?;
    packages.copy_into(&root)?;
    if disk.exists() {
        fs::remove_file(&disk).with_context(|| format!("cannot remove {}", disk.display()))?;
    }
    let mut make = tools.command("mkfs.ext4")?;
    make.args(["-q", "-F", "-d"]).arg(&root).arg(&disk).arg(SIZE);
    process::run_quietly(&mut make).context("cannot make a disk for guests")?;
    clear(&root)?;
    Ok(disk)
}

fn clear(root: &Path) -> Result<()> {
    match root.exists() {
        true => fs::remove_dir_all(root).with_context(|| format!("cannot remove {}", root.display())),
        false => Ok(()),
    }
}
