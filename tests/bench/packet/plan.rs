//! What is measured: which programs, with how many entries, and who sends in which manner.

use std::fmt;

use Peer::{Bloom, Filterd, Hash, Load, Parse, PerCpu, Trie, XdpFilter};

/// A program that packets are sent through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// It looks nothing up.
    Parse,
    /// It loads one word of a table as large as filterd's.
    Load,
    /// It asks a BPF hash map.
    Hash,
    /// It asks one with a value for each processor.
    PerCpu,
    /// It asks a BPF trie of prefixes.
    Trie,
    /// It asks a BPF bloom filter.
    Bloom,
    /// The program of Debian's xdp-filter for IP, which looks source and destination up; its limit of 10,000 is raised.
    XdpFilter,
    /// filterd, as shipped.
    Filterd,
    /// The same with [`PREFIXES`] IPv4 prefixes beside the addresses.
    FilterdPrefixes,
    /// The same with IPv6 /64s, asked about packets of IPv6.
    FilterdSix,
    /// What that is measured against.
    ParseSix,
}

/// Whom filterd is compared with.
pub const RIVALS: [Peer; 5] = [Hash, PerCpu, Trie, Bloom, XdpFilter];

/// How many /24s are blocked beside the addresses, where any are.
pub const PREFIXES: u32 = 10_000;

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

/// All of it.
#[derive(Debug)]
pub struct Plan {
    pub subjects: Vec<Spec>,
    pub measurements: Vec<Measurement>,
    /// How often each is measured.
    pub rounds: usize,
    /// How many packets each time.
    pub packets: u32,
}

impl Plan {
    /// The plan of a usual, a `short`, or a `full` run.
    pub fn new(short: bool, full: bool) -> Self {
        let mut sizes = vec![10_000, 100_000, 1_000_000];
        if full {
            sizes.push(10_000_000);
        }
        let subjects = subjects(&sizes, short);
        let measurements = measurements(&subjects);
        let (rounds, packets) = if short { (7, 200_000) } else { (15, 500_000) };
        Self { subjects, measurements, rounds, packets }
    }

    /// The measurement of the same pace that tells what is not this one's lookup.
    pub fn baseline(&self, of: &Measurement) -> usize {
        let limit = if self.subjects[of.subject].peer.is_six() { Peer::ParseSix } else { Parse };
        let is_it = |other: &Measurement| self.subjects[other.subject].peer == limit && other.pace == of.pace;
        self.measurements.iter().position(is_it).expect("each plan measures both limits at both paces")
    }
}

impl Peer {
    /// Is it asked about packets of IPv6?
    pub const fn is_six(self) -> bool {
        matches!(self, Self::FilterdSix | Self::ParseSix)
    }

    /// Does it look nothing up?
    pub const fn is_limit(self) -> bool {
        matches!(self, Parse | Self::ParseSix)
    }

    /// Does it tell listed senders from others?
    const fn judges(self) -> bool {
        !self.is_limit() && !matches!(self, Load)
    }
}

/// Everybody with `sizes` entries. In a `short` run most rivals have only the usual size.
fn subjects(sizes: &[u32], short: bool) -> Vec<Spec> {
    const USUAL: u32 = 1_000_000;
    let spec = |peer, entries| Spec { peer, entries };
    let mut subjects = vec![spec(Parse, 0), spec(Peer::ParseSix, 0), spec(Filterd, 0)];
    for &entries in sizes {
        subjects.extend([Load, Filterd].map(|peer| spec(peer, entries)));
        // Where a trie of ten million is thrown away, the kernel is gone for many seconds.
        let bearable = |rival| rival != Trie || entries <= USUAL;
        let here = |rival: &Peer| bearable(*rival) && (!short || entries == USUAL || *rival == Hash);
        subjects.extend(RIVALS.into_iter().filter(here).map(|peer| spec(peer, entries)));
    }
    subjects.extend([Peer::FilterdPrefixes, Peer::FilterdSix].map(|peer| spec(peer, USUAL)));
    subjects
}

fn measurements(subjects: &[Spec]) -> Vec<Measurement> {
    let of = |(subject, spec): (usize, &Spec)| {
        let all = spec.peer.judges() && spec.entries > 0;
        let senders =
            if all { &[Senders::Unlisted, Senders::Listed, Senders::Half][..] } else { &[Senders::Unlisted] };
        let at = move |pace| senders.iter().map(move |&senders| Measurement { subject, senders, pace });
        [Pace::Overlapping, Pace::Alone].into_iter().flat_map(at)
    };
    subjects.iter().enumerate().flat_map(of).collect()
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Parse => "parse only",
            Load => "one load and compare",
            Hash => "BPF hash map",
            PerCpu => "BPF per-CPU hash map",
            Trie => "BPF LPM trie",
            Bloom => "BPF bloom filter",
            XdpFilter => "xdp-filter",
            Filterd => "filterd",
            Self::FilterdPrefixes => "filterd with prefixes",
            Self::FilterdSix => "filterd, IPv6 /64s",
            Self::ParseSix => "parse only, IPv6",
        })
    }
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
