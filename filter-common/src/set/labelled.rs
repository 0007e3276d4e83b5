//! Finds the list that counts a packet from a blocked source. Runs only on a hit, and uses the place that the
//! lookup reported. If the lookup did not see the place, it is searched again.
//!
//! An entry that moved or was removed in the meantime is counted for [`OTHER`].

use super::{
    Found4, Found6, MOST_SHORTER, Seen4, Set, UNSEEN, below, exact4, find4, find6, fingerprint, lanes4,
    longer6, seen4, up_to_64,
};
use crate::Words;
use crate::cuckoo::bucket::Found;
use crate::cuckoo::geometry::Geometry;
use crate::cuckoo::scheme::{Home, ONE_KIND, Token};
use crate::cuckoo::six::{self, Fingerprint, Kind, UpTo64};
use crate::hash::Address6;
use crate::labels::pages::{self, DIRECTORY4};
use crate::labels::{self, Label, LabelBytes, Labels, OTHER};
use crate::levels::{self, Below, Lengths, Told};
use crate::packet::Source;
use crate::settings::MOST_LENGTHS;
use crate::stash::{self, Stash};

/// The labels of a set as the judge accesses them: separate words for each kind of source. Read only if the
/// settings of the set say that there are labels.
pub trait SetLabels {
    /// The labels of IPv4 addresses: those of the stash, then those of the slots.
    fn addresses(&self) -> Option<impl Words>;

    /// The labels of IPv4 prefixes.
    fn networks(&self) -> Option<impl Words>;

    /// The labels of prefixes that the levels hold.
    fn levels(&self) -> Option<impl Words>;

    /// The labels of other IPv6 prefixes: those of the stash, then those of the slots.
    fn six(&self) -> Option<impl Words>;

    /// The label of this prefix in the IPv6 table or its stash.
    #[inline(always)]
    fn of_six(&self, set: &impl Set, sought: Sought6) -> Option<Label>
    where
        Self: Sized,
    {
        label_of_six(set, self, sought)
    }
}

/// A prefix to search in the IPv6 table.
#[derive(Clone, Copy, Debug)]
pub enum Sought6 {
    /// A shuffled prefix up to /64.
    UpTo64(Kind, u64),
    /// A prefix longer than /64.
    Longer(Fingerprint),
}

/// The labels of a set in plain memory: the daemon's, and those of tests.
#[derive(Clone, Copy, Debug)]
pub struct LabelView<W> {
    /// Labels of IPv4 addresses, if there are any.
    pub addresses: Option<W>,
    /// Labels of IPv4 prefixes, if there are any.
    pub networks: Option<W>,
    /// Labels of prefixes that the levels hold, if there are any.
    pub levels: Option<W>,
    /// Labels of other IPv6 prefixes, if there are any.
    pub six: Option<W>,
}

impl<W: Words> SetLabels for LabelView<W> {
    fn addresses(&self) -> Option<impl Words> {
        self.addresses.as_ref()
    }

    fn networks(&self) -> Option<impl Words> {
        self.networks.as_ref()
    }

    fn levels(&self) -> Option<impl Words> {
        self.levels.as_ref()
    }

    fn six(&self) -> Option<impl Words> {
        self.six.as_ref()
    }
}

/// The label of a source, if `set` holds it.
pub fn label(set: &impl Set, labels: &impl SetLabels, source: Source) -> Option<Label> {
    match source {
        Source::V4(address) => Some(label4(set, labels, find4(set, address)?)),
        Source::V6(address) => Some(label6(set, labels, address, find6(set, address)?)),
        Source::NotIp | Source::Malformed | Source::TooManyTags => None,
    }
}

/// The label of an IPv4 address that `find4` found.
#[inline(always)]
pub fn label4(set: &impl Set, labels: &impl SetLabels, found: Found4) -> Label {
    match found {
        Found4::Network(address) => label_of_network4(set, labels, address),
        Found4::Address(shuffled, UNSEEN) => label_of_address4(set, labels, shuffled),
        Found4::Address(_, number) => seen_label4(set, labels, number),
    }
}

/// Rebuilds the result of `find4`, when only the kind of the hit is still known.
#[inline(always)]
pub fn held4(set: &impl Set, address: u32, is_network: bool) -> Found4 {
    match is_network {
        true => Found4::Network(address),
        false => Found4::Address(exact4(set).shuffle(u64::from(address)), UNSEEN),
    }
}

/// Rebuilds the result of `find6`, when it is only known whether the /64 matched or anything else.
#[inline(always)]
pub fn held6(set: &impl Set, address: Address6, is_net64: bool) -> Found6 {
    match is_net64 {
        true => Found6::UpTo64(Kind::NET64, up_to_64(set).shuffle(address.high), UNSEEN),
        false => Found6::Other,
    }
}

/// The label of the longest prefix up to /24 that covers this IPv4 address.
#[inline(always)]
pub fn label_of_network4(set: &impl Set, labels: &impl SetLabels, address: u32) -> Label {
    match (set.small_setting(|settings| &settings.network_pages), labels.networks()) {
        (0, _) | (_, None) => OTHER,
        (count, Some(labels)) => pages::label(&labels, DIRECTORY4, count, address >> 16, address >> 8),
    }
}

/// The label with this number among those of the IPv4 table.
#[inline(always)]
pub fn seen_label4(set: &impl Set, labels: &impl SetLabels, number: u32) -> Label {
    beside(labels.addresses(), set.small_setting(|settings| &settings.addresses4.label_words), number)
}

/// The label with this number, if it is in the first `words` words. Numbers are sums, whose size no verifier
/// can bound well, so this comparison shows it.
#[inline(always)]
fn beside(labels: Option<impl Words>, words: u32, number: u32) -> Label {
    match labels {
        Some(labels) if labels::word_of(number) < words => LabelBytes(labels).label(number),
        _ => OTHER,
    }
}

/// The label of a shuffled address in the IPv4 table or its stash.
#[inline(always)]
pub fn label_of_address4(set: &impl Set, labels: &impl SetLabels, shuffled: u64) -> Label {
    if set.setting(|settings| &settings.addresses4.label_words) == 0 {
        return OTHER;
    }
    let Some(words) = set.addresses() else { return OTHER };
    let scheme = exact4(set);
    if let Some(seen) = seen4(set, &words, &scheme, shuffled) {
        return seen_label4(set, labels, number_of_label4(set, seen));
    }
    let Some(labels) = labels.addresses() else { return OTHER };
    let token = Token { kind: ONE_KIND, bits: scheme.token_bits(shuffled) };
    Stash::labelled(&words, &LabelBytes(labels)).label_of(token).unwrap_or(OTHER)
}

/// The number of the label of the entry seen in one of these buckets. Computed only after a hit.
#[inline(always)]
pub(super) fn number_of_label4(set: &impl Set, Seen4 { buckets: [first, second], flags }: Seen4) -> u32 {
    if set.setting(|settings| &settings.addresses4.label_words) == 0 {
        return UNSEEN;
    }
    let lanes = lanes4(set);
    let (flag, not_in_first) = lanes.lowest(flags);
    let bucket = first ^ (first ^ second) & not_in_first as u32;
    let last_lane = set.small_setting(|settings| &settings.addresses4.last_lane);
    let lanes_before = bucket * set.small_setting(|settings| &settings.addresses4.lanes);
    lanes_before + lanes.up_to(flag, last_lane) + (stash::LABELS - 1)
}

/// The label of an IPv6 address that `find6` found.
#[inline(always)]
pub fn label6(set: &impl Set, labels: &impl SetLabels, address: Address6, found: Found6) -> Label {
    if set.setting(|settings| &settings.six.last_level_start) == 0 {
        return OTHER;
    }
    match found {
        Found6::Told(told) => label_of_told6(set, labels, address.high, told),
        Found6::UpTo64(kind, shuffled, UNSEEN) => {
            labels.of_six(set, Sought6::UpTo64(kind, shuffled)).unwrap_or(OTHER)
        }
        Found6::UpTo64(kind, shuffled, home) => seen_label6(set, labels, (kind, shuffled), home),
        Found6::Other => label_of_other6(set, labels, address),
    }
}

#[inline(always)]
fn label_of_told6(set: &impl Set, labels: &impl SetLabels, network: u64, told: Told) -> Label {
    let pages = set.small_setting(|settings| &settings.six.level_pages);
    let last_start = set.setting(|settings| &settings.six.last_level_start);
    match labels.levels() {
        Some(labels) if pages != 0 => levels::labels::told(&labels, last_start, pages, network, told),
        _ => OTHER,
    }
}

/// The number of the home in which an entry was found: the first one if it was found `in_first`, else the
/// second. Computed only after a hit.
#[inline(always)]
pub fn number_of_home6(set: &impl Set, [first, second]: [Home; 2], in_first: Found) -> u32 {
    if set.setting(|settings| &settings.six.label_words) == 0 {
        return UNSEEN;
    }
    let is_first = in_first.number();
    let bucket = second.bucket ^ (first.bucket ^ second.bucket) & is_first.wrapping_neg();
    bucket << 1 | is_first
}

/// The label of the entry of this kind in the home with this number. Unless it was removed, it is in one of
/// the four slots.
#[inline(always)]
fn seen_label6(set: &impl Set, labels: &impl SetLabels, (kind, shuffled): (Kind, u64), home: u32) -> Label {
    let (bucket, is_first) = (home >> 1, home & 1);
    let Some(words) = set.six() else { return OTHER };
    if bucket >= set.small_setting(|settings| &settings.six.buckets) {
        return OTHER;
    }
    let (code, buckets) = (UpTo64::code(kind, shuffled, is_first), words.rest(stash::WORDS));
    let (_, at) = slot_of6(&buckets, Home { bucket, code });
    let words = set.small_setting(|settings| &settings.six.label_words);
    beside(labels.six(), words, bucket * SLOTS6 + at + stash::LABELS)
}

/// The number of slots in a bucket of the IPv6 table. Each slot is a word.
const SLOTS6: u32 = Geometry::SMALLEST_SIX.bucket_words();

/// Whether the code of `home` is in its bucket, and in which slot. Uses no branch.
#[inline(always)]
fn slot_of6(buckets: &impl Words, home: Home) -> (bool, u32) {
    let (mut found, mut at, mut slot) = (0, 0, 0);
    while slot < SLOTS6 {
        let is_it = is_equal(buckets.load(home.bucket * SLOTS6 + slot), home.code);
        found |= is_it;
        at |= is_it * slot;
        slot += 1;
    }
    (found != 0, at)
}

#[inline(always)]
fn label_of_other6(set: &impl Set, labels: &impl SetLabels, address: Address6) -> Label {
    match below(set, address.high) {
        Below::Nothing => OTHER,
        Below::Everything(told) => label_of_told6(set, labels, address.high, told),
        Below::Some(lengths) => label_in_table6(set, labels, address, lengths).unwrap_or(OTHER),
    }
}

#[inline(always)]
fn label_in_table6(
    set: &impl Set,
    labels: &impl SetLabels,
    address: Address6,
    lengths: Lengths,
) -> Option<Label> {
    let shorter = lengths.to_64 & set.setting(|settings| &settings.six.to_64) & !1;
    if let Some(label) = label_of_shorter6(set, labels, address.high, shorter) {
        return Some(label);
    }
    if lengths.beyond_64 { label_of_longer6(set, labels, address) } else { None }
}

/// Searches in the same order as [`find_any_shorter6`](super::find_any_shorter6).
#[inline(always)]
fn label_of_shorter6(set: &impl Set, labels: &impl SetLabels, network: u64, lengths: u64) -> Option<Label> {
    let (mut left, mut asked) = (lengths, 0);
    while left != 0 && asked < MOST_SHORTER && asked < set.small_setting(|settings| &settings.six.shorter) {
        let bit = left & left.wrapping_neg();
        let shuffled = up_to_64(set).shuffle(six::shorter_key(network, bit));
        if let Some(label) = labels.of_six(set, Sought6::UpTo64(Kind::SHORTER, shuffled)) {
            return Some(label);
        }
        left ^= bit;
        asked += 1;
    }
    None
}

/// Searches in the same order as [`holds_any_longer6`](super::holds_any_longer6).
#[inline(always)]
fn label_of_longer6(set: &impl Set, labels: &impl SetLabels, address: Address6) -> Option<Label> {
    let mut number = 0;
    while number < MOST_LENGTHS && (number as u64) < set.setting(|settings| &settings.six.longer) {
        if let Some(label) = labels.of_six(set, Sought6::Longer(fingerprint(set, address, number))) {
            return Some(label);
        }
        number += 1;
    }
    None
}

/// The label of this prefix in the IPv6 table or its stash.
#[inline(always)]
pub fn label_of_six(set: &impl Set, labels: &impl SetLabels, sought: Sought6) -> Option<Label> {
    let (homes, token) = match sought {
        Sought6::UpTo64(kind, shuffled) => (up_to_64(set).homes(kind, shuffled), six::token(kind, shuffled)),
        Sought6::Longer(key) => (longer6(set).homes(key), six::longer_token(key.number)),
    };
    label_at6(set, labels, homes, token)
}

/// The label of the entry in one of these homes or in the stash.
#[inline(always)]
fn label_at6(set: &impl Set, labels: &impl SetLabels, homes: [Home; 2], token: Token) -> Option<Label> {
    let label_words = set.small_setting(|settings| &settings.six.label_words);
    if label_words == 0 {
        return None;
    }
    let words = set.six()?;
    let buckets = words.rest(stash::WORDS);
    for home in homes {
        let (is_there, at) = slot_of6(&buckets, home);
        if is_there {
            return Some(beside(labels.six(), label_words, home.bucket * SLOTS6 + at + stash::LABELS));
        }
    }
    let stash = Stash::labelled(&words, LabelBytes(labels.six()?));
    if stash.count() == 0 { None } else { stash.label_of(token) }
}

/// 1 if both are equal, else 0, without a branch.
#[inline(always)]
const fn is_equal(one: u64, other: u64) -> u32 {
    let difference = one ^ other;
    ((difference.wrapping_sub(1) & !difference) >> 63) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::Table;
    use crate::cuckoo::exact::{self, Exact};
    use crate::cuckoo::scheme::Scheme;
    use crate::labels::LabelsMut;
    use crate::set::View;
    use crate::settings::{AddressSettings, SetSettings};
    use crate::{Rest, WordsMut};
    use core::cell::Cell;
    use std::vec;

    /// The code that this address would have in its second home is that of an empty slot.
    #[test]
    fn single_home_address_ignores_empty_slots() {
        let (geometry, key) = (Geometry::exact4(5 << 18), exact::key([3, 5, 7]));
        let scheme = Exact::new(32, key, geometry);
        let lanes = geometry.lanes();
        let addresses4 = AddressSettings {
            in_use: 1,
            buckets: geometry.buckets().into(),
            remainder_mask: scheme.remainder_mask(),
            place_mask: scheme.place_mask(),
            lane_ones: lanes.ones(),
            lane_highs: lanes.highs(),
            label_words: labels::words_for(stash::LABELS + geometry.slots() as u32).into(),
            lanes: lanes.count().into(),
            last_lane: lanes.last().into(),
            key,
        };
        let settings = SetSettings { addresses4, ..SetSettings::OFF };
        let words = vec![Cell::new(0); (stash::WORDS + geometry.words()) as usize];
        let beside = vec![Cell::new(0); addresses4.label_words as usize];
        let (words, beside) = (&words[..], &beside[..]);
        let set =
            View { settings: &settings, addresses: Some(words), networks: None, levels: None, six: None };
        let labels = LabelView { addresses: Some(beside), networks: None, levels: None, six: None };
        let address = scheme.unshuffle(9 << lanes.bits()) as u32;
        assert_eq!(label(&set, &labels, Source::V4(address)), None, "all slots are empty");

        let table = Table::new(scheme, geometry, Rest::new(words, stash::WORDS));
        let [home, other] = table.scheme().homes(address.into());
        assert_eq!(home, other, "its remainder is zero");
        let slot = table.slot(home.bucket, 2);
        table.put(slot, home.code);
        LabelBytes(beside).write(stash::LABELS + table.number_of(slot), 77);
        assert_eq!(label(&set, &labels, Source::V4(address)), Some(77));
        words.store(stash::WORDS + slot.word, 0);
        assert_eq!(label(&set, &labels, Source::V4(address)), None);
    }
}
