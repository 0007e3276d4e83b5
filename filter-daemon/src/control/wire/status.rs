//! `io.filterd.Status`: what the daemon is and how full its tables are.

use serde::{Deserialize, Serialize};

use super::{About, Failure, Fault, Hits, Method};
use crate::text::Explanation;

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Status {}

/// What the daemon is and how full its tables are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// [`VERSION`](super::VERSION) of this shape.
    pub version: u32,
    /// Version of the program.
    pub filterd: String,
    /// Process id of the daemon.
    pub pid: u32,
    /// When it started, in seconds since 1970.
    pub started: u64,
    /// The user it runs as.
    #[serde(default)]
    pub user: String,
    /// The version of Landlock that confines it, if any does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landlock_version: Option<u32>,
    /// The configuration file, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Its state directory; a daemon from before does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_dir: Option<String>,
    /// What is not as the configuration says, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Does it drop, or only count?
    pub enforce: bool,
    /// What is as the configuration says, and somebody should know all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Explanation>,
    /// Until when that is paused, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Paused>,
    /// Until when what a reload has brought is on trial, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<OnTrial>,
    /// What is going on with its configuration, if anything: `reloading` or `rolling back`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reload: Option<String>,
    /// Where it is attached.
    pub interfaces: Vec<Interface>,
    /// How many targets are blocked: what several lists have is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<u64>,
    /// How full each table is.
    pub tables: Vec<Table>,
    /// What is remembered of what this host began, with `match: new`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Flows>,
    /// Every list, and how long it is.
    pub lists: Vec<ListStatus>,
}

/// How long what a reload has brought stays unless somebody confirms it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OnTrial {
    /// Since when, in seconds since 1970.
    pub since: u64,
    /// Until when, in seconds since 1970: then what was before is put back.
    pub until: u64,
    /// Who asked for the reload.
    pub by: String,
}

/// For how long what is blocked is only counted, whatever the configuration says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Paused {
    /// Since when, in seconds since 1970.
    pub since: u64,
    /// Until when, in seconds since 1970.
    pub until: u64,
    /// By whom.
    pub by: String,
}

/// The mode of an interface that is not filtered.
pub const NOT_FILTERED: &str = "none";

/// Is protection what the configuration says? What is wrong beside it does not matter.
pub fn is_protected(interfaces: &[Interface], faults: &[Fault], is_paused: bool) -> bool {
    let is_filtered = interfaces.iter().any(|one| one.mode != NOT_FILTERED);
    is_filtered && !is_paused && faults.iter().all(|fault| fault.about != About::Protection)
}

/// One interface of a status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// `native`, `generic` or `unknown` (it is in another network namespace), or `none` if it is not filtered.
    pub mode: String,
    /// Why it is not filtered, or where it is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Seconds for which it was not filtered, since filterd started.
    #[serde(default)]
    pub unprotected: u64,
    /// It is not there, which somebody has accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
    /// How often it lost its filter: it was gone, or somebody took the filter off.
    #[serde(default)]
    pub gaps: u64,
    /// Its driver (`virtio_net`), or what it is where it has none (`veth`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Since when it is filtered without a gap, as far as this filterd knows, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_since: Option<u64>,
    /// What the kernel counts of what it receives, while it is in this network namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<Received>,
    /// How many packets a second the kernel has received, over the last five to ten seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets_per_second: Option<f64>,
    /// How many a second filterd has dropped there, or would have dropped, over the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drops_per_second: Option<f64>,
}

/// The kernel's own counters of an interface since it is there (`ip -s link`), which filterd only reads. Some drivers count what
/// is dropped in XDP, too, others do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Received {
    /// Packets that it has received.
    pub kernel_rx_packets: u64,
    /// Bytes of these packets.
    pub kernel_rx_bytes: u64,
    /// Packets that the kernel threw away as they came: nobody wanted them, or there was no room. Those of filterd are not among them.
    pub kernel_rx_dropped: u64,
    /// Packets that came damaged.
    pub kernel_rx_errors: u64,
}

/// One table of a status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Table {
    /// `ipv4 addresses`, `ipv4 prefixes`, `ipv6` or `ipv6 up to /32`; of what is allowed behind `allowed`, of what blocks on some
    /// ports in front of these (`ipv6 on port 22 only`); and `counters of lists`, whose entries are lists.
    pub name: String,
    /// Entries in it.
    pub entries: u64,
    /// How many fit before it is rebuilt larger.
    pub capacity: u64,
    /// Kernel memory it takes, in bytes.
    pub bytes: u64,
    /// In words, what an answer of this table is worth: `exact`, or its false-positive rate.
    pub certainty: String,
    /// Is what stands in it what packets are dropped for?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocks: bool,
    /// How often it was made larger since this filterd started.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub growths: u64,
    /// How many entries have moved within it since then, to make room for others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub relocations: u64,
}

/// What is remembered of what this host began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Flows {
    /// How many at most: whoever begins more forgets those that were used least lately.
    pub room: u64,
    /// How many were begun since the filter was first attached with `match: new`.
    pub begun: u64,
    /// How many were found open when that was, or when the egress program was attached anew.
    #[serde(default)]
    pub found: u64,
    /// For how many seconds after it last sent something this host is answered: over TCP,
    pub tcp_age: u64,
    /// and over UDP, or when it has pinged.
    pub age: u64,
    /// The UDP ports that begin flows, where nobody listens: `32768-60999`.
    pub ports: String,
}

/// One list of a status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListStatus {
    /// Its name.
    pub name: String,
    /// `config`, `file`, `url` (a file that is fetched), `live` (what commands added), or `host` (what this host needs).
    pub kind: String,
    /// Does it allow, rather than block?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allows: bool,
    /// On which ports it blocks, if not on all: `on port 22 only`, `on all but port 443`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<String>,
    /// How many targets it has.
    pub targets: u64,
    /// How many it had at most within the last seven days, if its source has become shorter since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest: Option<u64>,
    /// Lines that were not understood when it was last read.
    pub rejected: u64,
    /// Targets of it that were left out as a whole or in part: private, loopback and other special ranges.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub special: u64,
    /// Targets that its file still names though their time on the list is over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub expired: u64,
    /// Guarded addresses that it names, or is around: they pass all the same.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub guarded: u64,
    /// Why it is not what its file says, and what is in force instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When what was last believed of its file was read, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<u64>,
    /// When it is fetched next, in seconds since 1970, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Packets that are counted for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits: Option<Hits>,
}

/// Nothing is said of what is not there.
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Method for Status {
    const NAME: &'static str = "io.filterd.Status";
    type Request = ();
    type Reply = Reply;

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }
}
