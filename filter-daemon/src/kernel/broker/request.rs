//! The requests to the broker. They are few, and a hostile daemon can harm only the filter itself with them.
//! `server` checks every request and trusts none.

use filter_common::flow::KEY_WORDS;
use serde::{Deserialize, Serialize};

use super::super::hook::Hook;
use super::super::{Attachment, KernelError, Link, Tampering};
use super::counts::PacketCounts;
use crate::config::Mode;
use filter_common::sets::SetName;

/// The part of a set that a map holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MapPart {
    /// Single IPv4 addresses, in a table.
    Addresses,
    /// IPv4 prefixes up to /24, as bits.
    Networks,
    /// Short IPv6 prefixes, by levels.
    Levels,
    /// IPv6 prefixes that the levels do not hold.
    Six,
    /// The word that says whether allowed and blocked targets may overlap.
    Overlap,
    /// Packets from blocked sources, by list.
    Lists,
    /// The labels of IPv4 addresses.
    AddressLabels,
    /// The labels of IPv4 prefixes.
    NetworkLabels,
    /// The labels of the IPv6 levels.
    LevelLabels,
    /// The labels of other IPv6 prefixes.
    SixLabels,
}

/// Identifies a map of a set. Several generations of it can exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MapName {
    #[serde(with = "by_number")]
    pub set: SetName,
    pub part: MapPart,
}

/// The names of maps in the kernel and among the pins, or in the judge. The rows are sets, the columns are
/// parts, and all names differ. The kernel keeps fifteen letters.
macro_rules! names {
    ($($before:literal)*, $($part:literal)*) => { names!(@ [$($before)*] [$($part)*]) };
    (@ [$($before:literal)*] $parts:tt) => { [$(names!(@@ $before $parts)),*] };
    (@@ $before:literal [$($part:literal)*]) => { [$(concat!($before, $part)),*] };
}

const NAMES: [[&str; 8]; SetName::COUNT] = names!(
    "" "allow_" "c0_" "c1_" "c2_" "c3_" "c4_" "c5_" "c6_" "c7_" "out_",
    "addresses" "networks" "levels" "six" "addr_labels" "net_labels" "level_labels" "six_labels"
);

const SYMBOLS: [[&str; 8]; SetName::COUNT] = names!(
    "" "ALLOW_" "C0_" "C1_" "C2_" "C3_" "C4_" "C5_" "C6_" "C7_" "OUT_",
    "ADDRESSES" "NETWORKS" "LEVELS" "SIX" "ADDRESS_LABELS" "NETWORK_LABELS" "LEVEL_LABELS" "SIX_LABELS"
);

impl MapName {
    /// The name of its maps in the kernel and among the pins. All names differ.
    pub const fn name(self) -> &'static str {
        self.among(&NAMES, "overlap", "lists")
    }

    /// The map with the labels for this map, if it can have labels.
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

    /// The map that the judge for this hook takes it for, if it reads it. The judge of sent frames blocks
    /// destinations as the others block sources.
    pub fn seen_at(self, hook: Hook) -> Option<Self> {
        match (self.part, self.set, hook.is_sent()) {
            (MapPart::Overlap | MapPart::Lists, ..) | (_, SetName::Allow, _) => Some(self),
            (_, SetName::Out, true) => Some(Self { set: SetName::Block, ..self }),
            (_, SetName::Out, false) | (_, SetName::Block | SetName::Clause(_), true) => None,
            (_, SetName::Block | SetName::Clause(_), false) => Some(self),
        }
    }

    /// The map's name in the judge.
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

/// Serialises a set as its number.
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

/// One generation of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MapUse {
    pub map: MapName,
    pub generation: u64,
}

/// Everything that a judge is built from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blueprint {
    /// Whether the judge checks ports.
    pub has_ports: bool,
    /// Whether calls of local processes that send to a blocked destination fail at once.
    pub outbound_errors: bool,
    /// The words of its settings.
    pub settings: Vec<u64>,
    /// The maps that it reads.
    pub maps: Vec<MapUse>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Make a map of zeroed words and return its descriptor.
    Make {
        map: MapName,
        /// The number of the new map.
        generation: u64,
        words: u32,
    },
    /// Start making such a map in the background.
    Begin {
        map: MapName,
        /// The number of the new map.
        generation: u64,
        words: u32,
    },
    /// Return the descriptor of a map that was begun, if it is made.
    Collect {
        map: MapName,
        generation: u64,
        /// Wait until the map is made.
        waits: bool,
    },
    /// Discard a map that no published judge uses.
    Discard {
        map: MapName,
        /// The number of the discarded map.
        generation: u64,
    },
    /// Load such a judge in the background. Repeat the request until it is loaded.
    Foresee(Blueprint),
    /// Load a judge, or use the one that `Foresee` has loaded.
    Prepare(Blueprint),
    /// Make packets meet the judge that was prepared.
    Publish,
    /// Attach to an interface, or take over the link that an earlier daemon left there.
    Attach {
        name: String,
        /// Its index, which must still belong to the name when the link is made.
        index: u32,
        mode: Mode,
    },
    /// Detach the filter from an interface.
    Detach {
        /// The interface's name when it was attached.
        interface: String,
    },
    /// Hold every link that an earlier daemon left, under any name.
    Adopt,
    /// Load judges for these hooks as well, because interfaces will be attached there.
    Expect(Vec<Hook>),
    /// Report where the links are, and the programs on them.
    Look,
    /// Give every link our program again, for drivers that have lost it.
    Renew,
    /// Restore pins that someone removed or replaced, and the judge in its slot.
    MendPins,
    /// Rename a link. If the other name is in use, the two links exchange their names.
    Rename {
        /// The name under which it was attached.
        from: String,
        /// The present name of its interface.
        to: String,
        /// The name under which it was requested, if another interface has it now. Noted for later starts of
        /// filterd.
        formerly: Option<String>,
    },
    /// Make a new ring for sampled drops, return its descriptor, and release the previous ring.
    Samples,
    /// Return the map of the UDP ports that begin flows. It exists while a judge checks own flows.
    Ports,
    /// Record these flows as if this host had just sent something in them.
    Seed(Vec<[u64; KEY_WORDS]>),
    /// Report the counters of all packets.
    Count,
    /// Remove everything from the kernel, unless an earlier daemon's filter was found at work: that one
    /// continues.
    Rollback,
    /// Remove everything from the kernel.
    Remove,
}

/// The pins of an earlier filterd that the broker found when it began.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct EarlierPins {
    /// The highest number of a pinned map; zero if there is none.
    pub latest_generation: u64,
    /// Whether there is a table of blocked targets.
    pub blocked: bool,
    /// Whether there is a link.
    pub attached: bool,
    /// Whether a link is on an interface, in any network namespace.
    pub filters: bool,
}

/// Changes by others that the broker found since the last such report.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Repairs {
    /// Whether the egress program was attached somewhere since then.
    pub egress: bool,
    /// Changes that the broker has reverted.
    pub tampered: Vec<Tampering>,
    /// The user who owns the pins.
    pub owner: u32,
    pub calls: CallErrors,
}

/// Whether calls of local processes fail at once that send to a blocked destination.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallErrors {
    /// They need not: no destination is blocked, or the configuration says so.
    #[default]
    Off,
    /// All calls on this host do.
    On,
    /// Those below this filterd's own cgroup do, because it sees no other one.
    OwnCgroup,
    /// They do not, for this reason.
    Refused(String),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    Done,
    /// Every link has the program of this number now.
    Renewed(u32),
    /// The pins are complete.
    Mended(Repairs),
    /// The object is not ready yet.
    NotYet,
    Attached(Attachment),
    /// Every link that is still on an interface.
    Links(Vec<Link>),
    Counted(PacketCounts),
    /// The first message, sent when the broker is ready.
    Ready(EarlierPins),
    Failed(KernelError),
}
