//! `io.filterd.Stats`: what became of how many packets.

use serde::{Deserialize, Serialize};

use super::{Failure, Hits, Method};

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stats {}

/// What became of how many packets, since the filter was attached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// [`VERSION`](super::VERSION) of this shape.
    pub version: u32,
    /// Does it drop, or only count?
    pub enforce: bool,
    /// Since when packets are counted, in seconds since 1970: since the filter was first attached, whoever has run since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets_since: Option<u64>,
    /// One row for each reason, and one more for each that may drop: what it would have dropped without `enforce`,
    /// and while protection was paused.
    pub reasons: Vec<Counted>,
    /// Of those to be dropped, what was counted on each interface: their sum is that of `reasons`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<OnInterface>,
    /// Since when packets are counted for lists, in seconds since 1970; they are not if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_since: Option<u64>,
    /// What was counted for each list that blocks and has counters of its own, in the configuration's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<OfList>,
    /// For lists without, all together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<Hits>,
    /// For lists that are gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<Hits>,
}

/// One list's packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OfList {
    /// Its name.
    pub list: String,
    /// Since when they are counted for this name, in seconds since 1970.
    pub since: u64,
    /// What became of them.
    #[serde(flatten)]
    pub hits: Hits,
}

/// What was to be dropped on one interface, by reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OnInterface {
    /// Its name; nothing of those that have no counters of their own, and of those that are gone, together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The reason's stable name.
    pub reason: String,
    /// `drop`, `would_drop` or `paused`.
    pub verdict: String,
    /// How many packets.
    pub packets: u64,
    /// How many bytes they had.
    pub bytes: u64,
}

/// One reason's packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Counted {
    /// The reason's stable name.
    pub reason: String,
    /// `pass`, `drop`, `would_drop` (it passed while the filter only counted), or `paused` (it passed while protection was
    /// paused): what became of these packets.
    pub verdict: String,
    /// How many packets.
    pub packets: u64,
    /// How many bytes they had, of those from listed sources: of each frame its length without the checksum behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// What the reason says of a packet, in words.
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
