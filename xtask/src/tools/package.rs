//! A package of Debian's with everything that it depends on: fetched and unpacked into a directory, not installed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use bpf_build::{debian, process};

use super::apt::Apt;

/// What programs that run unpacked and without a screen never call, though packages of theirs depend on it; 50 others would
/// come with these two, which are a third of what Chromium brings.
const NEVER_CALLED: [&str; 2] = ["x11-utils", "xdg-utils"];

/// Unpacks it to `root`, in the place of what is there.
pub fn unpack(package: &str, root: &Path) -> Result<()> {
    unpack_all(package, root, &Apt::Own, |part| download(&Apt::Own, &[package], part))
}

/// The same with several of those that this one knows.
pub fn unpack_of(apt: &Apt, packages: &[&str], root: &Path) -> Result<()> {
    unpack_all(&packages.join(", "), root, apt, |part| download(apt, packages, part))
}

/// The same without anything that it depends on, but with these others.
pub fn unpack_alone(package: &str, others: &[&str], root: &Path) -> Result<()> {
    unpack_all(package, root, &Apt::Own, |part| download_alone(package, others, part))
}

fn unpack_all(package: &str, root: &Path, apt: &Apt, download: impl Fn(&Path) -> Command) -> Result<()> {
    ensure!(
        debian::is_here(),
        "this machine has no apt-get\n       try its own package that compares to Debian's {package}"
    );
    eprintln!("{package} is fetched to {}: nothing is installed", root.display());
    let part = root.with_extension(format!("{}.part", std::process::id()));
    let unpacked = unpack_to(&part, apt, download).and_then(|()| replace(root, &part));
    let _ = fs::remove_dir_all(&part);
    unpacked.with_context(|| format!("cannot fetch the package {package}"))
}

/// Nobody else makes anything of `root` while this lives: whoever comes meanwhile waits.
pub fn lock(root: &Path) -> Result<File> {
    let path = root.with_extension("lock");
    let cache = root.parent().context("a package lies in the cache")?;
    let file = fs::create_dir_all(cache).and_then(|()| File::create(&path));
    let file = file.and_then(|file| file.lock().map(|()| file));
    file.with_context(|| format!("cannot lock {}", path.display()))
}

fn unpack_to(part: &Path, apt: &Apt, download: impl Fn(&Path) -> Command) -> Result<()> {
    let (archives, root) = (part.join("archives"), part.join("root"));
    fs::create_dir_all(archives.join("partial"))
        .and_then(|()| fs::create_dir(&root))
        .and_then(|()| fs::write(installed(part), NEVER_CALLED.map(stanza).concat()))
        .context("cannot write there")?;
    fetch(apt, || download(part))?;
    let archives = archives_in(&archives)?;
    ensure!(!archives.is_empty(), "apt-get left no package");
    for archive in archives {
        process::run_quietly(Command::new("dpkg").arg("-x").arg(archive).arg(&root))?;
    }
    Ok(())
}

/// What apt knows may be old, or nothing: then it is asked to look again.
fn fetch(apt: &Apt, download: impl Fn() -> Command) -> Result<()> {
    process::run_quietly(&mut download()).or_else(|_| {
        apt.refresh();
        process::run_quietly(&mut download())
    })
}

/// As if nothing were installed but what is never called: then nothing that comes is in the way of what is here, and everything
/// needed comes.
fn download(apt: &Apt, packages: &[&str], cache: &Path) -> Command {
    let mut apt = apt.command("apt-get");
    apt.args(["install", "--download-only", "--yes", "--quiet", "--no-install-recommends"]);
    apt.arg("--option").arg(format!("Dir::State::status={}", installed(cache).display()));
    apt.args(["--option", "Debug::NoLocking=true"]);
    apt.arg("--option").arg(format!("Dir::Cache={}", cache.display())).args(packages);
    apt
}

/// Where apt reads what is installed.
fn installed(cache: &Path) -> PathBuf {
    cache.join("status")
}

/// What dpkg would write of a package that is, in a version that is new enough for everybody.
fn stanza(package: &str) -> String {
    format!(
        "Package: {package}\nStatus: install ok installed\nVersion: 999\nArchitecture: all\n\
         Maintainer: nobody\nDescription: not called\n\n"
    )
}

/// What it depends on may be much, and of no use.
fn download_alone(package: &str, others: &[&str], cache: &Path) -> Command {
    let mut apt = Apt::Own.command("apt-get");
    apt.args(["download", "--quiet", package]).args(others);
    apt.current_dir(cache.join("archives"));
    apt
}

fn archives_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).context("cannot list the packages")?;
    let files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    Ok(files.into_iter().filter(|file| file.extension().is_some_and(|ending| ending == "deb")).collect())
}

/// At once: nobody sees half a package.
fn replace(root: &Path, part: &Path) -> Result<()> {
    if root.exists() {
        fs::remove_dir_all(root).with_context(|| format!("cannot remove {}", root.display()))?;
    }
    fs::rename(part.join("root"), root).with_context(|| format!("cannot make {}", root.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_packages_do_not_interfere() {
        let line = process::line(&download(&Apt::Own, &["spin"], Path::new("/c")));
        assert!(line.contains("status=/c/status") && line.ends_with("Dir::Cache=/c spin"), "{line}");
        assert!(line.contains("--download-only"), "{line}");
    }
}
