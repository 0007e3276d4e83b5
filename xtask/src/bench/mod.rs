//! `bench`: what filterd costs, side by side with its peers and its limits.

mod live;
mod load;
mod packet;
mod userspace;

use anyhow::Result;
use clap::Subcommand;

/// What is measured.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// What a packet costs: with BPF_PROG_TEST_RUN, without any network
    Packet(packet::Packet),
    /// What a frame on a wire costs, beside whatever else drops packets
    Live(live::Live),
    /// What it takes to have a list: time, memory, and one address more
    Load(load::Load),
    /// What the filter costs as a library, beside the crates that one would take instead; needs no root
    Filter(userspace::Filter),
    /// The tables of the cuckoo filter's paper, with the filters that it was measured against; needs no root
    Paper(userspace::Userspace),
}

impl Bench {
    pub fn run(&self) -> Result<()> {
        match self {
            Self::Packet(packet) => packet.run(),
            Self::Live(live) => live.run(),
            Self::Load(load) => load.run(),
            Self::Filter(filter) => filter.run(),
            Self::Paper(paper) => paper.run("paper", &[]),
        }
    }
}
