//! `io.filterd.Status`: show the state of the daemon, and how full its tables are.

use serde::{Deserialize, Serialize};

use super::crowdsec::CrowdSecState;
use super::hits::is_zero;
use super::{About, Failure, Fault, Hits, Method};
use crate::text::Explanation;

/// This method has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Status {}

/// State of the daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// [`VERSION`](super::VERSION) of this shape.
    pub version: u32,
    /// Version of the running filterd.
    pub filterd: String,
    /// Process id of the daemon.
    pub pid: u32,
    /// Time at which the daemon started, in seconds since 1970.
    pub started: u64,
    /// User of the daemon.
    #[serde(default)]
    pub user: String,
    /// Version of Landlock that confines the daemon, if any does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landlock_version: Option<u32>,
    /// Path of the configuration, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Path of the state directory. Older daemons do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_dir: Option<String>,
    /// Everything that is not as the configuration says, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Whether the filter drops, or only counts.
    pub enforce: bool,
    /// Remarks: as the configuration says, but worth knowing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Explanation>,
    /// The pause, if protection is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Paused>,
    /// The trial, if a reload is on trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<OnTrial>,
    /// A reload or rollback that is running, if one is: `reloading` or `rolling back`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reload: Option<String>,
    /// The interfaces, attached or not.
    pub interfaces: Vec<Interface>,
    /// Number of targets packets from which are blocked. A target of several lists counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<u64>,
    /// Number of targets packets to which are blocked. Default: none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub targets_out: u64,
    /// Tables in the kernel, and how full they are.
    pub tables: Vec<Table>,
    /// Flows that this host initiated, with `match: new`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Flows>,
    /// Every CrowdSec that filterd follows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crowdsec: Vec<CrowdSecState>,
    /// All lists, and how long they are.
    pub lists: Vec<ListStatus>,
}

/// The trial of a reload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OnTrial {
    /// Time of its beginning, in seconds since 1970.
    pub since: u64,
    /// Time of its end, in seconds since 1970. The reload is rolled back then, unless it is confirmed.
    pub until: u64,
    /// The user who asked for the reload.
    pub by: String,
}

/// A pause, during which listed packets are only counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Paused {
    /// Time of its beginning, in seconds since 1970.
    pub since: u64,
    /// Time of its end, in seconds since 1970.
    pub until: u64,
    /// The user who asked for it.
    pub by: String,
}

/// The mode of an interface that is not filtered.
pub const NOT_FILTERED: &str = "none";

/// Returns whether protection is as the configuration says. Other faults do not matter.
pub fn is_protected(interfaces: &[Interface], faults: &[Fault], is_paused: bool) -> bool {
    let is_filtered = interfaces.iter().any(|one| one.mode != NOT_FILTERED);
    is_filtered && !is_paused && faults.iter().all(|fault| fault.about != About::Protection)
}

/// An interface in a status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interface {
    /// Name of the list.
    pub name: String,
    /// The mode: `native`, `tcx`, `clsact`, `unknown` (it is in another network namespace), or `none` if it is not filtered.
    pub mode: String,
    /// Why it has this mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it is not filtered, or where it is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Seconds for which it was not filtered, since filterd started.
    #[serde(default)]
    pub unprotected: u64,
    /// Whether it is missing, and a user has accepted that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
    /// Number of times it lost its filter: it was deleted, or somebody removed the filter.
    #[serde(default)]
    pub gaps: u64,
    /// Driver of the interface (`virtio_net`), or its kind if it has none (`veth`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Time since which it is filtered without a gap, as far as this filterd knows, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_since: Option<u64>,
    /// The kernel's counters of received packets, while it is in this network namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<Received>,
    /// Packets per second that the kernel received, over the last five to ten seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets_per_second: Option<f64>,
    /// Packets per second that filterd dropped, or would have dropped, over the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drops_per_second: Option<f64>,
}

/// The kernel's own counters of an interface (`ip -s link`), which filterd only reads. Some drivers include packets
/// that are dropped in XDP, others do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Received {
    /// Number of received packets.
    pub kernel_rx_packets: u64,
    /// Number of bytes of these packets.
    pub kernel_rx_bytes: u64,
    /// Number of received packets that the kernel discarded, because no protocol took them or there was no memory.
    /// Drops of filterd are not included.
    pub kernel_rx_dropped: u64,
    /// Number of packets that arrived damaged.
    pub kernel_rx_errors: u64,
}

/// A table in a status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Table {
    /// Name of the table: `ipv4 addresses`, `ipv4 prefixes`, `ipv6` or `ipv6 up to /32`. What allows has `allowed`
    /// before it, and what blocks on some ports has them behind (`ipv6 on port 22 only`). `counters of lists` has lists
    /// as entries.
    pub name: String,
    /// Number of its entries.
    pub entries: u64,
    /// Number of entries that fit before it is rebuilt larger.
    pub capacity: u64,
    /// Kernel memory of the table, in bytes.
    pub bytes: u64,
    /// How certain an answer of this table is, in words: `exact`, or its false-positive rate.
    pub certainty: String,
    /// Whether packets are dropped because of its entries.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocks: bool,
    /// Number of times it was made larger, since filterd started.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub growths: u64,
    /// Number of entries that moved within it to make room for others, since filterd started.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub relocations: u64,
}

/// Flows that this host initiated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Flows {
    /// Number of flows that are remembered at most. If there are more, those used least recently are forgotten.
    pub room: u64,
    /// Number of flows initiated since the filter was first attached with `match: new`.
    pub begun: u64,
    /// Number of flows that were open when the filter, or later the egress program, was attached.
    #[serde(default)]
    pub found: u64,
    /// Seconds for which replies over TCP pass after this host last sent something.
    pub tcp_age: u64,
    /// Seconds for which replies over UDP and to pings pass after this host last sent something.
    pub age: u64,
    /// UDP ports from which this host initiates flows, if no service listens there: `32768-60999`.
    pub ports: String,
}

/// A list in a status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListStatus {
    /// Name of the list.
    pub name: String,
    /// `config`, `file`, `url` (a downloaded file), `live` (filled by commands), `remote` (follows CrowdSec), or `host` (what this host depends on).
    pub kind: String,
    /// Whether the list allows instead of blocks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allows: bool,
    /// Ports on which it blocks, if not on all: `on port 22 only`, `on all but port 443`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<String>,
    /// `out` if it blocks packets to its targets, `both` if packets from and to them. Default: packets from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// Number of targets of the list.
    pub targets: u64,
    /// Largest number of entries within the last seven days, if the source has become shorter since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest: Option<u64>,
    /// Number of lines that were not understood when it was last read.
    pub rejected: u64,
    /// Number of targets that were left out as a whole or in part: private, loopback and other special ranges.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub special: u64,
    /// Number of targets that its file still has, although their time is over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub expired: u64,
    /// Number of guarded addresses that it names or that lie within its prefixes. They still pass.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub guarded: u64,
    /// Why it differs from its file, and which version is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Time at which the version in force was read, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<u64>,
    /// Time of the next download, in seconds since 1970, if it has a `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Packets that count for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits: Option<Hits>,
}

impl Method for Status {
    const NAME: &'static str = "io.filterd.Status";
    type Request = ();
    type Reply = Reply;

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }
}
