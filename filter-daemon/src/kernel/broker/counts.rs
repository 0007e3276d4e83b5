//! The counters, as the broker reports them.

use serde::{Deserialize, Serialize};

/// Packets by outcome, in the order of all outcomes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketCounts {
    pub packets: Vec<u64>,
    /// The time when counting began, in seconds since 1970.
    pub since: u64,
    /// Drops by interface, real or only counted.
    pub interfaces: Vec<InterfaceDrops>,
}

/// Packets that were or would have been dropped on one interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceDrops {
    /// Index and name. None for the sum of interfaces without a slot of their own and removed interfaces.
    pub interface: Option<(u32, String)>,
    /// Packets and bytes of each outcome that is a drop or would be one, in the order of outcomes.
    pub counts: Vec<[u64; 2]>,
}

impl InterfaceDrops {
    /// The interface's index, and the packets that were or would have been dropped there.
    #[must_use]
    pub fn drops(&self) -> Option<(u32, u64)> {
        let (index, _) = self.interface.as_ref()?;
        Some((*index, self.counts.iter().map(|[packets, _]| packets).sum()))
    }
}
