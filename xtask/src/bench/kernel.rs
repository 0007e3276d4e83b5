//! `bench packet`, `bench live` and `bench load`: the runner in tests/bench/packet, which needs root and the BPF toolchain.

use anyhow::{Result, ensure};
use bpf_build::{ebpf, process, toolchain, workspace};
use clap::Args;

use super::overview;
use crate::build::{self, Profile};
use crate::tools::{Tool, Tools, asked, helps, tool};

/// How thoroughly, and for whom.
#[derive(Debug, Args)]
pub struct Kernel {
    /// Two minutes' worth at most, less exact; leaves docs/benchmarks alone
    #[arg(long)]
    short: bool,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// The same, or a part of it.
#[derive(Debug, Args)]
pub struct Parted {
    #[command(flatten)]
    kernel: Kernel,
    /// Only lists shaped like real ones; leaves docs/benchmarks alone
    #[arg(long)]
    real: bool,
}

impl Parted {
    /// In the usual or in the short form.
    pub const fn new(short: bool) -> Self {
        Self { kernel: Kernel::new(short), real: false }
    }

    /// Runs the benchmark of this name.
    pub fn run(&self, name: &str) -> Result<()> {
        self.kernel.run_with(name, self.real.then_some("--real"))
    }
}

/// What the runner calls; of xdp-filter it takes the program for the kernel.
const TOOLS: [Tool; 8] = [
    tool("chrt", "util-linux"),
    asked("bpftool", "bpftool", "version"),
    asked("ip", "iproute2", "-V"),
    tool("ethtool", "ethtool"),
    helps("xdp-filter", "xdp-tools", "Usage: xdp-filter"),
    tool("nft", "nftables"),
    tool("iptables", "iptables"),
    tool("ipset", "ipset"),
];

impl Kernel {
    /// In the usual or in the short form.
    pub const fn new(short: bool) -> Self {
        Self { short, json: false }
    }

    /// Runs the benchmark of this name, which is also the name of its page.
    pub fn run(&self, name: &str) -> Result<()> {
        self.run_with(name, None)
    }

    /// The same, but for what another flag leaves out; then nothing is written.
    fn run_with(&self, name: &str, part: Option<&str>) -> Result<()> {
        ensure!(process::is_root(), "only root may load programs\n       try it again with sudo");
        let tools = Tools::provide(&TOOLS)?;
        let toolchain = toolchain::ensure()?;
        let object = ebpf::build_benches(&toolchain)?.join("bench-packet");
        let egress = ebpf::build(&toolchain)?.join("egress");
        let daemon = build::daemon(Profile::Release)?;
        let mut cargo = workspace::cargo();
        tools.equip(&mut cargo);
        cargo.args(["bench", "--quiet", "--package", "filterd-tests", "--bench", "packet", "--", name]);
        cargo.env("FILTERD_BENCH_PACKET", object).env("FILTERD_BIN", daemon).env("FILTERD_EGRESS", egress);
        cargo.env("FILTERD_BENCH_PACKAGE", tools.beside("xdp-filter", "")?);
        let flags = [("--short", self.short), ("--json", self.json)];
        cargo.args(flags.into_iter().filter_map(|(flag, wanted)| wanted.then_some(flag)));
        cargo.args(part);
        overview::with_page(&mut cargo, name, !self.short && part.is_none())
    }
}
