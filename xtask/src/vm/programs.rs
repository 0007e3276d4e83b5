//! The daemon and the test programs, built to need no library: a guest has none.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use bpf_build::{compiled, process, workspace};

use super::ring::Ring;

/// Guests are of this kind, whatever the build machine: Debian's cloud kernels for it boot everywhere.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// As fast as the real ones, but built in half the time.
const PROFILE: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
    ("CARGO_PROFILE_RELEASE_STRIP", "debuginfo"),
];

/// A program, and its name in the guest.
pub struct Program {
    pub name: String,
    pub file: PathBuf,
}

/// Adjusting the daemon to where it lies touches so many pages that an emulated guest takes four times as long to start it
/// (51 ms, else 13), and a story starts it ten times.
const ONE_PLACE: [&str; 3] = ["--", "-C", "relocation-model=static"];

/// Builds the daemon, and the test programs of these rings.
pub fn build(rings: &[Ring]) -> Result<Vec<Program>> {
    ensure!(cfg!(target_arch = "x86_64"), "guests are x86_64 machines, and this one cannot build for them");
    compiled::provide()?;
    let tests = rings.iter().flat_map(|ring| ["--test", ring.program()]);
    let mut programs = built(cargo("build", "filterd-tests").args(tests))?;
    programs.extend(built(cargo("rustc", "filter-daemon").args(["--bin", "filterd"]).args(ONE_PLACE))?);
    let names = rings.iter().map(|ring| ring.program()).chain(["filterd"]);
    let is_there = |name| programs.iter().any(|program| program.name == name);
    ensure!(names.into_iter().all(is_there), "cargo does not say where the programs for the guests lie");
    Ok(programs)
}

fn cargo(task: &str, package: &str) -> Command {
    let mut cargo = workspace::cargo();
    cargo.args([task, "--release", "--target", TARGET, "--message-format=json-render-diagnostics"]);
    cargo.args(["--package", package]).envs(PROFILE).env("RUSTFLAGS", "-C target-feature=+crt-static");
    cargo
}

fn built(cargo: &mut Command) -> Result<Vec<Program>> {
    let told = process::output(cargo.stderr(Stdio::inherit())).context("cannot build for the guests")?;
    Ok(told.lines().filter_map(program).collect())
}

/// The program that a message of cargo's tells of.
fn program(message: &str) -> Option<Program> {
    let file = value(message, "executable")?;
    let target = message.split_once("\"target\":")?.1;
    Some(Program { name: value(target, "name")?.to_owned(), file: PathBuf::from(file) })
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
        let program = program(message).unwrap();
        assert_eq!((program.name.as_str(), program.file), ("network", PathBuf::from("/t/deps/network-1")));
    }

    #[test]
    fn a_library_is_no_program() {
        assert!(program(r#"{"target":{"kind":["lib"],"name":"filterd"},"executable":null}"#).is_none());
    }
}
