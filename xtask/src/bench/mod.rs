//! `bench`: what filterd costs, side by side with its peers and its limits.

mod dpdk;
mod index;
mod kernel;
mod userspace;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Command, Subcommand};

use kernel::{Kernel, Parted};
use userspace::{Filter, Userspace};

/// What is measured.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct Bench {
    #[command(subcommand)]
    what: Option<What>,
    /// All of them in some minutes, less exact; leaves docs/benchmarks alone
    #[arg(long)]
    short: bool,
    /// A program for `bench filter` to measure, too
    #[arg(long, value_name = "PROGRAM")]
    beside: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// What a packet costs in the kernel, without any network; needs root
    Packet(Parted),
    /// What a frame on a wire costs, beside whatever else drops packets; needs root
    Live(Kernel),
    /// What it takes to have a list: time, memory, one address more, and changes under a flood; needs root
    Load(Parted),
    /// What the filter costs as a library, beside the crates that one would take instead
    Filter(Filter),
    /// The tables of the cuckoo filter's paper, with the filters that it was measured against
    Paper(Userspace),
}

impl Bench {
    pub fn run(&self) -> Result<()> {
        self.what.as_ref().map_or_else(|| What::all(self.short, self.beside.clone()), What::run)
    }
}

impl What {
    fn run(&self) -> Result<()> {
        match self {
            Self::Packet(packet) => packet.run("packet"),
            Self::Live(kernel) => kernel.run("live"),
            Self::Load(load) => load.run("load"),
            Self::Filter(filter) => filter.run(),
            Self::Paper(paper) => paper.run("paper"),
        }
    }

    /// One after the other: two at a time would disturb each other.
    fn all(short: bool, beside: Option<PathBuf>) -> Result<()> {
        let all = [
            Self::Packet(Parted::new(short)),
            Self::Live(Kernel::new(short)),
            Self::Load(Parted::new(short)),
            Self::Filter(Filter::new(short, beside)),
            Self::Paper(Userspace::new(short)),
        ];
        for (what, (name, about)) in all.iter().zip(Self::names()) {
            println!("\n== bench {name}: {about}\n");
            what.run()?;
        }
        Ok(())
    }

    /// Their names, and what they measure.
    fn names() -> Vec<(String, String)> {
        let all = Self::augment_subcommands(Command::new("bench"));
        let about = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
        all.get_subcommands().map(|command| (command.get_name().to_owned(), about(command))).collect()
    }
}
