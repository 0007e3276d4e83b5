//! `io.filterd.Stats`: show how many packets were dropped and passed, and why.

use serde::{Deserialize, Serialize};

use super::{Failure, Hits, Method};

/// This method has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stats {}

/// Packets by reason and verdict, since the filter was attached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// [`VERSION`](super::VERSION) of this shape.
    pub version: u32,
    /// Whether the filter drops, or only counts.
    pub enforce: bool,
    /// Time since which packets are counted, in seconds since 1970: since the filter was first attached, over restarts
    /// of filterd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets_since: Option<u64>,
    /// A row for each reason. A reason to drop has two more rows: for `enforce: false`, and for a pause.
    pub reasons: Vec<Counted>,
    /// Packets to be dropped, by interface. Their sums are the rows of `reasons`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<OnInterface>,
    /// Time since which packets are counted for lists, in seconds since 1970. Missing with `counters: total`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_since: Option<u64>,
    /// Packets of each list that blocks and has counters of its own, in the order of the configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<OfList>,
    /// Packets of all lists without counters of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<Hits>,
    /// Packets of lists that no longer exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<Hits>,
}

/// Packets that count for one list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OfList {
    /// Name of the list.
    pub list: String,
    /// Time since which packets count for this name, in seconds since 1970.
    pub since: u64,
    /// Packets of the list by verdict.
    #[serde(flatten)]
    pub hits: Hits,
}

/// Packets to be dropped on one interface, for one reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OnInterface {
    /// Name of the interface. Missing for all interfaces without counters of their own and those that no longer exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Stable name of the reason.
    pub reason: String,
    /// The verdict: `drop`, `would_drop` or `paused`.
    pub verdict: String,
    /// Number of these packets.
    pub packets: u64,
    /// Number of bytes of these packets.
    pub bytes: u64,
}

/// Packets of one reason and verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Counted {
    /// Stable name of the reason.
    pub reason: String,
    /// The verdict: `pass`, `drop`, `would_drop` (it passed because of `enforce: false`), or `paused` (it passed during
    /// a pause).
    pub verdict: String,
    /// Number of these packets.
    pub packets: u64,
    /// Number of bytes, for packets from listed sources. A frame counts without its checksum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The meaning of the reason, in words.
    #[serde(default)]
    pub meaning: String,
}

impl Method for Stats {
    const NAME: &'static str = "io.filterd.Stats";
    type Request = ();
    type Reply = Reply;

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }
}
