//! One set of sources: IPv4 addresses, IPv4 prefixes, and IPv6, each in its own map. Looks up whether a
//! source is in the set, and why.
//!
//! A set consists only of its block of settings and the words of its maps. A second set is another value of
//! the same type (`judge::Tables`). Kinds of sources that the settings switch off are not looked up.

mod labelled;

use crate::cuckoo::bucket::{Found, Lanes};
use crate::cuckoo::exact::Exact;
use crate::cuckoo::geometry::Geometry;
use crate::cuckoo::scheme::{Home, ONE_KIND, Token};
use crate::cuckoo::six::{self, Fingerprint, Kind, Longer, UpTo64};
use crate::hash::{self, Address6};
use crate::levels::{self, Below, Lengths, Told};
use crate::reason::Reason;
use crate::settings::{MOST_LENGTHS, SetSettings};
use crate::stash::{self, Stash};
use crate::{Words, networks};
pub use labelled::{
    LabelView, SetLabels, Sought6, held4, held6, label, label_of_address4, label_of_network4, label_of_six,
    label4, label6, seen_label4,
};

/// The number of lengths below 64 that the levels may leave to the table: /15 to /63.
const MOST_SHORTER: u32 = 49;

/// A set as the judge accesses it: each setting by one load, and each kind of source as words.
pub trait Set {
    /// The value of one setting.
    fn setting(&self, of: impl Fn(&SetSettings) -> &u64) -> u64;

    /// A setting smaller than 2^32. The program loads only its lower half, so that the verifier knows its
    /// width.
    #[inline(always)]
    fn small_setting(&self, of: impl Fn(&SetSettings) -> &u64) -> u32 {
        self.setting(of) as u32
    }

    /// The IPv4 addresses: a stash, followed by buckets.
    fn addresses(&self) -> Option<impl Words>;

    /// The IPv4 prefixes, as bits.
    fn networks(&self) -> Option<impl Words>;

    /// The levels of IPv6 prefixes.
    fn levels(&self) -> Option<impl Words>;

    /// The IPv6 prefixes that the levels do not hold: a stash, followed by buckets.
    fn six(&self) -> Option<impl Words>;

    /// Looks up the prefix of this length (`levels::Lengths`) that covers this network in the IPv6 table.
    /// Called for each length that may exist there.
    #[inline(always)]
    fn find_shorter6(&self, network: u64, bit: u64) -> Option<Found6>
    where
        Self: Sized,
    {
        find_shorter6(self, network, bit)
    }

    /// True if the IPv6 table holds the prefix of this address whose length beyond 64 has this number.
    #[inline(always)]
    fn holds_longer6(&self, address: Address6, number: u32) -> bool
    where
        Self: Sized,
    {
        holds_longer6(self, address, number)
    }
}

/// A set whose settings are in plain memory: the daemon's, and those of tests.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, W> {
    /// The settings that the judge would have.
    pub settings: &'a SetSettings,
    /// IPv4 addresses, if the set has any.
    pub addresses: Option<W>,
    /// IPv4 prefixes, if the set has any.
    pub networks: Option<W>,
    /// The levels of IPv6 prefixes, if the set has any.
    pub levels: Option<W>,
    /// IPv6 prefixes that the levels do not hold, if the set has any.
    pub six: Option<W>,
}

impl<W: Words> Set for View<'_, W> {
    fn setting(&self, of: impl Fn(&SetSettings) -> &u64) -> u64 {
        *of(self.settings)
    }

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

/// The result of a lookup that found an IPv4 address.
///
/// The address can be recomputed from it. A program therefore need not keep the address during the lookup,
/// for which it has no free register. A miss does not pay for the work that follows a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found4 {
    /// A prefix covers the address, which is kept here.
    Network(u32),
    /// The address itself is in the table: the result of the table's permutation, and the number of its label
    /// or [`UNSEEN`].
    Address(u64, u32),
}

/// The number of a label whose place was not seen: the entry is in the stash, or the table has no labels.
pub const UNSEEN: u32 = u32::MAX;

impl Found4 {
    /// The reason to drop a packet from this source.
    #[inline(always)]
    pub const fn reason(self) -> Reason {
        match self {
            Self::Network(_) => Reason::Network4,
            Self::Address(..) => Reason::Address4,
        }
    }

    /// The address that was looked up in `set`.
    #[inline(always)]
    pub fn address(self, set: &impl Set) -> u32 {
        match self {
            Self::Network(address) => address,
            Self::Address(shuffled, _) => exact4(set).unshuffle(shuffled) as u32,
        }
    }
}

/// The result of a lookup that found an IPv6 address. A miss need not keep anything for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found6 {
    /// The levels hold it, at this place.
    Told(Told),
    /// A prefix up to /64 in the table: the result of the table's permutation, and the number of its home or
    /// [`UNSEEN`].
    UpTo64(Kind, u64, u32),
    /// A longer prefix, or one that is not known.
    Other,
}

impl Found6 {
    /// The reason to drop a packet from this source.
    #[inline(always)]
    pub const fn reason(self) -> Reason {
        match self {
            Self::UpTo64(Kind::NET64, ..) => Reason::Net64,
            Self::Told(_) | Self::UpTo64(..) | Self::Other => Reason::Other6,
        }
    }
}

/// Looks up this IPv4 address in `set`.
#[inline(always)]
pub fn find4(set: &impl Set, address: u32) -> Option<Found4> {
    if set.setting(|settings| &settings.networks4) != 0 && is_in_network4(set, address) {
        return Some(Found4::Network(address));
    }
    if set.setting(|settings| &settings.addresses4.in_use) != 0 {
        return find_address4(set, address);
    }
    None
}

/// Looks up this IPv6 address in `set`. If the levels alone decide, nothing else is read.
#[inline(always)]
pub fn find6(set: &impl Set, address: Address6) -> Option<Found6> {
    if set.setting(|settings| &settings.six.last_level_start) == 0 {
        return None;
    }
    match below(set, address.high) {
        Below::Nothing => None,
        Below::Everything(told) => Some(Found6::Told(told)),
        Below::Some(lengths) if set.setting(|settings| &settings.six.has_table) != 0 => {
            find_in_table6(set, address, lengths)
        }
        Below::Some(_) => None,
    }
}

#[inline(always)]
fn below(set: &impl Set, network: u64) -> Below {
    let last_start = || set.setting(|settings| &settings.six.last_level_start);
    set.levels().map_or(Below::Nothing, |words| levels::below(&words, last_start, network))
}

#[inline(always)]
fn find_in_table6(set: &impl Set, address: Address6, lengths: Lengths) -> Option<Found6> {
    // A word may still name a length that is no longer in use.
    let to_64 = lengths.to_64 & set.setting(|settings| &settings.six.to_64);
    if to_64 & 1 != 0
        && let Some(found) = find_up_to_64(set, Kind::NET64, address.high)
    {
        return Some(found);
    }
    if let Some(found) = find_any_shorter6(set, address.high, to_64 & !1) {
        return Some(found);
    }
    (lengths.beyond_64 && holds_any_longer6(set, address)).then_some(Found6::Other)
}

#[inline(always)]
fn is_in_network4(set: &impl Set, address: u32) -> bool {
    set.networks().is_some_and(|bits| networks::covers(&bits, address))
}

/// Both buckets are loaded before either is compared, and one branch decides, so a hit costs as much as a
/// miss.
#[inline(always)]
fn find_address4(set: &impl Set, address: u32) -> Option<Found4> {
    let words = set.addresses()?;
    let scheme = exact4(set);
    let shuffled = scheme.shuffle(u64::from(address));
    if let Some(seen) = seen4(set, &words, &scheme, shuffled) {
        return Some(Found4::Address(shuffled, labelled::number_of_label4(set, seen)));
    }
    let token = Token { kind: ONE_KIND, bits: scheme.token_bits(shuffled) };
    stashed(&words, token).then_some(Found4::Address(shuffled, UNSEEN))
}

/// The place where an address was seen: the buckets of its two homes, and flags for the lanes that hold its
/// code.
#[derive(Clone, Copy, Debug)]
struct Seen4 {
    buckets: [u32; 2],
    flags: [u64; 2],
}

/// Finds the slot of a shuffled address in the table.
///
/// An address with remainder zero has no second home, and its code there would be that of an empty lane. This
/// is checked only if a code was seen, so a miss does not pay for it.
#[inline(always)]
fn seen4(set: &impl Set, words: &impl Words, scheme: &Exact, shuffled: u64) -> Option<Seen4> {
    let buckets = words.rest(stash::WORDS);
    let [first, second] = scheme.buckets_of_shuffled(shuffled);
    let (first_word, second_word) = (buckets.load(first), buckets.load(second));
    let (lanes, remainder) = (lanes4(set), scheme.remainder(shuffled));
    let [in_first, in_second] = lanes.seen(first_word, second_word, remainder);
    if !lanes.any([in_first, in_second]) {
        return None;
    }
    let flags = [in_first, if remainder == 0 { 0 } else { in_second }];
    lanes.any(flags).then_some(Seen4 { buckets: [first, second], flags })
}

/// Has no branch for each slot: the verifier would follow every one, for every length in use.
#[inline(always)]
fn find_up_to_64(set: &impl Set, kind: Kind, key: u64) -> Option<Found6> {
    let words = set.six()?;
    let scheme = up_to_64(set);
    let shuffled = scheme.shuffle(key);
    let homes = scheme.homes(kind, shuffled);
    let buckets = words.rest(stash::WORDS);
    let (first, second) = (in_bucket6(&buckets, homes[0]), in_bucket6(&buckets, homes[1]));
    if first.or(second).any() {
        return Some(Found6::UpTo64(kind, shuffled, labelled::number_of_home6(set, homes, first)));
    }
    stashed(&words, six::token(kind, shuffled)).then_some(Found6::UpTo64(kind, shuffled, UNSEEN))
}

/// Searches for each length whose bit is set (`levels::Lengths`), the longest first.
#[inline(always)]
fn find_any_shorter6(set: &impl Set, network: u64, lengths: u64) -> Option<Found6> {
    let (mut left, mut asked) = (lengths, 0);
    while left != 0 && asked < MOST_SHORTER && asked < set.small_setting(|settings| &settings.six.shorter) {
        let bit = left & left.wrapping_neg();
        let found = set.find_shorter6(network, bit);
        if found.is_some() {
            return found;
        }
        left ^= bit;
        asked += 1;
    }
    None
}

#[inline(always)]
fn holds_any_longer6(set: &impl Set, address: Address6) -> bool {
    let mut number = 0;
    while number < MOST_LENGTHS && (number as u64) < set.setting(|settings| &settings.six.longer) {
        if set.holds_longer6(address, number as u32) {
            return true;
        }
        number += 1;
    }
    false
}

/// Looks up the prefix of this length (`levels::Lengths`) that covers this network in the IPv6 table.
#[inline(always)]
pub fn find_shorter6(set: &impl Set, network: u64, bit: u64) -> Option<Found6> {
    find_up_to_64(set, Kind::SHORTER, six::shorter_key(network, bit))
}

/// True if the IPv6 table holds the longer prefix of this address whose length has this number in the
/// settings.
#[inline(always)]
pub fn holds_longer6(set: &impl Set, address: Address6, number: u32) -> bool {
    let Some(words) = set.six() else { return false };
    let key = fingerprint(set, address, number as usize);
    holds6(&words, longer6(set).homes(key)) || stashed(&words, six::longer_token(key.number))
}

/// The fingerprint of the prefix of `address` whose length has this number in the settings. Each part of the
/// hash loads its words when it needs them, because a program has too few registers to keep all of them.
#[inline(always)]
fn fingerprint(set: &impl Set, address: Address6, number: usize) -> Fingerprint {
    let mask = Address6 {
        high: set.setting(|settings| &settings.six.lengths[number].mask_high),
        low: set.setting(|settings| &settings.six.lengths[number].mask_low),
    };
    let address = address.masked(mask);
    let mut parts = [0; hash::PARTS];
    let mut part = 0;
    while part < hash::PARTS {
        let pairs = array(|word| set.setting(|settings| &settings.six.pairs[part][word]));
        let salt = set.setting(|settings| &settings.six.lengths[number].salts[part]);
        parts[part] = hash::part(pairs, salt, address);
        part += 1;
    }
    six::fingerprint(parts)
}

/// Like [`find_up_to_64`], has no branch for each slot.
#[inline(always)]
fn holds6(words: &impl Words, homes: [Home; 2]) -> bool {
    let buckets = words.rest(stash::WORDS);
    let mut found = Found::NONE;
    for home in homes {
        found = found.or(in_bucket6(&buckets, home));
    }
    found.any()
}

/// Whether the code of `home` is in its bucket.
#[inline(always)]
fn in_bucket6(buckets: &impl Words, home: Home) -> Found {
    const WORDS: u32 = Geometry::SMALLEST_SIX.bucket_words();
    let (mut found, mut word) = (Found::NONE, 0);
    while word < WORDS {
        found.note(buckets.load(home.bucket * WORDS + word), home.code);
        word += 1;
    }
    found
}

#[inline(always)]
fn stashed(words: &impl Words, token: Token) -> bool {
    let stash = Stash::new(words);
    stash.count() != 0 && stash.holds(token)
}

#[inline(always)]
fn exact4(set: &impl Set) -> Exact {
    // Products have 32 bits. If a factor were loaded as 64 bits, the program would have to truncate it.
    let key = array(|word| set.small_setting(|settings| &settings.addresses4.key[word]).into());
    let buckets = set.small_setting(|settings| &settings.addresses4.buckets);
    let remainder_mask = set.setting(|settings| &settings.addresses4.remainder_mask);
    let place_mask = set.setting(|settings| &settings.addresses4.place_mask);
    Exact::from_settings(32, key, buckets, remainder_mask, place_mask)
}

#[inline(always)]
fn lanes4(set: &impl Set) -> Lanes {
    Lanes::from_settings(
        set.setting(|settings| &settings.addresses4.lane_ones),
        set.setting(|settings| &settings.addresses4.lane_highs),
    )
}

#[inline(always)]
fn up_to_64(set: &impl Set) -> UpTo64 {
    UpTo64::new(array(|word| set.setting(|settings| &settings.six.key64[word])), buckets6(set))
}

#[inline(always)]
fn longer6(set: &impl Set) -> Longer {
    let factor = set.setting(|settings| &settings.six.key64[2]);
    Longer::new(factor, buckets6(set), set.small_setting(|settings| &settings.six.index_bits))
}

#[inline(always)]
fn buckets6(set: &impl Set) -> u32 {
    set.small_setting(|settings| &settings.six.buckets)
}

/// Reads an array of settings, such as a key. A plain loop, because the BPF compiler does not optimise other
/// forms.
#[inline(always)]
fn array<const WORDS: usize>(word: impl Fn(usize) -> u64) -> [u64; WORDS] {
    let mut array = [0; WORDS];
    let mut at = 0;
    while at < WORDS {
        array[at] = word(at);
        at += 1;
    }
    array
}
