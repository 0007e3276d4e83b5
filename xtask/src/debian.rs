//! Packages of Debian and its kin: whether there are any, and their installation, or the words for whoever may.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process;

/// A program, and the package that brings it.
pub type Tool = (&'static str, &'static str);

/// Sees to it that these programs are there.
pub fn provide(tools: &[Tool]) -> Result<()> {
    let missing: Vec<_> = tools.iter().filter(|(program, _)| !is_there(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.iter().map(|(program, _)| *program).collect::<Vec<_>>().join(", ");
    let packages: Vec<_> = missing.iter().map(|(_, package)| (*package).to_owned()).collect();
    refresh();
    install(&packages).with_context(|| format!("programs are missing: {names}"))
}

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

fn is_here() -> bool {
    process::find("apt-get").is_some()
}

/// On the path, or beside an LLVM that keeps its programs to itself.
fn is_there(program: &str) -> bool {
    let libraries = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let mut llvms = libraries.filter(|entry| entry.file_name().to_string_lossy().starts_with("llvm-"));
    process::find(program).is_some() || llvms.any(|llvm| llvm.path().join("bin").join(program).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_installed_where_nothing_is_missing() {
        provide(&[("sh", "no-such-package")]).unwrap();
    }

    #[test]
    fn a_program_that_nobody_has_is_missing() {
        assert!(!is_there("no-such-program"));
    }
}
