//! Which list is it that a packet from a blocked source counts for? Asked on a hit only, and found again from what the hit
//! told: a program that looks for a source keeps nothing for the sake of this.
//!
//! Whoever moved or left meanwhile is counted for [`OTHER`].

use super::{Found4, Set, exact4, find4, find6, lanes4};
use crate::cuckoo::scheme::{ONE_KIND, Token};
use crate::labels::{Bytes, Label, Labels, OTHER};
use crate::packet::Source;
use crate::stash::{self, Stash};
use crate::{Rest, Words};

/// The labels of a set, as the judge reaches them: of each kind of source in words of their own. Only where the settings of
/// the set say that there are any.
pub trait SetLabels {
    /// Of IPv4 addresses: of the stash, and of the slots behind it.
    fn addresses(&self) -> Option<impl Words>;
}

/// The labels of a set in plain memory: those of the daemon, and those of tests.
#[derive(Clone, Copy, Debug)]
pub struct LabelView<W> {
    /// Of IPv4 addresses, if it has any.
    pub addresses: Option<W>,
}

impl<W: Words> SetLabels for LabelView<W> {
    fn addresses(&self) -> Option<impl Words> {
        self.addresses.as_ref()
    }
}

/// The label of a source that `set` holds.
pub fn label(set: &impl Set, labels: &impl SetLabels, source: Source) -> Option<Label> {
    match source {
        Source::V4(address) => Some(label4(set, labels, find4(set, address)?)),
        Source::V6(address) => find6(set, address).map(|_| OTHER),
        Source::NotIp | Source::Malformed | Source::TooManyTags => None,
    }
}

/// The label of an IPv4 address that `set` holds so.
#[inline(always)]
pub fn label4(set: &impl Set, labels: &impl SetLabels, found: Found4) -> Label {
    match found {
        Found4::Network(_) => OTHER,
        Found4::Address(shuffled) => label_of_address4(set, labels, shuffled),
    }
}

/// The same of one that stands in the table, which is what its scheme makes of it.
#[inline(always)]
pub fn label_of_address4(set: &impl Set, labels: &impl SetLabels, shuffled: u64) -> Label {
    if set.setting(|settings| &settings.addresses4.labels) == 0 {
        return OTHER;
    }
    let (Some(words), Some(labels)) = (set.addresses(), labels.addresses()) else { return OTHER };
    let (scheme, lanes) = (exact4(set), lanes4(set));
    let [first, second] = scheme.homes_of_shuffled(shuffled);
    let buckets = words.rest(stash::WORDS);
    let in_first = lanes.matches(buckets.load(first.bucket), first.code);
    let in_second = lanes.matches(buckets.load(second.bucket), second.code);
    // Without a branch: no processor foresees in which home somebody stands.
    let not_in_first = ((in_first | in_first.wrapping_neg()) >> 63).wrapping_sub(1);
    let found = in_first | in_second & not_in_first;
    let labels = Bytes(labels);
    if found == 0 {
        let token = Token { kind: ONE_KIND, bits: scheme.token_bits(shuffled) };
        return Stash::labelled(&words, &labels).label_of(token).unwrap_or(OTHER);
    }
    let bucket = first.bucket ^ (first.bucket ^ second.bucket) & not_in_first as u32;
    let last = set.small_setting(|settings| &settings.addresses4.last_lane);
    let lanes_before = bucket * set.small_setting(|settings| &settings.addresses4.lanes);
    Rest::new(labels, stash::LABELS - 1).label(lanes_before + lanes.up_to(found, last))
}
