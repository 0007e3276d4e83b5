//! `bench live`: the runner in tests/bench/packet again, with frames on a wire and filterd as a daemon.

use anyhow::Result;
use clap::Args;

use super::packet;

/// How thoroughly, and for whom.
#[derive(Debug, Args)]
pub struct Live {
    /// A minute's worth, less exact; leaves docs/benchmarks alone
    #[arg(long)]
    short: bool,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// Where a run that is not short leaves its tables.
const PAGE: &str = "docs/benchmarks/live.md";

impl Live {
    pub fn run(&self) -> Result<()> {
        packet::measure(&[("--live", true), ("--short", self.short), ("--json", self.json)], PAGE)
    }
}
