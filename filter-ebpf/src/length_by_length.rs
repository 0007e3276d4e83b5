//! A set that is asked for each length of IPv6 prefixes by functions of their own. A verifier walks these once, and not for
//! each of up to 95 lengths: what is asked on every packet does without, and costs more of its budget.

use filter_common::Words;
use filter_common::hash::Address6;
use filter_common::set::{self, Found6, Set};
use filter_common::settings::{MOST_LENGTHS, SetSettings};

use crate::maps::SetMaps;

/// The set, and its functions.
pub struct LengthByLength<S, L> {
    pub set: SetMaps,
    /// [`shorter`].
    pub shorter: S,
    /// [`longer`].
    pub longer: L,
}

/// What the function answers that is asked for a length up to 64: whether `set` holds it.
#[inline(always)]
pub fn shorter(set: &impl Set, network: u64, bit: u64) -> u32 {
    (has_table(set) && set::find_shorter6(set, network, bit).is_some()).into()
}

/// The same beyond 64.
#[inline(always)]
pub fn longer(set: &impl Set, address: Address6, number: u32) -> u32 {
    // A verifier that comes here alone does not know that it is a length's.
    (has_table(set) && set::holds_longer6(set, address, number & (MOST_LENGTHS - 1) as u32)).into()
}

const _: () = assert!(MOST_LENGTHS.is_power_of_two());

/// Older kernels look at functions that nobody calls, too, and then there is no such map.
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
