//! What the tables ask of whoever knows all targets.

use std::collections::BTreeSet;
use std::iter;

use filter_common::target::{Prefix4, Prefix6};

/// What there must be room for, in each set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Of what is blocked.
    pub block: SetNeeds,
    /// Of what is allowed.
    pub allow: SetNeeds,
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
    /// IPv6 prefixes longer than /32.
    pub six: u64,
    /// The lengths that they have.
    pub lengths: BTreeSet<u8>,
}

/// The IPv6 targets that belong into a table.
pub trait SixTargets {
    /// Every one behind `after`, or all of them, in an order that stays the same while targets come and go: what is asked for
    /// page by page.
    fn six_after(&self, after: Option<Prefix6>) -> impl Iterator<Item = Prefix6>;
}

/// What is wanted of either set.
pub trait Truth {
    /// What is wanted blocked, whatever is allowed.
    fn block(&self) -> &impl Wanted;

    /// What is wanted allowed, whatever is blocked.
    fn allow(&self) -> &impl Wanted;
}

/// What is wanted of one set: blocked, or allowed.
pub trait Wanted: SixTargets {
    /// Is this address wanted by itself or by a prefix longer than /24?
    fn blocks_address(&self, address: u32) -> bool;

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

impl Needs {
    /// For what is blocked alone.
    pub fn blocking(block: SetNeeds) -> Self {
        Self { block, allow: SetNeeds::default() }
    }
}

impl SetNeeds {
    /// Is there anything at all?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A truth in which this is blocked, and nothing allowed.
pub struct BlockedAlone<'a, W>(pub &'a W);

impl<W: Wanted> Truth for BlockedAlone<'_, W> {
    fn block(&self) -> &impl Wanted {
        self.0
    }

    fn allow(&self) -> &impl Wanted {
        &Nothing
    }
}

/// Nobody wants anything.
pub struct Nothing;

impl Wanted for Nothing {
    fn blocks_address(&self, _: u32) -> bool {
        false
    }

    fn has_long_prefixes(&self) -> bool {
        false
    }

    fn is_within_wider(&self, _: Prefix4) -> bool {
        false
    }

    fn networks_within(&self, _: Prefix4) -> impl Iterator<Item = Prefix4> {
        iter::empty()
    }

    fn covers_six(&self, _: Prefix6, _: u8) -> bool {
        false
    }

    fn has_six_within(&self, _: Prefix6) -> bool {
        false
    }

    fn wants_six(&self, _: Prefix6) -> bool {
        false
    }
}

impl SixTargets for Nothing {
    fn six_after(&self, _: Option<Prefix6>) -> impl Iterator<Item = Prefix6> {
        iter::empty()
    }
}
