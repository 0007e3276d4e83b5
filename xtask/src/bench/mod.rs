//! `bench`: what filterd costs, side by side with its peers and its limits.

mod bars;
mod crowdsec;
mod dpdk;
mod kernel;
mod overview;
mod pages;
mod userspace;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Command, Subcommand};

use crowdsec::Crowdsec;
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
    /// The cost of a packet in the kernel, without a network; needs root
    Packet(Parted),
    /// The cost of a frame on a wire, compared with nftables, ipset and xdp-filter; needs root
    Live(Kernel),
    /// Loading a list: time, memory, one more address, and changes under a flood; needs root
    Load(Parted),
    /// The filter as a library, compared with other crates
    Filter(Filter),
    /// The tables of the cuckoo filter's paper, with the filters that the paper compares
    Paper(Userspace),
    /// From a decision of CrowdSec to the drop, compared with CrowdSec's own firewall bouncer; needs root
    Crowdsec(Crowdsec),
    /// Measure nothing: write the overview, its bars and the page of goals from the pages
    Overview,
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
            Self::Crowdsec(crowdsec) => crowdsec.run(),
            Self::Overview => overview::write(),
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
            Self::Crowdsec(Crowdsec::new(short)),
        ];
        for (what, (name, about)) in all.iter().zip(Self::benchmarks()) {
            println!("\n== bench {name}: {about}\n");
            what.run()?;
        }
        Ok(())
    }

    /// The names of all benchmarks, and what they measure.
    fn benchmarks() -> Vec<(String, String)> {
        let all = Self::augment_subcommands(Command::new("bench"));
        let about = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
        let benchmarks = all.get_subcommands().filter(|command| command.get_name() != "overview");
        benchmarks.map(|command| (command.get_name().to_owned(), about(command))).collect()
    }
}
