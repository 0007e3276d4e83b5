//! The daemon and the test programs for guests: those of this machine's own layers, but for one thing each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use bpf_build::{compiled, process, workspace};

use super::ring::Ring;
use crate::cross::Builder;
use crate::processor::Processor;
use crate::test::{Chosen, Objects, Programs};
use crate::{build, dist};

/// A program, and its name in the guest.
pub struct Program {
    pub name: String,
    pub file: PathBuf,
    /// It needs no library.
    pub is_whole: bool,
}

const DAEMON: &str = "filterd";

/// Adjusting the daemon to where it lies touches so many pages that an emulated guest takes four times as long to start it
/// (51 ms, else 13), and a story starts it ten times.
const ONE_PLACE: [&str; 5] = ["--", "-C", "target-feature=+crt-static", "-C", "relocation-model=static"];

/// Stories wait for filterd and for packets, and not for themselves; so they are not waited for, either.
const NOT_OPTIMISED: [&str; 2] = [
    "profile.release.package.filterd-tests.opt-level=0",
    // Nor do they ask much of its library, which takes minutes to be optimised, a second time beside the daemon's.
    "profile.release.package.filter-daemon.opt-level=1",
];

/// Builds the test programs of these rings, and the daemon unless there is one already, for guests with this processor.
pub fn build(rings: &[Ring], processor: Processor, daemon: Option<&Path>) -> Result<Vec<Program>> {
    ensure!(cfg!(target_arch = "x86_64"), "guests are x86_64 machines, and this one cannot build for them");
    compiled::provide()?;
    let programs =
        if processor == Processor::Amd64 { of_this_kind(rings, daemon) } else { packed(rings, processor) }?;
    let names = rings.iter().map(|ring| ring.program()).chain([DAEMON]);
    let is_there = |name| programs.iter().any(|program| program.name == name);
    ensure!(names.into_iter().all(is_there), "cargo does not say where the programs for the guests lie");
    Ok(programs)
}

/// The test programs are those that run on this machine, without what only debuggers read: an initrd lies in memory.
fn of_this_kind(rings: &[Ring], daemon: Option<&Path>) -> Result<Vec<Program>> {
    let target = workspace::target()?;
    let place = target.join("vm");
    fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
    let tests = Programs::build(&Chosen::default(), Objects::Committed)?;
    let mut programs = Vec::new();
    for name in rings.iter().map(|ring| ring.program()) {
        for test in tests.called(name) {
            let file = place.join(name);
            process::run_quietly(Command::new("strip").arg("-o").arg(&file).arg(&test.file))?;
            programs.push(Program { name: name.to_owned(), file, is_whole: false });
        }
    }
    if let Some(daemon) = daemon {
        programs.push(Program { name: DAEMON.to_owned(), file: daemon.to_owned(), is_whole: true });
        return Ok(programs);
    }
    let mut daemon = of(workspace::cargo(), "rustc", "filter-daemon");
    daemon.args(["--bin", "filterd"]).args(ONE_PLACE);
    // Of the same parts as this machine's own daemon, and not in its place.
    daemon.env("CARGO_BUILD_BUILD_DIR", &target).env("CARGO_TARGET_DIR", place);
    programs.extend(built(&mut daemon, true)?);
    Ok(programs)
}

/// For another processor it is the daemon that others are given, out of the package; and test programs of the same parts.
fn packed(rings: &[Ring], processor: Processor) -> Result<Vec<Program>> {
    let package = dist::package(processor)?;
    let unpacked = workspace::target()?.join("vm").join(processor.debian());
    let cleared = if unpacked.exists() { fs::remove_dir_all(&unpacked) } else { Ok(()) };
    cleared.with_context(|| format!("cannot remove {}", unpacked.display()))?;
    process::run_quietly(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&unpacked))?;
    let builder = Builder::of(processor)?;
    let mut tests = of(builder.cargo()?, "build", "filterd-tests");
    tests.args(NOT_OPTIMISED.iter().flat_map(|choice| ["--config", choice]));
    tests.args(rings.iter().flat_map(|ring| ["--test", ring.program()]));
    tests.env("CARGO_TARGET_DIR", build::give_away()?).envs(dist::remapped(&builder)?);
    let mut programs = built(&mut tests, false)?;
    let file = unpacked.join("usr/bin").join(DAEMON);
    programs.push(Program { name: DAEMON.to_owned(), file, is_whole: true });
    Ok(programs)
}

fn of(mut cargo: Command, task: &str, package: &str) -> Command {
    cargo.args([task, "--release", "--message-format=json-render-diagnostics", "--package", package]);
    cargo
}

fn built(cargo: &mut Command, is_whole: bool) -> Result<Vec<Program>> {
    let told = process::output(cargo.stderr(Stdio::inherit())).context("cannot build for the guests")?;
    let named = told.lines().filter_map(program);
    Ok(named.map(|(name, file)| Program { name, file, is_whole }).collect())
}

/// The program that a message of cargo's tells of: its name, and where it lies.
fn program(message: &str) -> Option<(String, PathBuf)> {
    let file = value(message, "executable")?;
    let target = message.split_once("\"target\":")?.1;
    Some((value(target, "name")?.to_owned(), PathBuf::from(file)))
}

/// The text under `key`. The names and paths asked for have nothing in them that JSON escapes.
fn value<'a>(message: &'a str, key: &str) -> Option<&'a str> {
    message.split_once(&format!("\"{key}\":\""))?.1.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_tells_where_a_program_lies() {
        let message = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/tests#filterd-tests@0.1.0","target":{"kind":["test"],"name":"network"},"filenames":[],"executable":"/t/deps/network-1"}"#;
        assert_eq!(program(message).unwrap(), ("network".to_owned(), PathBuf::from("/t/deps/network-1")));
    }

    #[test]
    fn a_library_is_no_program() {
        assert!(program(r#"{"target":{"kind":["lib"],"name":"filterd"},"executable":null}"#).is_none());
    }
}
