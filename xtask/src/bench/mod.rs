//! `bench`: what filterd costs, side by side with its peers and its limits.

mod packet;

use anyhow::Result;
use clap::Subcommand;

/// What is measured.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// What a packet costs: with BPF_PROG_TEST_RUN, without any network
    Packet(packet::Packet),
}

impl Bench {
    pub fn run(&self) -> Result<()> {
        match self {
            Self::Packet(packet) => packet.run(),
        }
    }
}
