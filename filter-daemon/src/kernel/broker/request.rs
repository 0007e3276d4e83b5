//! What the holder of the kernel can be asked to do: little, and nothing that a hostile asker could turn against anything
//! but the filter itself. What stands in a request is believed by nobody: `server` checks it.

use filter_common::flow::KEY_WORDS;
use serde::{Deserialize, Serialize};

use super::super::{Attached, KernelError, Link, Tampering};
use super::counts::Counts;
use crate::config::Mode;
use filter_common::sets::SetName;

/// What of its set lives in a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MapPart {
    /// IPv4 addresses.
    Addresses,
    /// IPv4 prefixes.
    Networks,
    /// IPv6 from the top.
    Levels,
    /// IPv6 prefixes that the levels do not tell.
    Six,
    /// Of what is allowed: may any of it be blocked?
    Overlap,
    /// Packets from what is blocked, by the list they count for.
    Lists,
    /// For which list each IPv4 address counts.
    AddressLabels,
    /// The same of IPv4 prefixes.
    NetworkLabels,
    /// The same of what is told of IPv6 from the top.
    LevelLabels,
    /// The same of other IPv6 prefixes.
    SixLabels,
}

/// The maps that tables live in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MapName {
    /// Whose.
    #[serde(with = "by_number")]
    pub set: SetName,
    /// What of it.
    pub part: MapPart,
}

/// What the maps of one set are called in the kernel and in the names of their pins, or in the judge: in the order of the
/// parts, and no two alike. The kernel keeps fifteen letters.
macro_rules! names {
    ($($before:literal)*, $($part:literal)*) => { names!(@ [$($before)*] [$($part)*]) };
    (@ [$($before:literal)*] $parts:tt) => { [$(names!(@@ $before $parts)),*] };
    (@@ $before:literal [$($part:literal)*]) => { [$(concat!($before, $part)),*] };
}

const NAMES: [[&str; 8]; SetName::COUNT] = names!(
    "" "allow_" "c0_" "c1_" "c2_" "c3_" "c4_" "c5_" "c6_" "c7_",
    "addresses" "networks" "levels" "six" "addr_labels" "net_labels" "level_labels" "six_labels"
);

const SYMBOLS: [[&str; 8]; SetName::COUNT] = names!(
    "" "ALLOW_" "C0_" "C1_" "C2_" "C3_" "C4_" "C5_" "C6_" "C7_",
    "ADDRESSES" "NETWORKS" "LEVELS" "SIX" "ADDRESS_LABELS" "NETWORK_LABELS" "LEVEL_LABELS" "SIX_LABELS"
);

impl MapName {
    /// What its maps are called in the kernel, and in the names of their pins: no two alike.
    pub const fn name(self) -> &'static str {
        self.among(&NAMES, "overlap", "lists")
    }

    /// Where the labels are of what is in such a map, if any are kept.
    pub fn labels(self) -> Option<Self> {
        let part = match self.part {
            MapPart::Addresses => MapPart::AddressLabels,
            MapPart::Networks => MapPart::NetworkLabels,
            MapPart::Levels => MapPart::LevelLabels,
            MapPart::Six => MapPart::SixLabels,
            MapPart::Overlap
            | MapPart::Lists
            | MapPart::AddressLabels
            | MapPart::NetworkLabels
            | MapPart::LevelLabels
            | MapPart::SixLabels => return None,
        };
        (self.set != SetName::Allow).then_some(Self { part, ..self })
    }

    /// What it is called in the judge.
    pub const fn symbol(self) -> &'static str {
        self.among(&SYMBOLS, "OVERLAP", "LISTS")
    }

    const fn among(
        self,
        names: &[[&'static str; 8]; SetName::COUNT],
        overlap: &'static str,
        lists: &'static str,
    ) -> &'static str {
        let of_set = &names[self.set.number()];
        match self.part {
            MapPart::Addresses => of_set[0],
            MapPart::Networks => of_set[1],
            MapPart::Levels => of_set[2],
            MapPart::Six => of_set[3],
            MapPart::AddressLabels => of_set[4],
            MapPart::NetworkLabels => of_set[5],
            MapPart::LevelLabels => of_set[6],
            MapPart::SixLabels => of_set[7],
            MapPart::Overlap => overlap,
            MapPart::Lists => lists,
        }
    }
}

/// How a set travels.
mod by_number {
    use filter_common::sets::SetName;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(set: &SetName, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(set.number() as u64)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SetName, D::Error> {
        let number = usize::deserialize(deserializer)?;
        SetName::of(number).ok_or_else(|| D::Error::custom("there is no such set"))
    }
}

/// One map, as a judge is to use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MapUse {
    /// Which.
    pub map: MapName,
    /// Its number.
    pub generation: u64,
}

/// All that a judge is built from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blueprint {
    /// Does it ask for ports?
    pub has_ports: bool,
    /// The words of its settings.
    pub settings: Vec<u64>,
    /// The maps that it looks into.
    pub maps: Vec<MapUse>,
}

/// What is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Make a map of zeroed words, and hand it over.
    Make {
        /// Which.
        map: MapName,
        /// Its number.
        generation: u64,
        /// Its size.
        words: u32,
    },
    /// Begin to make such a map, away from whatever is asked next.
    Begin {
        /// Which.
        map: MapName,
        /// Its number.
        generation: u64,
        /// Its size.
        words: u32,
    },
    /// Hand over a map that was begun, if it is made.
    Collect {
        /// Which.
        map: MapName,
        /// Its number.
        generation: u64,
        /// Wait until it is.
        waits: bool,
    },
    /// Forget a map that no judge was published for.
    Discard {
        /// Which.
        map: MapName,
        /// Its number.
        generation: u64,
    },
    /// Load such a judge away from whatever is asked next, if that is not done yet: to be asked again until it is.
    Foresee(Blueprint),
    /// Load a judge, or take the one that was foreseen.
    Prepare(Blueprint),
    /// Let packets meet it.
    Publish,
    /// Attach to an interface, or take over the link that an earlier daemon left there.
    Attach {
        /// Its name.
        name: String,
        /// Its number, which must be that of the name when it is attached to.
        index: u32,
        /// How.
        mode: Mode,
    },
    /// Take the filter off an interface.
    Detach {
        /// Its name when it was attached.
        interface: String,
    },
    /// Hold every link that an earlier daemon has left, by whatever name.
    Adopt,
    /// Where are the links now, and what sits there?
    Look,
    /// Give every link our program anew, for drivers that have forgotten it.
    Renew,
    /// Put back pins that somebody has removed or replaced, and the judge into its slot.
    MendPins,
    /// Know a link by another name from now on. If one is known by that already, the two exchange their names.
    Rename {
        /// The name it was attached under.
        from: String,
        /// What its interface is called now.
        to: String,
        /// The name that it was asked for by, if another interface has that now: noted for whoever starts next.
        formerly: Option<String>,
    },
    /// Hand over the ring in which drops are told in full, for judges that tell any. Another one than before, which is given up.
    Samples,
    /// Hand over the map of the UDP ports that begin flows; there is one while a judge asks for own flows.
    Ports,
    /// Remember these flows as if something had just been sent.
    Seed(Vec<[u64; KEY_WORDS]>),
    /// How many packets became what?
    Count,
    /// Let packets meet what has been published apart, in place of another filterd's.
    Succeed {
        /// From then on that one goes on, in milliseconds of the machine's uptime: nothing may be touched any more.
        too_late: u64,
    },
    /// The other filterd has gone: its place among the pins is ours.
    Settle,
    /// Let packets meet what was published last: another filterd had begun to take our place, and is gone.
    ComeBack,
    /// Leave everything to the filterd that has taken our place.
    GiveWay,
    /// Take everything out of the kernel, unless an earlier daemon's filter was found at work: that goes on.
    Rollback,
    /// Take everything out of the kernel.
    Remove,
}

/// What was pinned when the broker began, by a filterd that is no more.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Earlier {
    /// The highest number of a map; zero if there is none.
    pub latest_generation: u64,
    /// Is there a table of what was blocked?
    pub blocked: bool,
    /// Is there a link?
    pub attached: bool,
    /// Is one of them on an interface, wherever that is?
    pub filters: bool,
}

/// What became of the pins and the judge's slot since this was asked last.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Mended {
    /// The egress program was attached somewhere.
    pub egress: bool,
    /// What was not as it had been left, and is so again.
    pub tampered: Vec<Tampering>,
    /// The user who owns the pins.
    pub owner: u32,
}

/// What is answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// It is done.
    Done,
    /// Every link has the program of this number now.
    Renewed(u32),
    /// What is pinned is whole.
    Mended(Mended),
    /// Not yet.
    NotYet,
    /// How it was attached.
    Attached(Attached),
    /// Every link that is still on an interface.
    Links(Vec<Link>),
    /// How many.
    Counted(Counts),
    /// The first words.
    Ready(Earlier),
    /// It is not done.
    Failed(KernelError),
}
