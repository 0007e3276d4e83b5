//! bpf-linker: it links the bitcode of the compiler, so its LLVM must be no older than the compiler's.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Compiler;
use crate::{debian, process, workspace};

/// The one that we build.
const VERSION: &str = "0.13.0";

/// What it can be built with.
const LLVMS: RangeInclusive<u32> = 21..=23;

/// Built in a third of the time: linking is LLVM's work, and what is the linker's own takes a quarter of a second more.
const PROFILE: [(&str, &str); 2] =
    [("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"), ("CARGO_PROFILE_RELEASE_DEBUG", "false")];

/// A linker whose LLVM is no older than `llvm`: our own, else the user's.
pub fn find(llvm: u32) -> Option<PathBuf> {
    let own = own(llvm).filter(|linker| version(linker).is_some());
    own.or_else(|| {
        users().filter(|linker| version(linker).is_some_and(|version| newest_llvm(version) >= llvm))
    })
}

/// Can one be built with this LLVM?
pub fn can_be_built(llvm: u32) -> bool {
    LLVMS.contains(&llvm) && (config(llvm).exists() || debian::offers(&development(llvm)))
}

/// Builds our own with the compiler's LLVM.
pub fn install(compiler: &Compiler) -> Result<PathBuf> {
    let llvm = compiler.llvm;
    ensure!(LLVMS.contains(&llvm), "{compiler} has an LLVM that bpf-linker {VERSION} does not know");
    if !is_equipped(llvm) {
        debian::install(&packages(llvm))?;
    }
    let directory = directory(llvm).context("cannot tell where to build: HOME is not set")?;
    fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let mut cargo = command(compiler, &directory);
    eprintln!("$ {}", process::line(&cargo));
    process::run(&mut cargo)
        .with_context(|| format!("cannot build bpf-linker {VERSION} with LLVM {llvm}"))?;
    find(llvm).with_context(|| {
        format!("bpf-linker {VERSION} was built in {}, but does not run", directory.display())
    })
}

/// What Debian calls the things that it is built from.
pub fn packages(llvm: u32) -> Vec<String> {
    [development(llvm), "g++".into(), "zlib1g-dev".into(), "libzstd-dev".into()].into()
}

fn command(compiler: &Compiler, directory: &Path) -> Command {
    let prefix = prefix(compiler.llvm);
    let mut cargo = compiler.cargo();
    cargo.args([
        "install",
        "bpf-linker",
        "--version",
        VERSION,
        "--locked",
        "--force",
        "--no-default-features",
    ]);
    cargo.args(["--features", &format!("llvm-{}", compiler.llvm)]).arg("--root").arg(directory);
    cargo
        .envs(PROFILE)
        .env("PATH", process::path_with(&prefix.join("bin")))
        .env("LLVM_PREFIX", prefix)
        .current_dir(directory);
    cargo
}

fn is_equipped(llvm: u32) -> bool {
    config(llvm).exists() && process::find("g++").is_some()
}

fn config(llvm: u32) -> PathBuf {
    prefix(llvm).join("bin/llvm-config")
}

fn prefix(llvm: u32) -> PathBuf {
    format!("/usr/lib/llvm-{llvm}").into()
}

fn development(llvm: u32) -> String {
    format!("llvm-{llvm}-dev")
}

fn own(llvm: u32) -> Option<PathBuf> {
    Some(directory(llvm)?.join("bin/bpf-linker"))
}

/// A place of each user's own, and of each version's: nothing there is ever replaced by something else.
fn directory(llvm: u32) -> Option<PathBuf> {
    Some(workspace::cache()?.join("toolchain").join(format!("bpf-linker-{VERSION}-llvm-{llvm}")))
}

fn users() -> Option<PathBuf> {
    let installed = workspace::cargo_home().map(|cargo| cargo.join("bin/bpf-linker"));
    let installed = installed.filter(|linker| linker.exists());
    process::find("bpf-linker").or(installed)
}

/// What it is. Only of our own does anybody know its LLVM to the last number.
pub fn told(linker: &Path, llvm: u32) -> Result<String> {
    let said = process::output(Command::new(linker).arg("--version"))?;
    let own = own(llvm).filter(|own| own == linker);
    let library = own.and_then(|_| process::output(Command::new(config(llvm)).arg("--version")).ok());
    let library = library.map_or_else(
        || "an LLVM that it does not tell".to_owned(),
        |release| format!("LLVM {}", release.trim()),
    );
    Ok(format!("{}, {library}", said.trim()))
}

/// The version of a linker that runs; one whose LLVM was removed does not.
fn version(linker: &Path) -> Option<(u32, u32)> {
    if !linker.exists() {
        return None;
    }
    parse(&process::output(Command::new(linker).arg("--version")).ok()?)
}

fn parse(said: &str) -> Option<(u32, u32)> {
    let mut numbers =
        said.trim().strip_prefix("bpf-linker ")?.split('.').map_while(|number| number.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

/// The LLVM that a release of bpf-linker is built with unless asked otherwise. It does not tell by itself.
fn newest_llvm(version: (u32, u32)) -> u32 {
    match version {
        (0, ..10) => 0,
        (0, 10..13) => 22,
        _ => 23,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linker_tells_its_version() {
        assert_eq!(parse("bpf-linker 0.13.0\n"), Some((0, 13)));
        assert_eq!(parse("ld 2.40"), None);
    }

    #[test]
    fn older_linker_does_not_fit_newer_compiler() {
        assert!(newest_llvm((0, 9)) < 21);
        assert!(newest_llvm((0, 10)) < 23);
        assert!(newest_llvm((0, 13)) >= 23);
    }

    #[test]
    fn missing_linker_has_no_version() {
        assert_eq!(version(Path::new("/nonexistent/bpf-linker")), None);
    }
}
