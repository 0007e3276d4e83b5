//! What a packet costs: filterd's program, what it cannot go below, and its peers, side by side in one run.
//!
//! `plan` says what is measured, `subject` loads the programs and fills their tables, `sender` runs packets through
//! one of them, `rounds` takes them all in turn, `code` looks at the programs themselves, and
//! `report` tells what came out. `live` does the same with frames on a wire, `load` with
//! whole lists. `cargo xtask bench packet` calls it.

#![forbid(unsafe_code)]

mod code;
#[path = "../../../filter-ebpf/bench/packet/crowd.rs"]
mod crowd;
mod goals;
mod lists;
mod live;
mod load;
mod plan;
mod report;
mod rivals;
mod rounds;
mod sender;
mod steps;
mod subject;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use filterd_measure::machine;

use plan::Plan;
use report::Report;
use subject::Stage;

/// Measure what a packet costs.
#[derive(Debug, Parser)]
struct Arguments {
    /// A minute's worth: fewer packets, fewer rounds, less exact
    #[arg(long, conflicts_with = "full")]
    short: bool,
    /// Ten million addresses, too
    #[arg(long)]
    full: bool,
    /// Live frames over a wire instead: filterd beside whatever else drops packets
    #[arg(long)]
    live: bool,
    /// Whole lists instead: how long until they filter, and how much memory they take
    #[arg(long, conflicts_with = "live")]
    load: bool,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Write the tables to this page, too
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// The BPF object `bench-packet`
    #[arg(long, value_name = "FILE", env = "FILTERD_BENCH_PACKET")]
    object: PathBuf,
    /// Cargo says this to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let object = std::fs::read(&arguments.object)
        .with_context(|| format!("cannot read {}", arguments.object.display()))?;
    if arguments.live {
        return live::run(&Stage::new(&object), arguments.short, arguments.json, arguments.page.as_deref());
    }
    if arguments.load {
        return load::run(&Stage::new(&object), arguments.short, arguments.json, arguments.page.as_deref());
    }
    let plan = Plan::new(arguments.short, arguments.full);
    let stage = Stage::new(&object);
    let mut subjects = plan.subjects.iter().map(|spec| stage.subject(spec)).collect::<Result<Vec<_>>>()?;
    let measured = rounds::run(&plan, &stage, &mut subjects)?;
    let report = Report { machine: machine::describe(), code: code::of(&subjects)?, plan: &plan, measured };
    if let Some(page) = &arguments.page {
        report.write_page(page)?;
    }
    if arguments.json {
        println!("{:#}", report.json())
    } else {
        print!("{}", report.text())
    }
    Ok(())
}
