//! Which lists there are, and whose packets meet each.

use std::fmt;

use filter_common::target::{Prefix4, Prefix6, Target};
use filterd_measure::tables::grouped;
use real::bans::{self, Around};
use real::sources::{From, Sources4, Sources6};

use super::told::TOLD;

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// All that is announced of IPv6.
    World6,
    /// Each prefix of it four times in ten.
    Part6,
    /// The same, and [`BANS`] of /64 and of /128 in announced space.
    Bans6,
    /// The same, and a million /64s more.
    Many6,
    /// As many bans anywhere in 2000::/3.
    Anywhere6,
    /// All that is announced of IPv4.
    World4,
    /// The same, and a million addresses.
    Many4,
    /// A million addresses alone.
    Addresses4,
    /// Addresses, /24s and a few wide ones.
    Netset4,
}

/// Of each length.
const BANS: usize = 50_000;
const MANY: usize = 1_000_000;

/// Everything is the same in every run.
const SEED: u64 = 1;

/// A list, and who meets it.
pub struct List {
    pub name: Name,
    kind: Kind,
}

enum Kind {
    Four { announced: Vec<Prefix4>, list: Vec<Prefix4> },
    Six { announced: Vec<Prefix6>, list: Vec<Prefix6> },
}

/// Sources in network order, and which of them are listed.
pub struct Senders {
    pub from: From,
    pub words: Vec<[u64; 2]>,
    pub listed: Vec<bool>,
}

impl List {
    pub fn new(name: Name) -> Self {
        let kind = if name.is_six() { six(name) } else { four(name) };
        Self { name, kind }
    }

    pub fn len(&self) -> usize {
        match &self.kind {
            Kind::Four { list, .. } => list.len(),
            Kind::Six { list, .. } => list.len(),
        }
    }

    pub fn targets(&self) -> Box<dyn Iterator<Item = Target> + '_> {
        match &self.kind {
            Kind::Four { list, .. } => Box::new(list.iter().copied().map(Target::V4)),
            Kind::Six { list, .. } => Box::new(list.iter().copied().map(Target::V6)),
        }
    }

    /// IPv4 prefixes, if it is of these.
    pub fn four(&self) -> Option<&[Prefix4]> {
        if let Kind::Four { list, .. } = &self.kind { Some(list) } else { None }
    }

    /// IPv6 prefixes, if it is of these.
    pub fn six(&self) -> Option<&[Prefix6]> {
        if let Kind::Six { list, .. } = &self.kind { Some(list) } else { None }
    }

    /// Everybody who sends to it.
    pub fn senders(&self) -> Vec<Senders> {
        match &self.kind {
            Kind::Four { announced, list } => {
                let sources = Sources4::new(announced, list);
                let words = |source: u32| [source.to_be().into(), 0];
                let some = |&from: &From| {
                    let told = sources.some(from, TOLD as usize, SEED);
                    Senders::new(from, &told, words, |source| sources.lists(source))
                };
                self.name.froms().iter().map(some).collect()
            }
            Kind::Six { announced, list } => {
                let sources = Sources6::new(announced, list);
                let words = |source: u128| [(source >> 64) as u64, source as u64].map(u64::to_be);
                let some = |&from: &From| {
                    let told = sources.some(from, TOLD as usize, SEED);
                    Senders::new(from, &told, words, |source| sources.lists(source))
                };
                self.name.froms().iter().map(some).collect()
            }
        }
    }
}

impl Senders {
    fn new<A: Copy>(from: From, told: &[A], words: fn(A) -> [u64; 2], lists: impl Fn(A) -> bool) -> Self {
        Self {
            from,
            words: told.iter().copied().map(words).collect(),
            listed: told.iter().copied().map(lists).collect(),
        }
    }
}

impl Name {
    pub const ALL: [Self; 9] = [
        Self::World6,
        Self::Part6,
        Self::Bans6,
        Self::Many6,
        Self::Anywhere6,
        Self::Addresses4,
        Self::World4,
        Self::Many4,
        Self::Netset4,
    ];
    /// Those that are quickly there.
    pub const SHORT: [Self; 4] = [Self::World6, Self::Part6, Self::Bans6, Self::World4];

    pub const fn is_six(self) -> bool {
        matches!(self, Self::World6 | Self::Part6 | Self::Bans6 | Self::Many6 | Self::Anywhere6)
    }

    /// Is it made in a fraction of a second?
    pub const fn is_quick(self) -> bool {
        !matches!(self, Self::Many6 | Self::Anywhere6 | Self::Addresses4 | Self::Many4)
    }

    /// Who there is to meet it: of what is announced nothing is left by a list of all of it.
    pub const fn froms(self) -> &'static [From] {
        match self {
            Self::World6 => &[From::Unannounced, From::Deep, From::Listed],
            Self::Part6 | Self::Bans6 | Self::Many6 | Self::Anywhere6 => {
                &[From::Unannounced, From::Unlisted, From::AsItFalls, From::Deep, From::Listed]
            }
            Self::World4 => &[From::Unannounced, From::Listed],
            Self::Many4 | Self::Addresses4 | Self::Netset4 => {
                &[From::Unannounced, From::AsItFalls, From::Listed]
            }
        }
    }
}

fn six(name: Name) -> Kind {
    let announced = real::world6(SEED);
    let mut list = if name == Name::World6 { announced.clone() } else { real::part(&announced, 4, SEED) };
    if !matches!(name, Name::World6 | Name::Part6) {
        let around = if name == Name::Anywhere6 { Around::Anywhere } else { Around::Announced(&announced) };
        let more = if name == Name::Bans6 { 0 } else { MANY };
        list.extend(bans::six(around, 64, BANS + more, SEED));
        list.extend(bans::six(around, 128, BANS, SEED));
    }
    list.sort_unstable();
    list.dedup();
    Kind::Six { announced, list }
}

fn four(name: Name) -> Kind {
    let announced = real::world4(SEED);
    let mut list = Vec::new();
    if matches!(name, Name::World4 | Name::Many4) {
        list.extend(&announced);
    }
    if name == Name::Netset4 {
        list = real::netset::list(&announced, SEED);
    }
    if matches!(name, Name::Many4 | Name::Addresses4) {
        list.extend(bans::four(MANY, SEED));
    }
    list.sort_unstable();
    list.dedup();
    Kind::Four { announced, list }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bans, many) = (grouped(BANS as u64), grouped(MANY as u64));
        match self {
            Self::World6 => f.write_str("IPv6, all countries"),
            Self::Part6 => f.write_str("IPv6, four in ten"),
            Self::Bans6 => write!(f, "IPv6, four in ten, {bans} /64s and /128s beside"),
            Self::Many6 => write!(f, "IPv6, four in ten, the same and {many} /64s"),
            Self::Anywhere6 => f.write_str("IPv6, four in ten, as many bans anywhere in 2000::/3"),
            Self::World4 => f.write_str("IPv4, all countries"),
            Self::Many4 => write!(f, "IPv4, all countries and {many} addresses"),
            Self::Addresses4 => write!(f, "IPv4, {many} addresses alone"),
            Self::Netset4 => f.write_str("IPv4, addresses, /24s, a few wide ones"),
        }
    }
}
