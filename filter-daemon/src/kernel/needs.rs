//! What the tables ask of whoever knows all targets.

use std::collections::BTreeSet;
use std::ops::{Index, IndexMut};

use filter_common::labels::{Counters, Label, OTHER};
use filter_common::ports::Clause;
use filter_common::sets::{PerSet, SLOTS, SetName};
use filter_common::target::{Prefix, Prefix4, Prefix6};

use super::ways::Ways;

/// What there must be room for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// In each set.
    pub sets: PerSet<SetNeeds>,
    /// Is there to be a label for each list beside what is blocked?
    pub counters: Counters,
}

/// What there must be room for in one set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetNeeds {
    /// Single IPv4 addresses, those of prefixes longer than /24 among them.
    pub addresses: u64,
    /// Is there an IPv4 prefix up to /24?
    pub networks: bool,
    /// Is there any IPv6 prefix?
    pub levels: bool,
    /// The ways to those of them that are to come.
    pub ways: Ways,
    /// IPv6 prefixes longer than /32.
    pub six: u64,
    /// The lengths that they have.
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
    /// Is there nothing at all?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Everything that is wanted: what is dropped is blocked, and not allowed.
pub trait Truth {
    /// What is wanted in this set, whatever is in the others.
    fn of(&self, set: SetName) -> &impl Wanted;

    /// On which ports is blocked what is in the set of each slot? Of one that is empty it does not matter.
    fn clauses(&self) -> &[Option<Clause>; SLOTS];
}

/// For which list packets are counted: the first, in the configuration's order (then live lists by age), of those that have
/// the narrowest target around the source.
///
/// What is asked of the set that allows is not used.
pub trait Labels {
    /// Of an address that is blocked by itself, or by a prefix longer than /24.
    fn label_of_address(&self, _address: u32) -> Label {
        OTHER
    }

    /// Of the narrowest IPv4 prefix up to /24 that is blocked and covers this one. The same one counts. Where none does,
    /// any answer will do.
    fn label_of_network(&self, _prefix: Prefix4) -> Label {
        OTHER
    }

    /// The same of IPv6 prefixes, of any length.
    fn label_of_six(&self, _prefix: Prefix6) -> Label {
        OTHER
    }

    /// The same of /64s, which are best asked in order.
    fn labels_of_nets64(&self, nets: &[u64]) -> Vec<Label> {
        let prefix = |net: &u64| Prefix::covering(u128::from(*net) << 64, 64);
        nets.iter().map(|net| self.label_of_six(prefix(net))).collect()
    }
}

/// The IPv6 targets that belong into a table.
pub trait SixTargets: Labels {
    /// Every one behind `after`, or all of them, in an order that stays the same while targets come and go: what is asked for
    /// page by page.
    fn six_after(&self, after: Option<Prefix6>) -> impl Iterator<Item = Prefix6>;
}

/// What is wanted in one set.
pub trait Wanted: SixTargets {
    /// Is this address wanted by itself or by a prefix longer than /24?
    fn has_address(&self, address: u32) -> bool;

    /// May an address stand in the table for the sake of a prefix longer than /24?
    fn has_long_prefixes(&self) -> bool;

    /// Does a wider prefix cover this one?
    fn is_within_wider(&self, prefix: Prefix4) -> bool;

    /// Prefixes up to /24 within this one.
    fn networks_within(&self, prefix: Prefix4) -> impl Iterator<Item = Prefix4>;

    /// Is an IPv6 prefix wanted that covers this one, and is no shorter than so many bits? The same one counts.
    fn covers_six(&self, prefix: Prefix6, shortest: u8) -> bool;

    /// Is an IPv6 prefix wanted that is within this one, and longer?
    fn has_six_within(&self, prefix: Prefix6) -> bool;

    /// Is exactly this IPv6 prefix wanted?
    fn wants_six(&self, prefix: Prefix6) -> bool;
}
