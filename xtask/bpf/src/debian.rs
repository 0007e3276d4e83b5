//! Packages of Debian and its kin: whether there are any, and their installation, or the words for whoever may.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process;

/// Reads the lists of packages anew. A list that cannot be read is no reason to stop: an older one may do.
pub fn refresh() {
    if process::is_root() && is_here() {
        let _ = process::run(Command::new("apt-get").args(["update", "--quiet"]));
    }
}

/// Could this package be installed?
pub fn offers(package: &str) -> bool {
    let asked = Command::new("apt-cache")
        .args(["show", package])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

/// Installs packages, and removes none: where one stands in the way, its owner decides.
pub fn install(packages: &[String]) -> Result<()> {
    let words = packages.join(" ");
    if !is_here() {
        bail!("this machine has no apt-get\n       try its own packages that compare to Debian's {words}");
    }
    if !process::is_root() {
        bail!("packages are missing\n       try, as root: apt-get install {words}");
    }
    let mut apt = Command::new("apt-get");
    apt.args(["install", "--yes", "--quiet", "--no-remove", "--no-install-recommends"]).args(packages);
    // Another apt may be at work: wait this many seconds for it.
    apt.args(["--option", "DPkg::Lock::Timeout=300"]).env("DEBIAN_FRONTEND", "noninteractive");
    eprintln!("$ {}", process::line(&apt));
    process::run(&mut apt).context("cannot install the packages")
}

/// Is this Debian, or its kin?
pub fn is_here() -> bool {
    process::find("apt-get").is_some()
}
