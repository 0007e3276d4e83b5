//! `bench filter` and `bench paper`: the runners in tests/bench, which need neither root nor the BPF toolchain.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use bpf_build::workspace;
use clap::Args;

use super::{dpdk, overview};

/// How thoroughly, and for whom.
#[derive(Debug, Default, Args)]
pub struct Userspace {
    /// Seconds, less exact; leaves docs/benchmarks alone
    #[arg(long, conflicts_with = "full")]
    short: bool,
    /// The sizes of the paper: a quarter of an hour
    #[arg(long)]
    full: bool,
    /// How often everything is measured
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// The same, with a program of the reader's beside it.
#[derive(Debug, Args)]
pub struct Filter {
    #[command(flatten)]
    userspace: Userspace,
    /// Measure what this program measures, too: `tests/bench/filter/beside.rs` tells what it is told and must answer
    #[arg(long, value_name = "PROGRAM")]
    beside: Option<PathBuf>,
    /// Only lists shaped like real ones; leaves docs/benchmarks alone
    #[arg(long)]
    real: bool,
}

impl Filter {
    /// In the usual or in the short form.
    pub fn new(short: bool, beside: Option<PathBuf>) -> Self {
        Self { userspace: Userspace::new(short), beside, real: false }
    }

    pub fn run(&self) -> Result<()> {
        let mut words: Vec<OsString> = dpdk::words(self.userspace.short).into();
        words.extend(self.beside.iter().flat_map(|program| ["--beside".into(), program.into()]));
        if self.real {
            words.push("--real".into());
        }
        self.userspace.run_with("filter", &words, !self.real)
    }
}

impl Userspace {
    /// In the usual or in the short form.
    pub fn new(short: bool) -> Self {
        Self { short, ..Self::default() }
    }

    /// Runs the benchmark of this name, which is also the name of its page.
    pub fn run(&self, name: &str) -> Result<()> {
        self.run_with(name, &[], true)
    }

    /// The same with more words. A part of it is no page.
    fn run_with(&self, name: &str, more: &[OsString], is_whole: bool) -> Result<()> {
        let mut cargo = workspace::cargo();
        cargo.args(["bench", "--quiet", "--package", "filterd-bench", "--bench", name, "--"]);
        let flags = [("--short", self.short), ("--full", self.full), ("--json", self.json)];
        cargo.args(flags.into_iter().filter_map(|(flag, wanted)| wanted.then_some(flag)));
        cargo.args(more).args(self.rounds.map(|rounds| format!("--rounds={rounds}")));
        overview::with_page(&mut cargo, name, !self.short && is_whole)
    }
}
