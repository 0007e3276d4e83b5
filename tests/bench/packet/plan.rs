//! What is measured: which programs, with how many entries, and who sends in which manner.

use std::fmt;
use std::time::Duration;

use filterd_measure::tables::grouped;

use crate::peer::{Feature, OWN, Peer, RIVALS};

/// A program, and how many entries it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    pub peer: Peer,
    pub entries: u32,
}

/// Whose packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Senders {
    /// None of them is listed.
    Unlisted,
    /// All of them are.
    Listed,
    /// One in two is, at random.
    Half,
}

/// In which manner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As they come: the processor begins with the next packets while a load of this one is under way.
    Overlapping,
    /// Each waits until the one before it is done with.
    Alone,
}

/// One thing to measure.
#[derive(Clone, Copy, Debug)]
pub struct Measurement {
    /// Which of the plan's subjects.
    pub subject: usize,
    pub senders: Senders,
    pub pace: Pace,
}

/// So many packets, or as many as there are in this time: programs that take long for each get fewer.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    pub packets: u32,
    pub at_most: Duration,
}

/// All of it.
#[derive(Debug)]
pub struct Plan {
    pub subjects: Vec<Spec>,
    /// Those of one subject stand together.
    pub measurements: Vec<Measurement>,
    /// How often each is measured.
    pub rounds: usize,
    /// What comes before what is measured, each time, so that the caches have settled.
    pub warm: Amount,
    /// What is measured.
    pub packets: Amount,
}

/// With how many entries goals are stated, and features compared.
pub const USUAL: u32 = 1_000_000;

const SIZES: [u32; 4] = [10_000, 100_000, USUAL, 10_000_000];

impl Plan {
    /// The plan of a usual or a `short` run, which leaves ten million out.
    pub fn new(short: bool) -> Self {
        let sizes = if short { &SIZES[..3] } else { &SIZES };
        let subjects = subjects(sizes, short);
        let measurements = measurements(&subjects);
        let rounds = if short { 5 } else { 11 };
        let warm = if short { amount(500_000, 40) } else { amount(1_000_000, 100) };
        let packets = if short { amount(200_000, 40) } else { amount(500_000, 100) };
        Self { subjects, measurements, rounds, warm, packets }
    }

    /// The measurement of the same pace that tells what is not this one's lookup.
    pub fn baseline(&self, of: &Measurement) -> usize {
        let limit = if self.subjects[of.subject].peer.is_six() { Peer::ParseSix } else { Peer::Parse };
        let is_it = |other: &Measurement| self.subjects[other.subject].peer == limit && other.pace == of.pace;
        self.measurements.iter().position(is_it).expect("each plan measures both limits at both paces")
    }
}

impl Amount {
    /// In words: so many of these.
    pub fn told(self, what: &str) -> String {
        let milliseconds = self.at_most.as_millis();
        format!("{} {what}, or as many as there are in {milliseconds} ms,", grouped(self.packets.into()))
    }

    /// How many packets, if each takes so many nanoseconds.
    pub fn at(self, nanoseconds: f64) -> u32 {
        self.packets.min((self.at_most.as_nanos() as f64 / nanoseconds) as u32)
    }
}

pub const fn amount(packets: u32, milliseconds: u64) -> Amount {
    Amount { packets, at_most: Duration::from_millis(milliseconds) }
}

/// Everybody with `sizes` entries. In a `short` run most rivals have only the usual size.
fn subjects(sizes: &[u32], short: bool) -> Vec<Spec> {
    let spec = |peer, entries| Spec { peer, entries };
    let mut subjects = [Peer::Parse, Peer::ParseSix, OWN].map(|peer| spec(peer, 0)).to_vec();
    for &entries in sizes {
        subjects.extend([Peer::Load, Peer::LoadInArray, OWN].map(|peer| spec(peer, entries)));
        // Where a trie of ten million is thrown away, the kernel is gone for many seconds.
        let bearable = |rival| rival != Peer::Trie || entries <= USUAL;
        let here = |rival: &Peer| bearable(*rival) && (!short || entries == USUAL || *rival == Peer::Hash);
        subjects.extend(RIVALS.into_iter().filter(here).map(|peer| spec(peer, entries)));
    }
    subjects.extend(Feature::ALL.map(|feature| spec(Peer::Filterd(feature), USUAL)));
    subjects
}

fn measurements(subjects: &[Spec]) -> Vec<Measurement> {
    let of = |(subject, spec): (usize, &Spec)| {
        let senders = if spec.has_listed() { &Senders::ALL[..] } else { &[Senders::Unlisted] };
        let at = move |pace| senders.iter().map(move |&senders| Measurement { subject, senders, pace });
        Pace::ALL.into_iter().flat_map(at)
    };
    subjects.iter().enumerate().flat_map(of).collect()
}

impl Spec {
    /// Is it made in a fraction of a second? System calls for each address take longer.
    pub fn is_quick(self) -> bool {
        self.entries <= USUAL && !RIVALS.contains(&self.peer)
    }

    /// Is it asked about listed senders, too? Of features, only what the unlisted pay for them is told.
    fn has_listed(self) -> bool {
        let is_variant = matches!(self.peer, Peer::Filterd(_)) && self.peer != OWN;
        self.peer.judges() && self.entries > 0 && (!is_variant || self.peer == Peer::Filterd(Feature::Six))
    }
}

impl Senders {
    pub const ALL: [Self; 3] = [Self::Unlisted, Self::Listed, Self::Half];
}

impl Pace {
    pub const ALL: [Self; 2] = [Self::Overlapping, Self::Alone];
}

impl fmt::Display for Senders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unlisted => "unlisted",
            Self::Listed => "listed",
            Self::Half => "half listed",
        })
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overlapping => "overlapping",
            Self::Alone => "alone",
        })
    }
}
