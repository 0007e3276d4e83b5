//! Packets that count for a list.

use serde::{Deserialize, Serialize};

/// Packets that count for one list, or for several lists together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Hits {
    /// Number of packets that were dropped.
    pub dropped: u64,
    /// Number of packets that passed because of `enforce: false`.
    pub would_drop: u64,
    /// Number of packets that passed during a pause.
    pub paused: u64,
    /// Number of packets that passed as replies to what this host initiated.
    pub replies: u64,
}

impl Hits {
    /// All packets that would be dropped without a pause and with `enforce: true`.
    pub const fn all(&self) -> u64 {
        self.dropped + self.would_drop + self.paused
    }

    /// Returns whether no packet counted.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether a count is left out, because it is zero.
pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}
