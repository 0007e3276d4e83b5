//! `soak`: the stories that go on for long, each in full.

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Result, ensure};
use bpf_build::{compiled, ebpf, process, toolchain, workspace};
use clap::ValueEnum;

use crate::build::{self, Profile};
use crate::results::Results;
use crate::test;
use crate::tools::Tools;
use crate::vm::Vm;
use crate::{dist, fresh_root, life};

/// What is told in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Soak {
    /// Frames of both families at full speed while entries come, go and move, and tables grow
    Moves,
    /// All IPv4 addresses, and where the answers of an IPv6 list change, through tables as full as can be
    Exact,
    /// SIGKILL at any moment and at any system call, and calls that fail
    Kill,
    /// Restarts, takeovers and reloads under a flood
    Restart,
    /// A day of an operator's life
    Day,
    /// Hostile clients beside a good one
    Clients,
    /// A real Prometheus beside reloads, take-overs and kill -9, for ten minutes
    Prometheus,
    /// Who watches a flood: of millions of drops few are told, and stand for all of them
    Watched,
    /// A random life, judged on the wire by a plain reference; FILTERD_STEPS, FILTERD_SECONDS, FILTERD_SEED and FILTERD_LARGEST choose it
    Life,
    /// A kernel that refuses calls, in random stories
    Refusals,
    /// Whoever reads what comes from outside, a million inputs each; FILTERD_FUZZ and FILTERD_SEED choose them
    Fuzz,
    /// What README tells somebody with a fresh Debian, in one; FILTERD_RELEASE chooses it, FILTERD_TESTS the tests
    FreshRoot,
    /// What is given to others, built twice in different folders: the same bytes, and signed
    Dist,
    /// The package's life and the service's in fresh Debians that boot: install, upgrade under a flood, downgrade, remove, purge
    Package,
    /// What is given to others for arm64, built here and told on kernels for arm64 that are interpreted
    Arm64,
}

/// The tests of the package that has a story.
const TESTS: [&str; 5] = ["--release", "--package", "filterd-tests", "--test", "soak"];

/// The daemon's own, over a kernel in memory.
const UNITS: [&str; 5] = ["--release", "--package", "filter-daemon", "--test", "kernel"];

/// As fast as it can read.
const FUZZ: [&str; 5] = ["--release", "--package", "filter-daemon", "--test", "fuzz"];

/// Files that are kept in memory.
const MEMORY: &str = "/dev/shm";

/// How many stories of refusals are told.
const REFUSALS: &str = "2000";

/// Inputs for each reader.
const INPUTS: &str = "1000000";

impl Soak {
    /// What its stories' names begin with.
    fn stories(self) -> &'static [&'static str] {
        match self {
            Self::Moves => &["moves::"],
            Self::Exact => &["exact::"],
            Self::Kill => &["kill::", "mangled::"],
            Self::Restart => &["restart::"],
            Self::Day => &["day::"],
            Self::Clients => &["clients::"],
            Self::Prometheus => &["prometheus::"],
            Self::Watched => &["watched::"],
            Self::Life => &["life::"],
            Self::Refusals => &["whatever_the_kernel_refuses"],
            Self::Fuzz | Self::FreshRoot | Self::Dist | Self::Package | Self::Arm64 => &[],
        }
    }

    /// Where they are told.
    fn program(self) -> &'static [&'static str] {
        match self {
            Self::Moves
            | Self::Exact
            | Self::Kill
            | Self::Restart
            | Self::Day
            | Self::Clients
            | Self::Prometheus
            | Self::Watched
            | Self::Life => &TESTS,
            Self::Refusals => &UNITS,
            Self::Fuzz => &FUZZ,
            Self::FreshRoot | Self::Dist | Self::Package | Self::Arm64 => &[],
        }
    }
}

/// Tells its stories, in full or in short.
pub fn run(soak: Soak, short: bool) -> Result<ExitCode> {
    match soak {
        Soak::Fuzz => fuzz(short),
        Soak::FreshRoot => fresh_root::run(short),
        Soak::Dist => dist::twice::run(),
        Soak::Package => life::run(),
        Soak::Arm64 => Ok(arm64()),
        Soak::Moves
        | Soak::Exact
        | Soak::Kill
        | Soak::Restart
        | Soak::Day
        | Soak::Clients
        | Soak::Prometheus
        | Soak::Watched
        | Soak::Life
        | Soak::Refusals => as_root(soak, short),
    }
}

/// On those kernels that this release of Debian offers.
fn arm64() -> ExitCode {
    let mut results = Results::default();
    Vm::of_arm64().test_where_it_can(&mut results);
    results.tell()
}

/// Needs neither root nor a daemon.
fn fuzz(short: bool) -> Result<ExitCode> {
    compiled::provide()?;
    let mut cargo = workspace::cargo();
    cargo.arg("test").args(FUZZ).args(["--", "--show-output"]);
    // A million files: on a disk they take four times as long.
    if Path::new(MEMORY).exists() {
        cargo.env("TMPDIR", MEMORY);
    }
    if !short {
        unless_chosen("FILTERD_FUZZ", INPUTS, &mut cargo);
    }
    test::tell("fuzz", &mut cargo)
}

fn as_root(soak: Soak, short: bool) -> Result<ExitCode> {
    ensure!(process::is_root(), "soaking needs root: it makes network namespaces and loads programs");
    let toolchain = toolchain::ensure()?;
    let tools = Tools::provide(&test::TOOLS)?;
    let daemon = build::daemon(Profile::Release)?;
    let mut cargo = workspace::cargo();
    tools.equip(&mut cargo);
    cargo.arg("test").args(soak.program()).args(["--", "--show-output"]);
    cargo.arg("--test-threads=1").args(soak.stories()).env("FILTERD_BIN", daemon);
    cargo.env(test::SOAK_OBJECT, ebpf::build_soak(&toolchain)?);
    if !short {
        unless_chosen("FILTERD_STORIES", REFUSALS, cargo.env("FILTERD_SOAK", "1"));
    }
    test::tell("soak", &mut cargo)
}

/// Whoever has chosen another number is given that.
fn unless_chosen(variable: &str, number: &str, cargo: &mut Command) {
    if env::var_os(variable).is_none() {
        cargo.env(variable, number);
    }
}
