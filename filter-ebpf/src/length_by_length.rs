//! A set that looks up each length of IPv6 prefixes in functions of its own.
//!
//! The verifier walks such a function once instead of once for each of up to 95 lengths. The set that is
//! searched on every packet does without these functions, which costs more of the verifier's budget.

use filter_common::Words;
use filter_common::hash::Address6;
use filter_common::set::{self, Found6, Set};
use filter_common::settings::{MOST_LENGTHS, SetSettings};

use crate::tables::SetMaps;

/// The set, and the functions that look up one length.
pub struct LengthByLength<S, L> {
    pub set: SetMaps,
    /// The function that calls [`shorter`].
    pub shorter: S,
    /// The function that calls [`longer`].
    pub longer: L,
}

/// Returns 1 if `set` holds a prefix of this length, which is at most 64.
#[inline(always)]
pub fn shorter(set: &impl Set, network: u64, bit: u64) -> u32 {
    (has_table(set) && set::find_shorter6(set, network, bit).is_some()).into()
}

/// Returns 1 if `set` holds a prefix of this length, which is above 64.
#[inline(always)]
pub fn longer(set: &impl Set, address: Address6, number: u32) -> u32 {
    // The verifier also checks this function alone, and then does not know that this is the number of a
    // length.
    (has_table(set) && set::holds_longer6(set, address, number & (MOST_LENGTHS - 1) as u32)).into()
}

const _: () = assert!(MOST_LENGTHS.is_power_of_two());

/// Older kernels also verify functions that are never called. If the set has no table, there is no such
/// map.
#[inline(always)]
fn has_table(set: &impl Set) -> bool {
    set.setting(|settings| &settings.six.has_table) != 0
}

impl<S: Fn(u64, u64) -> u32, L: Fn(u64, u64, u32) -> u32> Set for LengthByLength<S, L> {
    #[inline(always)]
    fn setting(&self, of: impl Fn(&SetSettings) -> &u64) -> u64 {
        self.set.setting(of)
    }

    #[inline(always)]
    fn small_setting(&self, of: impl Fn(&SetSettings) -> &u64) -> u32 {
        self.set.small_setting(of)
    }

    #[inline(always)]
    fn addresses(&self) -> Option<impl Words> {
        self.set.addresses()
    }

    #[inline(always)]
    fn networks(&self) -> Option<impl Words> {
        self.set.networks()
    }

    #[inline(always)]
    fn levels(&self) -> Option<impl Words> {
        self.set.levels()
    }

    #[inline(always)]
    fn six(&self) -> Option<impl Words> {
        self.set.six()
    }

    #[inline(always)]
    fn find_shorter6(&self, network: u64, bit: u64) -> Option<Found6> {
        ((self.shorter)(network, bit) != 0).then_some(Found6::Other)
    }

    #[inline(always)]
    fn holds_longer6(&self, address: Address6, number: u32) -> bool {
        (self.longer)(address.high, address.low, number) != 0
    }
}
