//! `io.filterd.Stats`: what became of how many packets.

use serde::{Deserialize, Serialize};

use super::{Failure, Method};

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stats {}

/// What became of how many packets, since the filter was attached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// [`VERSION`](super::VERSION) of this shape.
    pub version: u32,
    /// Does it drop, or only count?
    pub enforce: bool,
    /// One row for each reason, and one more for each that may drop: what it would have dropped without `enforce`,
    /// and while protection was paused.
    pub reasons: Vec<Counted>,
}

/// One reason's packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
