//! Senders who are told whom to be.

use anyhow::{Result, bail, ensure};
use aya::maps::Map;
use aya::programs::ProgramFd;
use filter_common::WordsMut;
use filterd::kernel::window::Window;

use super::{Extent, Manner};
use crate::plan::Pace;
use crate::sender::{Kind, Sender};
use crate::subject::Stage;

/// So many sources, as filter-ebpf/bench/packet/sender.rs has room for.
pub const TOLD: u32 = 1 << 18;

/// So many packets tell how many more there can be.
const FEW: u32 = 20_000;

/// One of them, of either pace.
pub struct Told {
    overlapping: (Sender, Window),
    alone: (Sender, Window),
}

impl Told {
    pub fn new(is_six: bool, stage: &Stage<'_>) -> Result<Self> {
        let kind = if is_six { Kind::SixTold } else { Kind::FourTold };
        Ok(Self {
            overlapping: open(Sender::load(kind, Pace::Overlapping, stage)?)?,
            alone: open(Sender::load(kind, Pace::Alone, stage)?)?,
        })
    }

    /// From now on these are the sources.
    pub fn tell(&self, sources: &[[u64; 2]]) -> Result<()> {
        ensure!(sources.len() == TOLD as usize, "{} sources are told", sources.len());
        for (at, word) in (0..).zip(sources.iter().flatten()) {
            self.overlapping.1.store(at, *word);
            self.alone.1.store(at, *word);
        }
        Ok(())
    }

    /// How many nanoseconds a packet takes this program.
    pub fn run(&mut self, program: &ProgramFd, manner: Manner, round: usize, extent: &Extent) -> Result<f64> {
        let sender = self.sender(manner);
        let range = match manner {
            Manner::Spread(_) => (0, u64::from(TOLD) - 1),
            Manner::Hot => (round as u64, 0),
        };
        sender.aim_at(program, range)?;
        let cost = sender.run(FEW, FEW)?;
        sender.run(extent.warm.at(cost), extent.packets.at(cost))
    }

    /// What this program does with a packet of the source of this number.
    pub fn action(&mut self, program: &ProgramFd, number: usize) -> Result<u32> {
        let sender = self.sender(Manner::Hot);
        sender.aim_at(program, (number as u64, 0))?;
        sender.action()
    }

    const fn sender(&mut self, manner: Manner) -> &mut Sender {
        match manner {
            Manner::Spread(Pace::Alone) => &mut self.alone.0,
            Manner::Spread(Pace::Overlapping) | Manner::Hot => &mut self.overlapping.0,
        }
    }
}

fn open(sender: Sender) -> Result<(Sender, Window)> {
    let Map::Array(map) = sender.map("SOURCES")? else { bail!("sources lie in no array") };
    let window = Window::open(map.fd(), 2 * TOLD)?;
    Ok((sender, window))
}
