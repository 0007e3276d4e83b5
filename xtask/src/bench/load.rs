//! `bench load`: the runner in tests/bench/packet again, with whole lists.

use anyhow::Result;
use clap::Args;

use super::packet;

/// How thoroughly, and for whom.
#[derive(Debug, Args)]
pub struct Load {
    /// A minute's worth, without ten million; leaves docs/benchmarks alone
    #[arg(long)]
    short: bool,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// Where a run that is not short leaves its tables.
const PAGE: &str = "docs/benchmarks/load.md";

impl Load {
    pub fn run(&self) -> Result<()> {
        packet::measure(&[("--load", true), ("--short", self.short), ("--json", self.json)], PAGE)
    }
}
