//! `io.filterd.Snapshot`: show the whole state at one moment. Status, Stats and Lists are made from the same data.

use serde::{Deserialize, Serialize};

use super::crowdsec::CrowdSecState;
use super::hits::is_zero;
use super::lists::{ListDetails, MOST_LISTS};
use super::stats::{Counted, OnInterface};
use super::status::{Flows, Interface, OnTrial, Paused, Table, is_protected};
use super::{Failure, Fault, Hits, Method};
use crate::text::Explanation;

/// This method has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Snapshot {}

/// The whole state. Times are in seconds since 1970, unless a field says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// [`VERSION`](super::VERSION) of this shape.
    pub version: u32,
    /// Time of the snapshot, in milliseconds since 1970.
    pub taken: u64,
    /// Time of the snapshot in milliseconds since the machine started. Setting the clock does not change it, so use it
    /// for rates between two snapshots.
    pub uptime: u64,
    /// Version of the running filterd.
    pub filterd: String,
    /// Process id of the daemon.
    pub pid: u32,
    /// Time at which the daemon started.
    pub started: u64,
    /// User of the daemon.
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
    /// Time that changes took.
    #[serde(default)]
    pub changes: Changes,
    /// Flows that this host initiated, with `match: new`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Flows>,
    /// Time since which packets are counted: since the filter was first attached, over restarts of filterd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets_since: Option<u64>,
    /// Packets by reason and verdict, one row each. Empty if the kernel did not answer.
    pub reasons: Vec<Counted>,
    /// Packets to be dropped, by interface. Their sums are the rows of `reasons`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_interface: Vec<OnInterface>,
    /// Time since which packets are counted for lists. Missing with `counters: total`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_since: Option<u64>,
    /// Length in seconds of the time over which the rates of lists are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_over: Option<f64>,
    /// Packets of all lists without counters of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<Hits>,
    /// Packets of lists that no longer exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<Hits>,
    /// Sources that send the most dropped packets, if `metrics.sources` asks for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_sources: Option<TopSources>,
    /// Every CrowdSec that filterd follows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crowdsec: Vec<CrowdSecState>,
    /// All lists, in the order of the configuration, then live lists, the oldest first. Each line of a long answer has
    /// some.
    pub lists: Vec<ListDetails>,
}

/// Sources that send the most dropped packets. All figures are estimates from samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TopSources {
    /// Length in seconds of the time that the samples cover.
    pub over: f64,
    /// Number of samples in total.
    pub samples: u64,
    /// Why there are no samples, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Explanation>,
    /// The sources, those with the most packets first, as many as `metrics.sources` says.
    pub rows: Vec<Sampled>,
}

/// Estimates about one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sampled {
    /// Address of the source; `(none)` for frames with too many VLAN tags.
    #[serde(rename = "source")]
    pub name: String,
    /// Name of the list that its drops count for; if there are several, the last one seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// Number of drops that the samples stand for.
    pub packets: u64,
    /// Number of bytes of these drops.
    pub bytes: u64,
    /// Number of samples of this source.
    pub samples: u64,
}

/// Time until changes were in force for the next packet, since filterd started. Changes are additions, removals,
/// expiries, and parts of a reload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Changes {
    /// Number of these changes.
    pub count: u64,
    /// Seconds that all of them took together.
    pub seconds: f64,
    /// Number of changes that took no longer than certain times.
    pub within: Vec<Within>,
}

/// Number of changes that took no longer than a certain time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Within {
    /// The time in seconds.
    pub seconds: f64,
    /// Number of these changes.
    pub changes: u64,
}

impl Reply {
    /// Returns whether protection is as the configuration says. Other faults do not matter.
    pub fn is_protected(&self) -> bool {
        is_protected(&self.interfaces, &self.faults, self.enforce && self.paused.is_some())
    }
}

impl Method for Snapshot {
    const NAME: &'static str = "io.filterd.Snapshot";
    type Request = ();
    type Reply = Reply;

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }

    /// Only the first line has anything but lists.
    fn parts(mut reply: Reply) -> Vec<Reply> {
        let rest = reply.lists.split_off(reply.lists.len().min(MOST_LISTS));
        let more = rest.chunks(MOST_LISTS).map(|lists| Reply {
            version: reply.version,
            lists: lists.to_vec(),
            ..Reply::default()
        });
        let more: Vec<_> = more.collect();
        std::iter::once(reply).chain(more).collect()
    }

    fn join(come: &mut Reply, part: Reply) {
        come.lists.extend(part.lists);
    }
}
