//! `bench packet`: builds the programs, and the runner in tests/bench/packet that measures them.

use anyhow::{Context, Result, ensure};
use clap::Args;
use xtask::{debian, ebpf, process, toolchain, workspace};

/// How thoroughly, and for whom.
#[derive(Debug, Args)]
pub struct Packet {
    /// A minute's worth, less exact; leaves docs/benchmarks alone
    #[arg(long, conflicts_with = "full")]
    short: bool,
    /// Ten million addresses, too
    #[arg(long)]
    full: bool,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// What the runner calls; of the last it takes the program for the kernel.
const TOOLS: [debian::Tool; 3] =
    [("chrt", "util-linux"), ("bpftool", "bpftool"), ("xdp-filter", "xdp-tools")];

/// Where a run that is not short leaves its tables.
const PAGE: &str = "docs/benchmarks/packet.md";

impl Packet {
    pub fn run(&self) -> Result<()> {
        ensure!(process::is_root(), "only root may load programs\n       try it again with sudo");
        debian::provide(&TOOLS)?;
        let object = ebpf::build_benches(&toolchain::ensure()?)?.join("bench-packet");
        let mut cargo = workspace::cargo();
        cargo.args(["bench", "--quiet", "--package", "filterd-tests", "--bench", "packet", "--"]);
        cargo.env("FILTERD_BENCH_PACKET", object);
        let flags = [("--short", self.short), ("--full", self.full), ("--json", self.json)];
        cargo.args(flags.into_iter().filter_map(|(flag, wanted)| wanted.then_some(flag)));
        if !self.short {
            cargo.arg("--page").arg(workspace::root().join(PAGE));
        }
        process::run(&mut cargo).context("cannot measure")
    }
}
