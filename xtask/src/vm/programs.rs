//! The daemon and the test programs, built to need no library: a guest has none.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use bpf_build::{ebpf, process, toolchain, workspace};

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

/// Builds the daemon, and the test programs of these rings.
pub fn build(rings: &[Ring]) -> Result<Vec<Program>> {
    ensure!(cfg!(target_arch = "x86_64"), "guests are x86_64 machines, and this one cannot build for them");
    ebpf::build(&toolchain::ensure()?)?;
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--release", "--target", TARGET, "--message-format=json-render-diagnostics"]);
    cargo.args(["--package", "filter-daemon", "--bin", "filterd", "--package", "filterd-tests"]);
    cargo.args(rings.iter().flat_map(|ring| ["--test", ring.program()]));
    cargo.envs(PROFILE).env("RUSTFLAGS", "-C target-feature=+crt-static").stderr(Stdio::inherit());
    let built = process::output(&mut cargo).context("cannot build for the guests")?;
    let programs: Vec<_> = built.lines().filter_map(program).collect();
    let is_there = |ring: &Ring| programs.iter().any(|program| program.name == ring.program());
    ensure!(rings.iter().all(is_there), "cargo does not say where the programs for the guests lie");
    Ok(programs)
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
