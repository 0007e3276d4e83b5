//! The whole decision about a packet: `judge`, and the reasons it can give.

use crate::cuckoo::bucket::{Found, Lanes};
use crate::cuckoo::exact::Exact;
use crate::cuckoo::six::{OTHER_STASH, STASHES, Six, fingerprint};
use crate::hash::{Address6, Hash};
use crate::packet::{self, Frame, Source};
use crate::settings::{self, Setting};
use crate::stash::{self, Stash};
use crate::{Words, cuckoo, networks};

/// What becomes of a packet, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on to the kernel's stack.
    Pass(Reason),
    /// It is dropped, unless the filter only counts.
    Drop(Reason),
}

/// Why. The numbers are indices of the counters and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Reason {
    /// Its source is on no list.
    Unlisted = 0,
    /// It is neither IPv4 nor IPv6.
    NotIp = 1,
    /// It ends too early, or its header contradicts its type.
    Malformed = 2,
    /// It has more VLAN tags than are looked behind.
    TooManyTags = 3,
    /// Its IPv4 address is listed.
    Address4 = 4,
    /// An IPv4 prefix up to /24 that covers it is listed.
    Network4 = 5,
    /// The IPv6 /64 it comes from is listed.
    Net64 = 6,
    /// Its IPv6 address, or a prefix of another length that covers it, is listed.
    Other6 = 7,
    /// Its IPv6 source is listed, but it is neighbour discovery: without that, whoever is not listed could not be reached
    /// on the same link either.
    Neighbour = 8,
}

impl Reason {
    /// Every reason, in the order of the counters.
    pub const ALL: [Self; 9] = [
        Self::Unlisted,
        Self::NotIp,
        Self::Malformed,
        Self::TooManyTags,
        Self::Address4,
        Self::Network4,
        Self::Net64,
        Self::Other6,
        Self::Neighbour,
    ];

    /// Its stable name, for `stats` and whoever reads it by machine.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unlisted => "unlisted",
            Self::NotIp => "not_ip",
            Self::Malformed => "malformed",
            Self::TooManyTags => "overtagged",
            Self::Address4 => "ipv4_address",
            Self::Network4 => "ipv4_prefix",
            Self::Net64 => "ipv6_64",
            Self::Other6 => "ipv6_other",
            Self::Neighbour => "neighbour",
        }
    }

    /// What it means for the packet.
    #[inline(always)]
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::Unlisted | Self::NotIp | Self::Malformed | Self::TooManyTags | Self::Neighbour => {
                Verdict::Pass(self)
            }
            Self::Address4 | Self::Network4 | Self::Net64 | Self::Other6 => Verdict::Drop(self),
        }
    }
}

impl Verdict {
    /// Why.
    #[inline(always)]
    pub const fn reason(self) -> Reason {
        match self {
            Self::Pass(reason) | Self::Drop(reason) => reason,
        }
    }
}

/// Everything a judge looks things up in.
pub trait Tables {
    /// One of its settings.
    fn setting(&self, setting: Setting) -> u64;
    /// One of those that are smaller than 2^32.
    #[inline(always)]
    fn small_setting(&self, setting: Setting) -> u32 {
        self.setting(setting) as u32
    }
    /// IPv4 addresses: a stash, and buckets behind it.
    fn addresses(&self) -> Option<impl Words>;
    /// IPv4 prefixes: bits.
    fn networks(&self) -> Option<impl Words>;
    /// IPv6 prefixes: two stashes, and buckets behind them.
    fn six(&self) -> Option<impl Words>;
}

/// What becomes of `frame`?
#[inline(always)]
pub fn judge(frame: &(impl Frame + ?Sized), tables: &impl Tables) -> Verdict {
    match judge_source(packet::source(frame), tables) {
        Verdict::Drop(Reason::Net64 | Reason::Other6) if packet::is_neighbour_discovery(&frame.anew()) => {
            Reason::Neighbour.verdict()
        }
        verdict @ (Verdict::Pass(_) | Verdict::Drop(_)) => verdict,
    }
}

/// What becomes of a frame from `source`?
#[inline(always)]
pub fn judge_source(source: Source, tables: &impl Tables) -> Verdict {
    let reason = match source {
        Source::V4(address) => judge4(address, tables),
        Source::V6(address) => judge6(address, tables),
        Source::NotIp => Reason::NotIp,
        Source::Malformed => Reason::Malformed,
        Source::TooManyTags => Reason::TooManyTags,
    };
    reason.verdict()
}

#[inline(always)]
fn judge4(address: u32, tables: &impl Tables) -> Reason {
    if tables.setting(settings::NETWORKS4) != 0 && is_in_network4(address, tables) {
        return Reason::Network4;
    }
    if tables.setting(settings::ADDRESSES4) != 0 && holds_address4(address, tables) {
        return Reason::Address4;
    }
    Reason::Unlisted
}

#[inline(always)]
fn is_in_network4(address: u32, tables: &impl Tables) -> bool {
    tables.networks().is_some_and(|bits| networks::covers(&bits, address))
}

/// Both buckets are loaded before either is compared, and one branch decides: a hit costs what a miss costs.
#[inline(always)]
fn holds_address4(address: u32, tables: &impl Tables) -> bool {
    let Some(words) = tables.addresses() else { return false };
    let buckets = words.rest(stash::WORDS);
    let scheme = exact4(tables);
    let shuffled = scheme.shuffle(u64::from(address));
    let [first, second] = scheme.homes_of_shuffled(shuffled);
    let (first_word, second_word) = (buckets.load(first.bucket), buckets.load(second.bucket));
    lanes4(tables).either((first_word, first.code), (second_word, second.code))
        || stashed(&words, 0, scheme.token_bits(shuffled))
}

#[inline(always)]
fn judge6(address: Address6, tables: &impl Tables) -> Reason {
    if tables.setting(settings::NETS64) != 0 && holds_net64(address, tables) {
        return Reason::Net64;
    }
    if tables.setting(settings::LENGTHS6) != 0 && holds_other6(address, tables) {
        return Reason::Other6;
    }
    Reason::Unlisted
}

#[inline(always)]
fn holds_net64(address: Address6, tables: &impl Tables) -> bool {
    let Some(words) = tables.six() else { return false };
    let scheme = six(tables);
    let shuffled = scheme.exact().shuffle(address.high);
    holds6(tables, &words, scheme.exact().homes_of_shuffled(shuffled)) || stashed(&words, 0, shuffled)
}

#[inline(always)]
fn holds_other6(address: Address6, tables: &impl Tables) -> bool {
    let Some(words) = tables.six() else { return false };
    let (scheme, hash) = (six(tables), Hash::new(key(tables, settings::KEY6)));
    let mut number = 0;
    while number < settings::MOST_LENGTHS && (number as u64) < tables.setting(settings::LENGTHS6) {
        let at = settings::LENGTH + number * settings::LENGTH_WORDS;
        let mask = Address6 { high: tables.setting(at + 1), low: tables.setting(at + 2) };
        let key = fingerprint(&hash, address.masked(mask), tables.setting(at));
        if holds6(tables, &words, scheme.hashed().homes_of(key)) || stashed(&words, OTHER_STASH, key.code) {
            return true;
        }
        number += 1;
    }
    false
}

/// Without a branch for each slot: the verifier would follow every one of them, for every length in use. In a loop it
/// forgets what it knew of the index's width, so it is told again.
#[inline(always)]
fn holds6(tables: &impl Tables, words: &impl Words, homes: [cuckoo::scheme::Home; 2]) -> bool {
    const WORDS: u32 = cuckoo::geometry::Geometry::six(7).bucket_words();
    let buckets = words.rest(STASHES * stash::WORDS);
    let mut found = Found::NONE;
    for home in homes {
        let first = (home.bucket & tables.small_setting(settings::LAST_BUCKET6)) * WORDS;
        let mut word = 0;
        while word < WORDS {
            found.note(buckets.load(first + word), home.code);
            word += 1;
        }
    }
    found.any()
}

#[inline(always)]
fn stashed(words: &impl Words, number: u32, bits: u64) -> bool {
    let stash = Stash::new(words, number);
    stash.count() != 0 && stash.holds(bits)
}

#[inline(always)]
fn exact4(tables: &impl Tables) -> Exact {
    Exact::new(32, key(tables, settings::KEY4), tables.small_setting(settings::INDEX_BITS4), 1)
}

#[inline(always)]
fn lanes4(tables: &impl Tables) -> Lanes {
    Lanes::from_settings(tables.setting(settings::LANE_ONES4), tables.setting(settings::LANE_HIGHS4))
}

#[inline(always)]
fn six(tables: &impl Tables) -> Six {
    Six::new(key(tables, settings::KEY64), tables.small_setting(settings::INDEX_BITS6))
}

#[inline(always)]
fn key<const WORDS: usize>(tables: &impl Tables, first: Setting) -> [u64; WORDS] {
    let mut key = [0; WORDS];
    let mut word = 0;
    while word < WORDS {
        key[word] = tables.setting(first + word);
        word += 1;
    }
    key
}
