//! `soak`: the stories that go on for long, each in full.

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bpf_build::process;
use clap::ValueEnum;

use crate::build::Profile;
use crate::kept::verifier::{EXTENT, Extent};
use crate::results::Results;
use crate::test::{self, Progress};
use crate::vm::Vm;
use crate::{dist, fresh_root, kept, life, surroundings};

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
    /// The tests in twelve surroundings: in the background, with other locales, umasks and signals, beside busy loops
    Surroundings,
    /// What README tells somebody with a fresh Debian, in one; FILTERD_RELEASE chooses it, FILTERD_TESTS the tests
    FreshRoot,
    /// What is given to others, built twice in different folders: the same bytes, and signed
    Dist,
    /// The package's life and the service's in fresh Debians that boot: install, upgrade under a flood, downgrade, remove, purge
    Package,
    /// What is given to others for arm64, built here and told on kernels for arm64 that are interpreted
    Arm64,
    /// All layers that a guest can run, in full, on every kernel
    Kernels,
    /// Every combination of settings before the verifier, on this machine and on all kernels in guests, whatever is kept
    Verifier,
}

/// How many stories of refusals are told.
const REFUSALS: &str = "2000";

/// The time after which a soak is killed. In full some of them run for hours.
const SHORT_LIMIT: Duration = Duration::from_secs(600);
const FULL_LIMIT: Duration = Duration::from_secs(6 * 3600);

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
            Self::Refusals => &["kernel::tests::refusals_never_change_verdicts"],
            Self::Fuzz
            | Self::Surroundings
            | Self::FreshRoot
            | Self::Dist
            | Self::Package
            | Self::Arm64
            | Self::Kernels
            | Self::Verifier => &[],
        }
    }

    /// The test program that has them.
    fn program(self) -> &'static str {
        match self {
            // The unit tests of the daemon.
            Self::Refusals => "filterd",
            Self::Fuzz => "fuzz",
            Self::Moves
            | Self::Exact
            | Self::Kill
            | Self::Restart
            | Self::Day
            | Self::Clients
            | Self::Prometheus
            | Self::Watched
            | Self::Life
            | Self::Surroundings
            | Self::FreshRoot
            | Self::Dist
            | Self::Package
            | Self::Arm64
            | Self::Kernels
            | Self::Verifier => "soak",
        }
    }
}

/// Tells its stories, in full or in short.
pub fn run(soak: Soak, short: bool) -> Result<ExitCode> {
    match soak {
        Soak::FreshRoot => fresh_root::run(short),
        Soak::Dist => dist::twice::run(),
        Soak::Package => life::run(),
        Soak::Surroundings => surroundings::run(short),
        Soak::Arm64 => Ok(on_kernels(Vm::of_arm64())),
        Soak::Kernels => Ok(on_kernels(Vm::every())),
        Soak::Verifier => verifier(),
        Soak::Moves
        | Soak::Exact
        | Soak::Kill
        | Soak::Restart
        | Soak::Day
        | Soak::Clients
        | Soak::Prometheus
        | Soak::Watched
        | Soak::Life
        | Soak::Refusals
        | Soak::Fuzz => alone(soak, short),
    }
}

/// On those kernels that this release of Debian offers.
fn on_kernels(vm: Vm) -> ExitCode {
    let mut results = Results::default();
    let (progress, places) = (Progress::new(), vm.places());
    vm.test_where_it_can(&mut results, &progress, &places);
    progress.clear();
    results.tell()
}

/// Runs two tasks, whatever is kept.
fn verifier() -> Result<ExitCode> {
    let xtask = env::current_exe().context("cannot tell where xtask lies")?;
    let mut is_good = true;
    for words in [&["test", "verifier"][..], &["vm", "--ring", "verifier"]] {
        let mut command = Command::new(&xtask);
        command.args(words).env(kept::ANEW, "1").env(EXTENT, Extent::Whole.word());
        is_good &= command.status().with_context(|| format!("cannot start {}", xtask.display()))?.success();
    }
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs its tests alone on this machine. In full they are optimised as a release is.
fn alone(soak: Soak, short: bool) -> Result<ExitCode> {
    let needs_root = soak != Soak::Fuzz;
    ensure!(
        !needs_root || process::is_root(),
        "soaking needs root: it makes network namespaces and loads programs"
    );
    let profile = if short { Profile::Debug } else { Profile::Release };
    let mut soaking = test::Soaking::prepare(soak.program(), profile, needs_root)?;
    if soak == Soak::Fuzz && Path::new(test::MEMORY).exists() {
        // A million files: on a disk they take four times as long.
        soaking.set("TMPDIR", test::MEMORY);
    }
    if !short {
        soaking.set("FILTERD_SOAK", "1");
        soaking.set(test::WHOLE, "1");
        soaking.set_unless_chosen("FILTERD_STORIES", REFUSALS);
        soaking.set_unless_chosen("FILTERD_FUZZ", INPUTS);
    }
    soaking.run(soak.stories(), if short { SHORT_LIMIT } else { FULL_LIMIT })
}
