//! How many packets were counted for a list.

use serde::{Deserialize, Serialize};

/// What became of packets for the sake of one list, or of several that are counted together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Hits {
    /// Packets that were dropped.
    pub dropped: u64,
    /// Packets that passed because the filter only counted.
    pub would_drop: u64,
    /// Packets that passed because protection was paused.
    pub paused: u64,
    /// Packets that passed because they belong to what this host began.
    pub replies: u64,
}

impl Hits {
    /// All packets that would be dropped if nothing spared them.
    pub const fn all(&self) -> u64 {
        self.dropped + self.would_drop + self.paused
    }

    /// Were there none?
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
