//! What the filter costs as a library in userspace, beside the crates that one would take instead.
//!
//! `subject` says what a filter must be able to do here, `own` and `peers` are those that can, `sample` takes times and
//! counts errors, `instructions` counts by callgrind, `beside` asks a program of the reader's, and `report` and `goals` tell what
//! came out. `real` looks lists of prefixes up that are shaped like real ones, beside DPDK's tables. `cargo xtask bench filter` calls it.

#![forbid(unsafe_code)]

mod beside;
mod crowd;
mod goals;
mod instructions;
mod own;
mod peers;
mod real;
mod report;
mod sample;
mod subject;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use filterd_measure::{machine, processor};
use pages::arguments::Arguments;

use beside::Beside;
use real::Dpdk;
use report::Report;
use subject::Subjects;

/// Measure the filter beside others.
#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
    /// Measure what this program measures, too: `tests/bench/filter/beside.rs` tells what it is told and must answer
    #[arg(long, value_name = "PROGRAM")]
    beside: Option<PathBuf>,
    /// Only lists shaped like real ones
    #[arg(long)]
    real: bool,
    /// The program of DPDK's tables, which `dpdk.c` is
    #[arg(long, value_name = "PROGRAM")]
    dpdk: Option<PathBuf>,
    /// Why there is none
    #[arg(long, hide = true, value_name = "REASON", default_value = "nobody has built them")]
    no_dpdk: String,
    /// For callgrind: do everything once with the subject of this number
    #[arg(long, hide = true, value_name = "NUMBER")]
    once: Option<usize>,
}

fn main() -> Result<()> {
    let command = Command::parse();
    if let Some(number) = command.once {
        return instructions::do_once(number);
    }
    let machine = machine::describe();
    processor::stay()?;
    let dpdk = command.dpdk.map_or(Dpdk::Missing(command.no_dpdk), Dpdk::There);
    if command.real {
        return real::page(machine, &dpdk, command.arguments.rounds())?.tell(&command.arguments);
    }
    let (effort, rounds) = (command.arguments.effort(), command.arguments.rounds());
    let members = effort.of(1_000_000, 10_000_000, 10_000_000);
    let beside = command.beside.as_deref().map(Beside::new);
    let subjects = Subjects::all();
    let report = Report {
        machine,
        members,
        rounds,
        lines: sample::lines(&subjects, beside.as_ref(), members, rounds)?,
        instructions: instructions::count(&subjects)?,
        real: real::chapter(&dpdk, rounds)?,
    };
    report.page().tell(&command.arguments)
}
