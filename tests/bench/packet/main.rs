//! What a packet costs: filterd's program, what it cannot go below, and its peers, side by side in one run.
//!
//! `plan` says what is measured, `subject` loads the programs (`filterd` its own, `rivals` the others) and fills their
//! tables, `sender` runs packets through one of them, `rounds` takes them all in turn, `code` looks at the programs
//! themselves, and `report` tells what came out; `real` does it with lists shaped like real ones. `live` does the same with frames on a wire, `load` with whole lists.
//! `cargo xtask bench packet` calls it.

#![forbid(unsafe_code)]

mod answered;
mod code;
#[path = "../../../filter-ebpf/bench/packet/crowd.rs"]
mod crowd;
mod filterd;
mod hits;
mod judge;
mod lists;
mod live;
mod load;
mod peer;
mod plan;
mod real;
mod report;
mod rivals;
mod rounds;
mod sender;
mod sent;
mod steps;
mod subject;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use filterd_measure::machine;

use plan::Plan;
use report::Report;
use subject::Stage;

/// Measure filterd in the kernel.
#[derive(Debug, Parser)]
struct Arguments {
    what: What,
    /// Two minutes' worth: fewer packets, fewer rounds, not ten million entries
    #[arg(long)]
    short: bool,
    /// Only what is about IPv6 lists and lists shaped like real ones
    #[arg(long)]
    real: bool,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Write the tables to this page, too
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// The BPF object `bench-packet`
    #[arg(long, value_name = "FILE", env = "FILTERD_BENCH_PACKET")]
    object: PathBuf,
    /// The BPF object `egress`; without, that beside it
    #[arg(long, value_name = "FILE", env = "FILTERD_EGRESS")]
    egress: Option<PathBuf>,
    /// Cargo says this to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// Packets, in the kernel alone
    Packet,
    /// Packets that the host itself sends, and hits, with `match: new`
    Sent,
    /// Listed packets alone: what they cost, and which list they count for
    Hits,
    /// Live frames over a wire: filterd beside whatever else drops packets
    Live,
    /// Whole lists: how long until they filter, and how much memory they take
    Load,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let object = std::fs::read(&arguments.object)
        .with_context(|| format!("cannot read {}", arguments.object.display()))?;
    let stage = Stage::new(&object);
    let beside = || arguments.object.with_file_name("egress");
    let egress =
        std::fs::read(arguments.egress.clone().unwrap_or_else(beside)).context("cannot read egress")?;
    let (json, page) = (arguments.json, arguments.page.as_deref());
    match arguments.what {
        What::Packet if arguments.real => {
            real::page(&real::run(&stage, real::Extent::new(arguments.short))?).tell_as(json, page)
        }
        What::Packet => packet(&stage, &egress, arguments.short, json, page),
        What::Sent => sent::measure(&egress)?.tell(),
        What::Hits => hits::measure(&stage, arguments.short)?.page().tell_as(json, page),
        What::Live => live::run(&stage, arguments.short)?.tell_as(json, page),
        What::Load if arguments.real => load::run_six(arguments.short)?.tell_as(json, page),
        What::Load => load::run(&stage, arguments.short)?.tell_as(json, page),
    }
}

fn packet(stage: &Stage<'_>, egress: &[u8], short: bool, json: bool, page: Option<&Path>) -> Result<()> {
    let plan = Plan::new(short);
    let mut subjects = plan.subjects.iter().map(|spec| stage.subject(spec)).collect::<Result<Vec<_>>>()?;
    let measured = rounds::run(&plan, stage, &mut subjects)?;
    let real = real::run(stage, real::Extent::new(short))?;
    let report = Report {
        real,
        machine: machine::describe(),
        code: code::of(&subjects)?,
        plan: &plan,
        measured,
        sent: sent::measure(egress)?,
        hits: hits::measure(stage, short)?,
    };
    if let Some(page) = page {
        report.page().write(page)?;
    }
    if json {
        println!("{:#}", report.json())
    } else {
        print!("{}", report.page().text())
    }
    Ok(())
}
