//! `io.filterd.Stats`: what became of how many packets.

use serde::{Deserialize, Serialize};

use super::{Failure, Hits, Method};

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stats {}

/// What became of how many packets, since the filter was attached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// [`VERSION`](super::VERSION) of this shape.
    pub version: u32,
    /// Does it drop, or only count?
    pub enforce: bool,
    /// One row for each reason, and one more for each that may drop: what it would have dropped without `enforce`,
    /// and while protection was paused.
    pub reasons: Vec<Counted>,
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

/// One reason's packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Counted {
    /// The reason's stable name.
    pub reason: String,
    /// `pass`, `drop`, `would_drop` (it passed while the filter only counted), or `paused` (it passed while protection was
    /// paused): what became of these packets.
    pub verdict: String,
    /// How many packets.
    pub packets: u64,
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
