//! `test`: the units, then the rings of stories as root, and one line that counts them all.

pub mod tally;

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use xtask::{debian, process, toolchain, workspace};

use crate::build::{self, Profile};
use tally::Tally;

/// The rings of tests, from the inside out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Ring {
    /// Pure code; needs no root
    Units,
    /// The BPF programs on crafted frames, in the kernel
    Program,
    /// A running daemon between network namespaces
    Network,
    /// The stories that go on for long, in short
    Soak,
}

/// What stories call.
pub const TOOLS: [debian::Tool; 5] = [
    ("ip", "iproute2"),
    ("nsenter", "util-linux"),
    ("bpftool", "bpftool"),
    ("llvm-objdump", "llvm"),
    ("strace", "strace"),
];

const RINGS: [Ring; 4] = [Ring::Units, Ring::Program, Ring::Network, Ring::Soak];

impl Ring {
    /// The test program; the units are what the manifest calls its default members.
    fn stories(self) -> Option<&'static str> {
        match self {
            Self::Units => None,
            Self::Program => Some("program"),
            Self::Network => Some("network"),
            Self::Soak => Some("soak"),
        }
    }
}

/// Runs a ring, or all of them, with `filter` handed on to the test programs.
pub fn run(ring: Option<Ring>, filter: &[OsString]) -> Result<ExitCode> {
    let rings = ring.map_or(RINGS.to_vec(), |ring| vec![ring]);
    toolchain::ensure()?;
    // First, lest somebody without root wait for the units only to be told so.
    let daemon = rings.iter().any(|ring| ring.stories().is_some()).then(daemon).transpose()?;
    let mut tally = Tally::default();
    for ring in rings {
        count(command(ring, daemon.as_deref()).args(filter), &mut tally)?;
    }
    Ok(tally.tell())
}

fn command(ring: Ring, daemon: Option<&Path>) -> Command {
    let mut cargo = workspace::cargo();
    cargo.args(["test", "--no-fail-fast"]);
    cargo.envs(daemon.map(|daemon| ("FILTERD_BIN", daemon)));
    match ring.stories() {
        None => cargo.arg("--"),
        // A story that skips itself says so on its output, which is shown only on request.
        Some(stories) => cargo.args(["--package", "filterd-tests", "--test", stories, "--", "--show-output"]),
    };
    if ring == Ring::Soak {
        // Each wants the machine for itself.
        cargo.arg("--test-threads=1");
    }
    cargo
}

/// What stories need beside themselves: root, some tools, and the daemon.
fn daemon() -> Result<PathBuf> {
    ensure!(
        process::is_root(),
        "the stories of programs and networks need root\n       try `cargo xtask test units`, or all as root: sudo env \"PATH=$PATH\" \"HOME=$HOME\" cargo xtask test"
    );
    debian::provide(&TOOLS)?;
    build::daemon(Profile::Release)
}

/// Runs one test program, and tells how many tests passed.
pub fn tell(cargo: &mut Command) -> Result<ExitCode> {
    let mut tally = Tally::default();
    count(cargo, &mut tally)?;
    Ok(tally.tell())
}

/// Runs tests, shows what they print, and counts it.
fn count(cargo: &mut Command, tally: &mut Tally) -> Result<()> {
    eprintln!("$ {}", process::line(cargo));
    let mut tests = cargo.stdout(Stdio::piped()).spawn().context("cannot start the tests")?;
    let output = tests.stdout.take().context("the tests have no output")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("cannot read what the tests print")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        tally.read(&line);
    }
    let status = tests.wait().context("cannot wait for the tests")?;
    tally.end_run(status.success());
    Ok(())
}
