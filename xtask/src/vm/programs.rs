//! The daemon and the test programs for guests: those of this machine's own rings, but for one thing.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use bpf_build::{compiled, process, workspace};

use super::ring::Ring;

/// A program, and its name in the guest.
pub struct Program {
    pub name: String,
    pub file: PathBuf,
    /// It needs no library.
    pub is_whole: bool,
}

/// Adjusting the daemon to where it lies touches so many pages that an emulated guest takes four times as long to start it
/// (51 ms, else 13), and a story starts it ten times.
const ONE_PLACE: [&str; 5] = ["--", "-C", "target-feature=+crt-static", "-C", "relocation-model=static"];

/// Builds the daemon, and the test programs of these rings.
pub fn build(rings: &[Ring]) -> Result<Vec<Program>> {
    ensure!(cfg!(target_arch = "x86_64"), "guests are x86_64 machines, and this one cannot build for them");
    compiled::provide()?;
    let tests = rings.iter().flat_map(|ring| ["--test", ring.program()]);
    let mut programs = built(cargo("build", "filterd-tests").args(tests), false)?;
    let target = workspace::target()?;
    let mut daemon = cargo("rustc", "filter-daemon");
    daemon.args(["--bin", "filterd"]).args(ONE_PLACE);
    // Of the same parts as this machine's own daemon, and not in its place.
    daemon.env("CARGO_BUILD_BUILD_DIR", &target).env("CARGO_TARGET_DIR", target.join("vm"));
    programs.extend(built(&mut daemon, true)?);
    let names = rings.iter().map(|ring| ring.program()).chain(["filterd"]);
    let is_there = |name| programs.iter().any(|program| program.name == name);
    ensure!(names.into_iter().all(is_there), "cargo does not say where the programs for the guests lie");
    Ok(programs)
}

fn cargo(task: &str, package: &str) -> Command {
    let mut cargo = workspace::cargo();
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
