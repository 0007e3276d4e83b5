//! What a judge is specialised by: constants in its `.rodata`, set once when it is loaded.
//!
//! The verifier knows their values and removes what they switch off, so an unlisted packet does not pay for
//! features that are not in use. One flat array of words, read one at a time.

use crate::cuckoo::exact;
use crate::hash;

/// The words of one judge's settings.
pub type Settings = [u64; WORDS];

/// Where a setting stands: the index of its first word.
pub type Setting = usize;

/// Drop, or only count? (0 or 1)
pub const ENFORCE: Setting = 0;
/// Are IPv4 prefixes looked up? (0 or 1)
pub const NETWORKS4: Setting = 1;
/// Are IPv4 addresses looked up? (0 or 1)
pub const ADDRESSES4: Setting = 2;
/// Index bits of the IPv4 table.
pub const INDEX_BITS4: Setting = 3;
/// The lowest bit of each of its lanes.
pub const LANE_ONES4: Setting = 4;
/// The highest bit of each of its lanes.
pub const LANE_HIGHS4: Setting = 5;
/// Are IPv6 /64s looked up? (0 or 1)
pub const NETS64: Setting = 6;
/// How many other IPv6 lengths are looked up.
pub const LENGTHS6: Setting = 7;
/// Index bits of the IPv6 table.
pub const INDEX_BITS6: Setting = 8;
/// The last bucket of the IPv6 table.
pub const LAST_BUCKET6: Setting = 9;
/// Key of the scheme of IPv4 addresses.
pub const KEY4: Setting = 10;
/// Key of the scheme of /64s.
pub const KEY64: Setting = KEY4 + exact::KEY_WORDS;
/// Key of the IPv6 hash.
pub const KEY6: Setting = KEY64 + exact::KEY_WORDS;
/// The other IPv6 lengths, each with the mask that keeps so many bits: length, high, low.
pub const LENGTH: Setting = KEY6 + hash::KEY_WORDS;
/// Words that one length takes.
pub const LENGTH_WORDS: usize = 3;
/// The most lengths: 0 to 128 without 64.
pub const MOST_LENGTHS: usize = 128;
/// How many words there are.
pub const WORDS: usize = LENGTH + LENGTH_WORDS * MOST_LENGTHS;
