//! Runs packets of random senders through one program, in the kernel.

use anyhow::{Context, Result};
use aya::maps::{Array, ProgramArray};
use aya::programs::{TestRun, TestRunOptions, Xdp};
use aya::{Ebpf, EbpfLoader};
use filterd_measure::processor;
use harness::Frame;

use crate::peer::Peer;
use crate::plan::{Pace, Senders, Spec};
use crate::subject::{Stage, Subject};

/// A program that gives each packet another source, before whichever program is under test.
pub struct Sender {
    object: Ebpf,
    kind: Kind,
    pace: Pace,
}

/// What it sends, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Four,
    /// To programs that do not take packets in pieces.
    FourWhole,
    Six,
}

/// One of each kind and pace.
pub fn all(stage: &Stage<'_>) -> Result<Vec<Sender>> {
    let of = |kind| Pace::ALL.map(|pace| Sender::load(kind, pace, stage));
    [Kind::Four, Kind::FourWhole, Kind::Six].into_iter().flat_map(of).collect()
}

/// Of all senders the one for `peer`, at this pace.
pub fn find(all: &mut [Sender], peer: Peer, pace: Pace) -> &mut Sender {
    let found = all.iter_mut().find(|sender| sender.kind == Kind::of(peer) && sender.pace == pace);
    found.expect("there is one of each")
}

impl Sender {
    fn load(kind: Kind, pace: Pace, stage: &Stage<'_>) -> Result<Self> {
        let alone = u64::from(pace == Pace::Alone).to_ne_bytes();
        let object =
            stage.load(kind.program(), EbpfLoader::new().override_global("ALONE", &alone[..], true))?;
        Ok(Self { object, kind, pace })
    }

    /// From now on it sends to `subject`.
    pub fn aim(&mut self, subject: &Subject, senders: Senders) -> Result<()> {
        let (first, count) = numbers(senders, subject.spec);
        set_range(&mut self.object, first, count)?;
        let slot = self.object.map_mut("SUBJECT").context("no map SUBJECT")?;
        let stored = ProgramArray::try_from(slot)?.set(0, subject.entry()?, 0);
        stored.context("cannot put the program into its slot")
    }

    /// How many nanoseconds the processor is busy with each of so many packets. All in one call: the kernel waits for
    /// grace periods before and after each.
    pub fn run(&self, packets: u32) -> Result<f64> {
        let begun = processor::time();
        self.test_run(packets)?;
        Ok((processor::time() - begun).as_nanos() as f64 / f64::from(packets))
    }

    /// What is done with a packet.
    pub fn action(&self) -> Result<u32> {
        self.test_run(1)
    }

    fn test_run(&self, packets: u32) -> Result<u32> {
        let program: &Xdp = self.object.program(self.kind.program()).context("it is loaded")?.try_into()?;
        let frame = self.kind.frame();
        let options = TestRunOptions { data_in: Some(&frame), repeat: packets, ..TestRunOptions::new() };
        Ok(program.test_run(options).context("the kernel does not run the program")?.return_value)
    }
}

impl Kind {
    /// What `peer` takes.
    pub fn of(peer: Peer) -> Self {
        if peer == Peer::XdpFilter {
            Self::FourWhole
        } else if peer.is_six() {
            Self::Six
        } else {
            Self::Four
        }
    }

    /// A packet of somebody.
    pub fn frame(self) -> Vec<u8> {
        Frame::from(if self == Self::Six { "2001:db8::1" } else { "192.0.2.1" }).bytes([6; 6])
    }

    const fn program(self) -> &'static str {
        match self {
            Self::Four => "bench_sender4",
            Self::FourWhole => "bench_sender4_whole",
            Self::Six => "bench_sender6",
        }
    }
}

/// Whom a program of the object makes up: so many of the crowd, from this number on.
pub fn set_range(object: &mut Ebpf, first: u64, count: u64) -> Result<()> {
    let variables = object.map_mut(".bss").context("the object has no variables")?;
    Ok(Array::<_, [u64; 2]>::try_from(variables)?.set(0, [first, count], 0)?)
}

/// The first of the crowd's numbers, and how many of them.
fn numbers(senders: Senders, spec: Spec) -> (u64, u64) {
    let entries = u64::from(spec.entries);
    match senders {
        Senders::Listed => (0, entries),
        Senders::Half => (0, 2 * entries),
        Senders::Unlisted => (entries, (1 << 32) - entries),
    }
}
