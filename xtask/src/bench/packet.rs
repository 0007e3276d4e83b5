//! `bench packet`: builds the programs, and the runner in tests/bench/packet that measures them.

use anyhow::{Context, Result, ensure};
use clap::Args;
use xtask::{debian, ebpf, process, toolchain, workspace};

use crate::build::{self, Profile};

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

/// What the runner calls; of xdp-filter it takes the program for the kernel.
const TOOLS: [debian::Tool; 8] = [
    ("chrt", "util-linux"),
    ("bpftool", "bpftool"),
    ("ip", "iproute2"),
    ("ethtool", "ethtool"),
    ("xdp-filter", "xdp-tools"),
    ("nft", "nftables"),
    ("iptables", "iptables"),
    ("ipset", "ipset"),
];

/// Where a run that is not short leaves its tables.
const PAGE: &str = "docs/benchmarks/packet.md";

impl Packet {
    pub fn run(&self) -> Result<()> {
        measure(&[("--short", self.short), ("--full", self.full), ("--json", self.json)], PAGE)
    }
}

/// Runs the runner with those of the flags that are wanted. Where `--short` is not, it writes the page.
pub fn measure(flags: &[(&str, bool)], page: &str) -> Result<()> {
    ensure!(process::is_root(), "only root may load programs\n       try it again with sudo");
    debian::provide(&TOOLS)?;
    let object = ebpf::build_benches(&toolchain::ensure()?)?.join("bench-packet");
    let daemon = build::daemon(Profile::Release)?;
    let mut cargo = workspace::cargo();
    cargo.args(["bench", "--quiet", "--package", "filterd-tests", "--bench", "packet", "--"]);
    cargo.env("FILTERD_BENCH_PACKET", object).env("FILTERD_BIN", daemon);
    cargo.args(flags.iter().filter_map(|(flag, wanted)| wanted.then_some(flag)));
    if !flags.contains(&("--short", true)) {
        cargo.arg("--page").arg(workspace::root().join(page));
    }
    process::run(&mut cargo).context("cannot measure")
}
