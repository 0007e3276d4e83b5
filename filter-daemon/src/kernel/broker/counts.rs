//! What was counted, as the broker tells it.

use serde::{Deserialize, Serialize};

/// What was counted, in the order of all outcomes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Packets.
    pub packets: Vec<u64>,
    /// Since when, in seconds since 1970.
    pub since: u64,
    /// Of what was to be dropped, by interface.
    pub interfaces: Vec<OnInterface>,
}

/// What was to be dropped on one interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnInterface {
    /// Its number and name; none of all that have no slot of their own, and of those that are gone, together.
    pub interface: Option<(u32, String)>,
    /// Packets and bytes of each outcome that is a drop, or would be one, in their order.
    pub counts: Vec<[u64; 2]>,
}

impl OnInterface {
    /// The number of the interface, and how many packets were dropped there, or would have been.
    #[must_use]
    pub fn drops(&self) -> Option<(u32, u64)> {
        let (index, _) = self.interface.as_ref()?;
        Some((*index, self.counts.iter().map(|[packets, _]| packets).sum()))
    }
}
