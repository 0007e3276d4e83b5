//! Which list is it that a packet from a blocked source counts for? Asked on a hit only, and found again from what the hit
//! told: a program that looks for a source keeps nothing for the sake of this.
//!
//! Whoever moved or left meanwhile is counted for [`OTHER`].

use super::{Found4, MOST_SHORTER, Set, below, exact4, find4, find6, fingerprint, lanes4, longer6, up_to_64};
use crate::cuckoo::geometry::Geometry;
use crate::cuckoo::scheme::{Home, ONE_KIND, Token};
use crate::cuckoo::six::{self, Fingerprint};
use crate::hash::Address6;
use crate::labels::pages::{self, DIRECTORY4};
use crate::labels::{Bytes, Label, Labels, OTHER};
use crate::levels::{self, Below, Lengths};
use crate::packet::Source;
use crate::reason::Reason;
use crate::settings::MOST_LENGTHS;
use crate::stash::{self, Stash};
use crate::{Rest, Words};

/// The labels of a set, as the judge reaches them: of each kind of source in words of their own. Only where the settings of
/// the set say that there are any.
pub trait SetLabels {
    /// Of IPv4 addresses: of the stash, and of the slots behind it.
    fn addresses(&self) -> Option<impl Words>;

    /// Of IPv4 prefixes.
    fn networks(&self) -> Option<impl Words>;

    /// Of what is told of IPv6 from the top.
    fn levels(&self) -> Option<impl Words>;

    /// Of other IPv6 prefixes: of the stash, and of the slots behind it.
    fn six(&self) -> Option<impl Words>;

    /// The label of this one in the IPv6 table, or in its stash.
    #[inline(always)]
    fn of_six(&self, set: &impl Set, sought: Sought6) -> Option<Label>
    where
        Self: Sized,
    {
        label_of_six(set, self, sought)
    }
}

/// What is looked for in the IPv6 table: a /64 or a shorter prefix, shuffled already, or a longer one.
#[derive(Clone, Copy, Debug)]
pub enum Sought6 {
    /// A /64.
    Net64(u64),
    /// A shorter prefix.
    Shorter(u64),
    /// A longer one.
    Longer(Fingerprint),
}

/// The labels of a set in plain memory: those of the daemon, and those of tests.
#[derive(Clone, Copy, Debug)]
pub struct LabelView<W> {
    /// Of IPv4 addresses, if it has any.
    pub addresses: Option<W>,
    /// Of IPv4 prefixes, if it has any.
    pub networks: Option<W>,
    /// Of what is told of IPv6 from the top, if there are any.
    pub levels: Option<W>,
    /// Of other IPv6 prefixes, if it has any.
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

/// The label of a source that `set` holds.
pub fn label(set: &impl Set, labels: &impl SetLabels, source: Source) -> Option<Label> {
    match source {
        Source::V4(address) => Some(label4(set, labels, find4(set, address)?)),
        Source::V6(address) => {
            let is_net64 = find6(set, address)? == Reason::Net64;
            Some(label6(set, labels, address, is_net64))
        }
        Source::NotIp | Source::Malformed | Source::TooManyTags => None,
    }
}

/// The label of an IPv4 address that `set` holds so.
#[inline(always)]
pub fn label4(set: &impl Set, labels: &impl SetLabels, found: Found4) -> Label {
    match found {
        Found4::Network(address) => label_of_network4(set, labels, address),
        Found4::Address(shuffled) => label_of_address4(set, labels, shuffled),
    }
}

/// The same where all that is known of the hit is whether a prefix holds it.
#[inline(always)]
pub fn label_of_held4(set: &impl Set, labels: &impl SetLabels, address: u32, is_network: bool) -> Label {
    match is_network {
        true => label_of_network4(set, labels, address),
        false => label_of_address4(set, labels, exact4(set).shuffle(u64::from(address))),
    }
}

/// The same of one that a prefix up to /24 covers: that of the narrowest of these.
#[inline(always)]
pub fn label_of_network4(set: &impl Set, labels: &impl SetLabels, address: u32) -> Label {
    match (set.small_setting(|settings| &settings.network_pages), labels.networks()) {
        (0, _) | (_, None) => OTHER,
        (count, Some(labels)) => pages::label(&labels, DIRECTORY4, count - 1, address >> 16, address >> 8),
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

/// The label of an IPv6 address that `set` holds: by its /64, or by anything else.
#[inline(always)]
pub fn label6(set: &impl Set, labels: &impl SetLabels, address: Address6, is_net64: bool) -> Label {
    // Some verifiers look at this by itself, whether or not anything leads to it.
    if set.setting(|settings| &settings.six.last_level_word) == 0 {
        return OTHER;
    }
    if is_net64 {
        return label_of_net64(set, labels, address).unwrap_or(OTHER);
    }
    match below(set, address.high) {
        Below::Nothing => OTHER,
        Below::Everything => label_of_told6(set, labels, address.high),
        Below::Some(lengths) => label_in_table6(set, labels, address, lengths).unwrap_or(OTHER),
    }
}

#[inline(always)]
fn label_of_told6(set: &impl Set, labels: &impl SetLabels, network: u64) -> Label {
    let pages = set.small_setting(|settings| &settings.six.level_pages);
    let last_word = set.small_setting(|settings| &settings.six.last_level_word);
    match (set.levels(), labels.levels()) {
        (Some(words), Some(labels)) if pages != 0 => {
            levels::labels::told(&words, &labels, last_word, pages - 1, network)
        }
        _ => OTHER,
    }
}

#[inline(always)]
fn label_in_table6(
    set: &impl Set,
    labels: &impl SetLabels,
    address: Address6,
    lengths: Lengths,
) -> Option<Label> {
    let to_64 = lengths.to_64 & set.setting(|settings| &settings.six.to_64);
    if to_64 & 1 != 0
        && let Some(label) = label_of_net64(set, labels, address)
    {
        return Some(label);
    }
    if let Some(label) = label_of_shorter6(set, labels, address.high, to_64 & !1) {
        return Some(label);
    }
    if lengths.beyond_64 { label_of_longer6(set, labels, address) } else { None }
}

#[inline(always)]
fn label_of_net64(set: &impl Set, labels: &impl SetLabels, address: Address6) -> Option<Label> {
    labels.of_six(set, Sought6::Net64(up_to_64(set).shuffle(address.high)))
}

/// As [`holds_any_shorter6`](super::holds_any_shorter6) goes.
#[inline(always)]
fn label_of_shorter6(set: &impl Set, labels: &impl SetLabels, network: u64, lengths: u64) -> Option<Label> {
    let (mut left, mut asked) = (lengths, 0);
    while left != 0 && asked < MOST_SHORTER && asked < set.small_setting(|settings| &settings.six.shorter) {
        let bit = left & left.wrapping_neg();
        let shuffled = up_to_64(set).shuffle(six::shorter_key(network, bit));
        if let Some(label) = labels.of_six(set, Sought6::Shorter(shuffled)) {
            return Some(label);
        }
        left ^= bit;
        asked += 1;
    }
    None
}

/// As [`holds_any_longer6`](super::holds_any_longer6) goes.
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

/// The label of this one in the IPv6 table, or in its stash.
#[inline(always)]
pub fn label_of_six(set: &impl Set, labels: &impl SetLabels, sought: Sought6) -> Option<Label> {
    let (homes, token) = match sought {
        Sought6::Net64(shuffled) => (up_to_64(set).homes_of_net64(shuffled), six::net64_token(shuffled)),
        Sought6::Shorter(shuffled) => {
            (up_to_64(set).homes_of_shorter(shuffled), six::shorter_token(shuffled))
        }
        Sought6::Longer(key) => (longer6(set).homes(key), six::longer_token(key.number)),
    };
    label_at6(set, labels, homes, token)
}

/// The label of whoever stands in one of these homes, or in the stash.
#[inline(always)]
fn label_at6(set: &impl Set, labels: &impl SetLabels, homes: [Home; 2], token: Token) -> Option<Label> {
    const WORDS: u32 = Geometry::SMALLEST_SIX.bucket_words();
    if set.setting(|settings| &settings.six.labels) == 0 {
        return None;
    }
    let (words, labels) = (set.six()?, Bytes(labels.six()?));
    let buckets = words.rest(stash::WORDS);
    for home in homes {
        let (mut found, mut at, mut word) = (0, 0, 0);
        while word < WORDS {
            let is_it = is_equal(buckets.load(home.bucket * WORDS + word), home.code);
            found |= is_it;
            at |= is_it * word;
            word += 1;
        }
        if found != 0 {
            return Some(Rest::new(labels, stash::LABELS).label(home.bucket * WORDS + at));
        }
    }
    let stash = Stash::labelled(&words, &labels);
    if stash.count() == 0 { None } else { stash.label_of(token) }
}

/// 1 if they are, without a branch; else 0.
#[inline(always)]
const fn is_equal(one: u64, other: u64) -> u32 {
    let difference = one ^ other;
    ((difference.wrapping_sub(1) & !difference) >> 63) as u32
}
