//! The programs that packets are sent through.

use std::fmt;

use filterd_measure::tables::grouped;

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// It looks nothing up.
    Parse,
    /// The same, asked about packets of IPv6.
    ParseSix,
    /// It loads one word of a table as large as filterd's, at an address that is written into it, as filterd's is.
    Load,
    /// The same where the word is looked up in an array map, as programs usually reach it.
    LoadInArray,
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
    /// filterd.
    Filterd(Feature),
}

/// Which filterd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// As shipped, with IPv4 addresses.
    Shipped,
    /// It only counts what it would drop.
    Counting,
    /// An entry stands in the stash, so that every packet has to be looked for there.
    Stashed,
    /// It does not count. No setting does this: the judge is another one.
    Uncounted,
    /// It does not ask whether the stash is empty. No setting does this: the judge is another one.
    Unstashed,
    /// [`BESIDE`] IPv4 prefixes beside the addresses.
    Prefixes,
    /// [`BESIDE`] IPv6 /64s beside the addresses.
    BesideSix,
    /// Both, and the IPv6 prefixes of all [`LENGTHS`].
    Both,
    /// The same, as many allowed sources among them, counters for each list, and `match: new`.
    Everything,
    /// IPv6 /64s alone, asked about packets of IPv6.
    Six,
    /// IPv6 prefixes of all [`LENGTHS`], asked about packets of IPv6.
    SixLengths,
    /// So many clauses beside the addresses, each with [`BESIDE`] addresses that are blocked on some ports only.
    Ports(u16),
    /// The same of /64s beside IPv6 /64s, asked about packets of IPv6.
    SixPorts(u16),
}

/// filterd as it is.
pub const OWN: Peer = Peer::Filterd(Feature::Shipped);

/// What no lookup can be cheaper than, by how the table is reached.
pub const FLOORS: [Peer; 2] = [Peer::Load, Peer::LoadInArray];

/// Whom filterd is compared with.
pub const RIVALS: [Peer; 5] = [Peer::Hash, Peer::PerCpu, Peer::Trie, Peer::Bloom, Peer::XdpFilter];

/// How many prefixes are blocked beside the addresses, where any are.
pub const BESIDE: u32 = 10_000;

/// Lengths of IPv6 prefixes, where there is more than one: as many prefixes of each.
pub const LENGTHS: [u8; 5] = [32, 40, 48, 56, 64];

impl Peer {
    /// Is it asked about packets of IPv6?
    pub const fn is_six(self) -> bool {
        matches!(
            self,
            Self::ParseSix | Self::Filterd(Feature::Six | Feature::SixLengths | Feature::SixPorts(_))
        )
    }

    /// Does it look nothing up?
    pub const fn is_limit(self) -> bool {
        matches!(self, Self::Parse | Self::ParseSix)
    }

    /// Does it tell listed senders from others?
    pub const fn judges(self) -> bool {
        !self.is_limit() && !matches!(self, Self::Load | Self::LoadInArray)
    }

    /// Does it drop whom it knows?
    pub const fn drops(self) -> bool {
        self.judges() && !matches!(self, Self::Filterd(Feature::Counting))
    }
}

impl Feature {
    /// All but the one as shipped, in the order in which they are told.
    pub const ALL: [Self; 14] = [
        Self::Unstashed,
        Self::Uncounted,
        Self::Counting,
        Self::Stashed,
        Self::Prefixes,
        Self::BesideSix,
        Self::Both,
        Self::Everything,
        Self::Ports(1),
        Self::Ports(4),
        Self::Six,
        Self::SixLengths,
        Self::SixPorts(1),
        Self::SixPorts(4),
    ];

    /// How many clauses are in use.
    pub const fn clauses(self) -> u16 {
        if let Self::Ports(clauses) | Self::SixPorts(clauses) = self { clauses } else { 0 }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parse => f.write_str("parse only"),
            Self::ParseSix => f.write_str("parse only, IPv6"),
            Self::Load => f.write_str("one load and compare"),
            Self::LoadInArray => f.write_str("one load and compare in an array map"),
            Self::Hash => f.write_str("BPF hash map"),
            Self::PerCpu => f.write_str("BPF per-CPU hash map"),
            Self::Trie => f.write_str("BPF LPM trie"),
            Self::Bloom => f.write_str("BPF bloom filter"),
            Self::XdpFilter => f.write_str("xdp-filter"),
            Self::Filterd(Feature::Shipped) => f.write_str("filterd"),
            Self::Filterd(feature) => write!(f, "filterd, {feature}"),
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let beside = grouped(BESIDE.into());
        match self {
            Self::Shipped => f.write_str("as shipped"),
            Self::Counting => f.write_str("only counting (enforce: false)"),
            Self::Stashed => f.write_str("an entry in the stash"),
            Self::Uncounted => f.write_str("a judge without counters"),
            Self::Unstashed => f.write_str("a judge without a stash"),
            Self::Prefixes => write!(f, "{beside} IPv4 prefixes beside"),
            Self::BesideSix => write!(f, "{beside} IPv6 /64s beside"),
            Self::Both => write!(f, "{beside} prefixes of each family beside"),
            Self::Everything => {
                write!(f, "{}, as many allowed, counters of lists, match: new", Self::Both)
            }
            Self::Six => f.write_str("IPv6 /64s"),
            Self::SixLengths => write!(f, "IPv6 prefixes of {} lengths", LENGTHS.len()),
            Self::Ports(1) => write!(f, "{beside} addresses blocked on some ports beside"),
            Self::Ports(clauses) => write!(f, "the same with {clauses} clauses, {beside} addresses each"),
            Self::SixPorts(1) => write!(f, "IPv6 /64s, {beside} blocked on some ports beside"),
            Self::SixPorts(clauses) => write!(f, "the same with {clauses} clauses, {beside} /64s each"),
        }
    }
}
