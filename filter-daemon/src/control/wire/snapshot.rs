//! `io.filterd.Snapshot`: everything there is to see, as it is at one moment. Status, Stats and Lists are told out of the same.

use serde::{Deserialize, Serialize};

use super::lists::{List, MOST_LISTS};
use super::stats::{Counted, OnInterface};
use super::status::{Flows, Interface, OnTrial, Paused, Table, is_protected};
use super::{Failure, Fault, Hits, Method};
use crate::text::Explanation;

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Snapshot {}

/// Everything there is to see. Where nothing else is said, times are in seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// [`VERSION`](super::VERSION) of this shape.
    pub version: u32,
    /// When this was so, in milliseconds since 1970.
    pub taken: u64,
    /// The same in milliseconds since this machine began, which nobody sets: rates between two snapshots are over these.
    pub uptime: u64,
    /// Version of the program.
    pub filterd: String,
    /// Process id of the daemon.
    pub pid: u32,
    /// When it started.
    pub started: u64,
    /// The user it runs as.
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
    /// What is going on with its configuration, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reload: Option<String>,
    /// Where it is attached, or should be.
    pub interfaces: Vec<Interface>,
    /// How many targets are blocked: what several lists have is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<u64>,
    /// How full each table is.
    pub tables: Vec<Table>,
    /// How long changes took.
    #[serde(default)]
    pub changes: Changes,
    /// What is remembered of what this host began, with `match: new`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Flows>,
    /// Since when packets are counted: since the filter was first attached, whoever has run since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets_since: Option<u64>,
    /// What became of how many packets, a row for each outcome there can be; none where the kernel could not be asked.
    pub reasons: Vec<Counted>,
    /// The same by interface, of what was to be dropped. The rows of `reasons` are the sums of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_interface: Vec<OnInterface>,
    /// Since when packets are counted for lists; they are not if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_since: Option<u64>,
    /// Over how many seconds the rates of lists are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_over: Option<f64>,
    /// Packets for lists that have no counters of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<Hits>,
    /// Packets for lists that are gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<Hits>,
    /// Who is dropped most of late, where `metrics.sources` asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_sources: Option<TopSources>,
    /// In the configuration's order, then those that commands made, the oldest first. Of a long answer each line has some.
    pub lists: Vec<List>,
}

/// Who is dropped most of late. All figures are estimates out of samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TopSources {
    /// Over how many seconds.
    pub over: f64,
    /// From how many samples all of that is known.
    pub samples: u64,
    /// Why nothing is known, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Explanation>,
    /// Those of which most packets were to be dropped, the most first: so many as `metrics.sources` says.
    pub rows: Vec<Sampled>,
}

/// What samples tell of one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sampled {
    /// Its address; `(none)` of frames with too many VLAN tags.
    #[serde(rename = "source")]
    pub name: String,
    /// The list that its drops count for; of several, the last one that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// How many drops the samples stand for.
    pub packets: u64,
    /// How many bytes these had.
    pub bytes: u64,
    /// From how many samples that is known.
    pub samples: u64,
}

/// How long changes took until the next packet was judged by them, since this filterd started: what was added, removed or has run
/// out, and each part of a reload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Changes {
    /// How many there were.
    pub count: u64,
    /// How many seconds all of them took together.
    pub seconds: f64,
    /// How many of them took no longer than so much, for some times.
    pub within: Vec<Within>,
}

/// How many changes took no longer than that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Within {
    /// How long, in seconds.
    pub seconds: f64,
    /// How many.
    pub changes: u64,
}

impl Reply {
    /// Is protection what the configuration says? What is wrong beside it does not matter.
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

    /// All but lists is on the first line alone.
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
