//! From a decision of CrowdSec to the drop: filterd beside CrowdSec's own firewall bouncer, each on a host with a LAPI of its own.
//!
//! `program` starts the programs, `host` sends packets to the hosts that they protect. `delay` measures single decisions,
//! `startup` 50,000 of them, and `report` writes the page. `cargo xtask bench crowdsec` calls it.

#![forbid(unsafe_code)]

mod delay;
mod host;
mod program;
mod report;
mod startup;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Parser;
use harness::lapi::Lapi;

use report::Outcome;

/// Measure how soon decisions of CrowdSec are enforced.
#[derive(Debug, Parser)]
struct Arguments {
    /// Fewer decisions and one start, less exact
    #[arg(long)]
    short: bool,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Write the tables to this page, too
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// There is no crowdsec-firewall-bouncer: this is why
    #[arg(long, value_name = "REASON")]
    no_bouncer: Option<String>,
    /// Cargo says this to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    ensure!(
        Lapi::is_here(),
        "there is no crowdsec\n       try `cargo xtask bench crowdsec`, which provides it"
    );
    let has_bouncer = arguments.no_bouncer.is_none();
    let delays = delay::measure(arguments.short, has_bouncer);
    let startup = startup::measure(arguments.short, has_bouncer);
    let outcome = Outcome { delays, startup, no_bouncer: arguments.no_bouncer };
    report::page(&outcome).tell_as(arguments.json, arguments.page.as_deref())
}
