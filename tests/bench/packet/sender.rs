//! Runs packets of random senders through one program, in the kernel.

use anyhow::{Context, Result};
use aya::maps::{Array, Map, MapData, ProgramArray};
use aya::programs::{ProgramFd, TestRun, TestRunOptions, Xdp};
use aya::{Ebpf, EbpfLoader};
use harness::Frame;

use crate::peer::Peer;
use crate::plan::{Pace, Senders, Spec};
use crate::subject::{Stage, Subject};

/// So many packets tell how many more there can be.
pub const FEW: u32 = 20_000;

/// A program that gives each packet another source, before whichever program is under test.
pub struct Sender {
    object: Ebpf,
    kind: Kind,
    pace: Pace,
    /// The first of the crowd that sends, and how many from there on.
    range: (u64, u64),
}

/// What it sends, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Four,
    /// To programs that do not take packets in pieces.
    FourWhole,
    Six,
    /// Those who are told whom to be.
    FourTold,
    SixTold,
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
    pub fn load(kind: Kind, pace: Pace, stage: &Stage<'_>) -> Result<Self> {
        let alone = u64::from(pace == Pace::Alone).to_ne_bytes();
        let object =
            stage.load(kind.program(), EbpfLoader::new().override_global("ALONE", &alone[..], true))?;
        Ok(Self { object, kind, pace, range: (0, 0) })
    }

    /// From now on it sends to `subject`.
    pub fn aim(&mut self, subject: &Subject, senders: Senders) -> Result<()> {
        self.aim_at(subject.entry()?, numbers(senders, subject.spec))
    }

    /// From now on it sends to this program: the first of those it knows, and how many from there on.
    pub fn aim_at(&mut self, program: &ProgramFd, range: (u64, u64)) -> Result<()> {
        self.range = range;
        let slot = self.object.map_mut("SUBJECT").context("no map SUBJECT")?;
        let stored = ProgramArray::try_from(slot)?.set(0, program, 0);
        stored.context("cannot put the program into its slot")
    }

    /// How many nanoseconds each of so many packets takes, after so many that only warm the caches. All of them come in one
    /// call: the kernel waits for grace periods before and after each, and meanwhile the caches are others'.
    pub fn run(&mut self, warm: u32, packets: u32) -> Result<f64> {
        let (begin, end) = (1 + warm, 1 + warm + packets);
        tell(&mut self.object, self.range, (begin, end))?;
        self.test_run(end)?;
        let [.., begun, ended] = variables(&mut self.object)?.get(&0, 0)?;
        Ok((ended - begun) as f64 / f64::from(packets))
    }

    /// What is done with a packet.
    pub fn action(&mut self) -> Result<u32> {
        tell(&mut self.object, self.range, (0, 0))?;
        self.test_run(1)
    }

    /// One of its object's maps.
    pub fn map(&self, name: &str) -> Result<&Map> {
        self.object.map(name).with_context(|| format!("no map {name}"))
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
        Frame::from(if matches!(self, Self::Six | Self::SixTold) { "2001:db8::1" } else { "192.0.2.1" })
            .bytes([6; 6])
    }

    const fn program(self) -> &'static str {
        match self {
            Self::Four => "bench_sender4",
            Self::FourWhole => "bench_sender4_whole",
            Self::Six => "bench_sender6",
            Self::FourTold => "bench_sender4_told",
            Self::SixTold => "bench_sender6_told",
        }
    }
}

/// Tells a program of the object whom it makes up, and which packet begins and which ends what is measured.
pub fn tell(object: &mut Ebpf, (first, count): (u64, u64), (begin, end): (u32, u32)) -> Result<()> {
    Ok(variables(object)?.set(0, [first, count, 0, begin.into(), end.into(), 0, 0], 0)?)
}

/// The programs' one variable, as filter-ebpf/bench/packet/sender.rs numbers its words.
fn variables(object: &mut Ebpf) -> Result<Array<&mut MapData, [u64; 7]>> {
    Ok(object.map_mut(".bss").context("the object has no variables")?.try_into()?)
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
