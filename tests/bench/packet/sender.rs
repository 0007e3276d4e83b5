//! Runs packets of random senders through one program, in the kernel.

use std::time::Duration;

use anyhow::{Context, Result};
use aya::maps::ProgramArray;
use aya::programs::{TestRun, TestRunOptions, Xdp};
use aya::{Ebpf, EbpfLoader};
use harness::Frame;
use nix::time::{ClockId, clock_gettime};

use crate::plan::{Pace, Peer, Senders};
use crate::subject::{Stage, Subject};

/// A program that gives each packet another source, before one under test.
pub struct Sender {
    object: Ebpf,
    name: &'static str,
    frame: Vec<u8>,
}

impl Sender {
    /// The one before `subject`.
    pub fn before(subject: &Subject, senders: Senders, pace: Pace, stage: &Stage<'_>) -> Result<Self> {
        let name = sender(subject.spec.peer);
        let (first, count) = numbers(senders, subject.spec.entries);
        let alone = u64::from(pace == Pace::Alone);
        let settings = [("FIRST", first), ("COUNT", count), ("ALONE", alone)];
        let settings = settings.map(|(name, value)| (name, value.to_ne_bytes()));
        let mut loader = EbpfLoader::new();
        for (name, value) in &settings {
            loader.override_global(name, &value[..], true);
        }
        let mut object = stage.load(name, &mut loader)?;
        let slot = object.map_mut("SUBJECT").context("no map SUBJECT")?;
        ProgramArray::try_from(slot)?
            .set(0, subject.entry()?, 0)
            .context("cannot put the program into its slot")?;
        Ok(Self { object, name, frame: frame(subject.spec.peer) })
    }

    /// How long the processor is busy with so many packets.
    pub fn run(&self, packets: u32) -> Result<Duration> {
        let before = busy()?;
        self.test_run(packets)?;
        Ok(busy()? - before)
    }

    /// What is done with a packet.
    pub fn action(&self) -> Result<u32> {
        self.test_run(1)
    }

    fn test_run(&self, packets: u32) -> Result<u32> {
        let program: &Xdp = self.object.program(self.name).context("it is loaded")?.try_into()?;
        let options = TestRunOptions { data_in: Some(&self.frame), repeat: packets, ..TestRunOptions::new() };
        Ok(program.test_run(options).context("the kernel does not run the program")?.return_value)
    }
}

/// The program that sends to `peer`.
fn sender(peer: Peer) -> &'static str {
    if peer == Peer::XdpFilter {
        "bench_sender4_whole"
    } else if peer.is_six() {
        "bench_sender6"
    } else {
        "bench_sender4"
    }
}

/// A packet for `peer`, of somebody.
pub fn frame(peer: Peer) -> Vec<u8> {
    Frame::from(if peer.is_six() { "2001:db8::1" } else { "192.0.2.1" }).bytes([6; 6])
}

/// The first of the crowd's numbers, and how many of them.
fn numbers(senders: Senders, entries: u32) -> (u64, u64) {
    let entries = u64::from(entries);
    match senders {
        Senders::Listed => (0, entries),
        Senders::Half => (0, 2 * entries),
        Senders::Unlisted => (entries, (1 << 32) - entries),
    }
}

/// The time that this thread has had. Unlike that on the wall, it stands still while others have the processor.
fn busy() -> Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into())
}
