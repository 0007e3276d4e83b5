//! The questions that the tables ask the owner of all targets.

use std::collections::BTreeSet;
use std::ops::{Index, IndexMut};

use filter_common::labels::{Counters, Label, OTHER};
use filter_common::ports::Clause;
use filter_common::sets::{PerSet, SLOTS, SetName};
use filter_common::target::{Prefix, Prefix4, Prefix6};

use super::ways::Ways;

/// The room that is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    pub sets: PerSet<SetNeeds>,
    /// Whether blocked entries have a label for each list.
    pub counters: Counters,
}

/// The room that one set needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetNeeds {
    /// Single IPv4 addresses, including those of prefixes longer than /24.
    pub addresses: u64,
    /// Whether there is an IPv4 prefix up to /24.
    pub networks: bool,
    /// Whether there is any IPv6 prefix.
    pub levels: bool,
    /// The ways in the levels to the IPv6 prefixes that will be added.
    pub ways: Ways,
    /// IPv6 prefixes longer than /32.
    pub six: u64,
    /// The lengths of those IPv6 prefixes.
    pub lengths: BTreeSet<u8>,
}

impl From<SetNeeds> for Needs {
    fn from(block: SetNeeds) -> Self {
        let mut needs = Self::default();
        needs.sets.block = block;
        needs
    }
}

impl Index<SetName> for Needs {
    type Output = SetNeeds;

    fn index(&self, name: SetName) -> &SetNeeds {
        &self.sets[name]
    }
}

impl IndexMut<SetName> for Needs {
    fn index_mut(&mut self, name: SetName) -> &mut SetNeeds {
        &mut self.sets[name]
    }
}

impl SetNeeds {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// All wanted targets. A packet is dropped if its source is blocked and not allowed.
pub trait Truth {
    /// The targets wanted in this set, independent of the other sets.
    fn of(&self, set: SetName) -> &impl WantedTargets;

    /// The clause of each clause set. The value for an empty set is not used.
    fn clauses(&self) -> &[Option<Clause>; SLOTS];
}

/// The list that a packet counts for. Among the lists with the narrowest target around the source, this is
/// the first in the configuration's order, then the oldest live list.
///
/// Answers for the set that allows are not used.
pub trait LabelSource {
    /// The label of an address that is blocked by itself or by a prefix longer than /24.
    fn label_of_address(&self, _address: u32) -> Label {
        OTHER
    }

    /// The label of the narrowest blocked IPv4 prefix, up to /24, that covers or equals this one. If there is
    /// none, any answer is valid.
    fn label_of_network(&self, _prefix: Prefix4) -> Label {
        OTHER
    }

    /// The label of the narrowest blocked IPv6 prefix of any length that covers or equals this one.
    fn label_of_six(&self, _prefix: Prefix6) -> Label {
        OTHER
    }

    /// The labels of these /64s. Pass them in order, because that is faster.
    fn labels_of_nets64(&self, nets: &[u64]) -> Vec<Label> {
        let prefix = |net: &u64| Prefix::covering(u128::from(*net) << 64, 64);
        nets.iter().map(|net| self.label_of_six(prefix(net))).collect()
    }
}

/// The IPv6 targets that belong into a table.
pub trait SixTargets: LabelSource {
    /// Every target after `after`, or all of them. The order stays stable while targets are added and
    /// removed, so that callers can read page by page.
    fn six_after(&self, after: Option<Prefix6>) -> impl Iterator<Item = Prefix6>;
}

/// The targets wanted in one set.
pub trait WantedTargets: SixTargets {
    /// True if this address is wanted by itself or by a prefix longer than /24.
    fn has_address(&self, address: u32) -> bool;

    /// True if the table may contain an address because of a prefix longer than /24.
    fn has_long_prefixes(&self) -> bool;

    /// True if a wider prefix covers this one.
    fn is_within_wider(&self, prefix: Prefix4) -> bool;

    /// The prefixes up to /24 within this one.
    fn networks_within(&self, prefix: Prefix4) -> impl Iterator<Item = Prefix4>;

    /// True if a wanted IPv6 prefix covers or equals this one and has at least `shortest` bits.
    fn covers_six(&self, prefix: Prefix6, shortest: u8) -> bool;

    /// True if a longer wanted IPv6 prefix lies within this one.
    fn has_six_within(&self, prefix: Prefix6) -> bool;

    /// True if exactly this IPv6 prefix is wanted.
    fn wants_six(&self, prefix: Prefix6) -> bool;
}
