//! What a judge is specialised by: constants in its `.rodata`, set once when it is loaded.
//!
//! The verifier knows their values and removes what they switch off, so an unlisted packet does not pay for
//! features that are not in use. Every field is a word or an array of words, so that the whole is one array of words to
//! whoever loads the program ([`Settings::as_words`]), and the program reads one word at a time where it needs it.

use core::array::from_fn;

use crate::cuckoo::exact;
use crate::hash;
use crate::ports::{Clause, MOST_RANGES, Range};
use crate::sets::{PerSet, SLOTS};

/// The settings of one judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Settings {
    /// Drop, or only count? The number of an [`Enforcement`](crate::reason::Enforcement).
    pub enforce: u64,
    /// When a pause is over, in nanoseconds since boot, suspend included; looked at where `enforce` says that there is one.
    pub paused_until: u64,
    /// May a source that is to be blocked be allowed, too, so that the word that tells is looked at on a hit? (0 or 1)
    pub overlap: u64,
    /// Does what is part of a flow of this host's own pass, whoever sent it? (0 or 1)
    pub match_new: u64,
    /// Are packets from blocked sources counted for lists? (0 or 1)
    pub lists: u64,
    /// The highest number of a processor in maps with a row for each, one less than a power of two; and [`SAMPLED`] beside it.
    pub last_processor: u64,
    /// Of what is to be dropped, so many at most are told in full of each processor in a window (`sampling`); 0 while nobody
    /// watches.
    pub samples: u64,
    /// Each set: of sources to block, of sources to allow, asked after a hit in another, and of sources to block on ports.
    pub sets: PerSet<SetSettings>,
    /// The ports of each clause.
    pub ports: [PortSettings; SLOTS],
}

/// What a judge must know of a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PortSettings {
    /// Are these the ports that are left alone? (0 or 1)
    pub except: u64,
    /// The ports, as [`ports::Range`](crate::ports::Range) writes them.
    pub ranges: [u64; MOST_RANGES],
}

/// What a judge must know to look sources up in one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SetSettings {
    /// Are IPv4 prefixes looked up? (0 or 1)
    pub networks4: u64,
    /// How many pages their labels have, a power of two; 0 if they have none.
    pub network_pages: u64,
    /// The table of IPv4 addresses.
    pub addresses4: AddressSettings,
    /// The table of IPv6 prefixes.
    pub six: SixSettings,
}

/// What a judge must know of a table of IPv4 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct AddressSettings {
    /// Is it looked into? (0 or 1)
    pub in_use: u64,
    /// How many buckets it has.
    pub buckets: u64,
    /// The bits of a remainder.
    pub remainder_mask: u64,
    /// The bits of a place.
    pub place_mask: u64,
    /// The lowest bit of each lane of a word.
    pub lane_ones: u64,
    /// The highest bit of each lane of a word.
    pub lane_highs: u64,
    /// Words of the labels beside it; 0 if it has none.
    pub label_words: u64,
    /// How many lanes a word has.
    pub lanes: u64,
    /// The bit at which the last of them begins.
    pub last_lane: u64,
    /// Key of the scheme.
    pub key: exact::Key,
}

/// What a judge must know of a table of IPv6 prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SixSettings {
    /// The last byte of the levels in front of it at which a page or a node may begin; 0 if nothing is looked up.
    pub last_level_start: u64,
    /// Is there a table behind them? (0 or 1)
    pub has_table: u64,
    /// The lengths up to 64 that are looked up in it: that of n bits is the bit 64 - n.
    pub to_64: u64,
    /// How many of these are shorter than 64.
    pub shorter: u64,
    /// How many lengths beyond 64 are looked up: the first so many of `lengths`.
    pub longer: u64,
    /// How many buckets it has.
    pub buckets: u64,
    /// Whole bits of a bucket's index.
    pub index_bits: u64,
    /// Words of the labels beside it; 0 if it has none.
    pub label_words: u64,
    /// How many pages the labels of the levels have, a power of two; 0 if there are none.
    pub level_pages: u64,
    /// Key of the scheme of prefixes up to /64.
    pub key64: exact::Key,
    /// What all longer ones share of the hash's key.
    pub pairs: [hash::Pairs; hash::PARTS],
    /// Their lengths in use.
    pub lengths: [LengthSettings; MOST_LENGTHS],
}

/// What a judge must know of one IPv6 length that is looked up by its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct LengthSettings {
    /// The bits of an address that this length keeps: of its network half,
    pub mask_high: u64,
    /// and of its interface half.
    pub mask_low: u64,
    /// What the hash adds for this length, so that prefixes of different lengths are different keys.
    pub salts: hash::Salts,
}

/// In the word of `last_processor`: are drops told in full? Whoever loads the judge puts it there, if there is a budget.
pub const SAMPLED: u64 = 1 << 63;

const _: () =
    assert!(SAMPLED > u32::MAX as u64, "`SAMPLED` would share a bit with the number of a processor");

/// The most lengths beyond 64.
pub const MOST_LENGTHS: usize = 64;

/// Words of the whole.
pub const WORDS: usize = words_of::<Settings>();

/// How many words a part of the settings takes.
const fn words_of<T>() -> usize {
    size_of::<T>() / size_of::<u64>()
}

/// How many words of each part come before the parts that it holds. `as_words` and `words` name so many fields, and no more or
/// fewer compile: a field that is added to a part must be written there, too.
const HEAD: usize = WORDS - words_of::<PerSet<SetSettings>>() - words_of::<[PortSettings; SLOTS]>();
const SET_HEAD: usize = words_of::<SetSettings>() - words_of::<AddressSettings>() - words_of::<SixSettings>();
const ADDRESS_HEAD: usize = words_of::<AddressSettings>() - exact::KEY_WORDS;
const SIX_HEAD: usize = words_of::<SixSettings>()
    - exact::KEY_WORDS
    - words_of::<[hash::Pairs; hash::PARTS]>()
    - words_of::<[LengthSettings; MOST_LENGTHS]>();

impl Settings {
    /// Counts only, and looks nothing up.
    pub const OFF: Self = Self {
        enforce: 0,
        paused_until: 0,
        overlap: 0,
        match_new: 0,
        lists: 0,
        last_processor: 0,
        samples: 0,
        sets: PerSet { block: SetSettings::OFF, allow: SetSettings::OFF, clauses: [SetSettings::OFF; SLOTS] },
        ports: [PortSettings::OFF; SLOTS],
    };

    /// All of it in the order in which it lies in memory.
    pub fn as_words(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        let Self { enforce, paused_until, overlap, match_new, lists, last_processor, samples, .. } = *self;
        let head: [u64; HEAD] = [enforce, paused_until, overlap, match_new, lists, last_processor, samples];
        let sets = self.sets.iter().flat_map(|(_, set)| set.words());
        let ports = self.ports.iter().flat_map(|ports| ports.words());
        let mut rest = head.into_iter().chain(sets).chain(ports);
        words.fill_with(|| rest.next().expect("every field is told"));
        words
    }

    /// The settings that lie so in memory.
    pub fn from_words(words: &[u64; WORDS]) -> Self {
        let mut rest = words.iter().copied();
        let mut next = || rest.next().unwrap_or_default();
        Self {
            enforce: next(),
            paused_until: next(),
            overlap: next(),
            match_new: next(),
            lists: next(),
            last_processor: next(),
            samples: next(),
            sets: PerSet::from_fn(|_| SetSettings::read(&mut next)),
            ports: from_fn(|_| PortSettings::read(&mut next)),
        }
    }
}

impl PortSettings {
    /// No port at all.
    pub const OFF: Self = Self { except: 0, ranges: [Range::EMPTY.word(); MOST_RANGES] };

    /// Those of a clause.
    pub fn new(clause: &Clause) -> Self {
        Self { except: clause.is_except().into(), ranges: clause.words() }
    }

    fn read(next: &mut impl FnMut() -> u64) -> Self {
        Self { except: next(), ranges: from_fn(|_| next()) }
    }

    fn words(&self) -> impl Iterator<Item = u64> {
        let Self { except, ranges } = *self;
        [except].into_iter().chain(ranges)
    }
}

impl SetSettings {
    /// Looks nothing up.
    pub const OFF: Self =
        Self { networks4: 0, network_pages: 0, addresses4: AddressSettings::OFF, six: SixSettings::OFF };

    fn read(next: &mut impl FnMut() -> u64) -> Self {
        let [networks4, network_pages] = from_fn(|_| next());
        let addresses4 = AddressSettings::read(next);
        Self { networks4, network_pages, addresses4, six: SixSettings::read(next) }
    }

    fn words(&self) -> impl Iterator<Item = u64> {
        let head: [u64; SET_HEAD] = [self.networks4, self.network_pages];
        head.into_iter().chain(self.addresses4.words()).chain(self.six.words())
    }
}

impl AddressSettings {
    /// Looks nothing up.
    pub const OFF: Self = Self {
        in_use: 0,
        buckets: 0,
        remainder_mask: 0,
        place_mask: 0,
        lane_ones: 0,
        lane_highs: 0,
        label_words: 0,
        lanes: 0,
        last_lane: 0,
        key: [0; exact::KEY_WORDS],
    };

    fn read(next: &mut impl FnMut() -> u64) -> Self {
        let [in_use, buckets, remainder_mask, place_mask] = from_fn(|_| next());
        let [lane_ones, lane_highs, label_words, lanes, last_lane] = from_fn(|_| next());
        let key = from_fn(|_| next());
        Self {
            in_use,
            buckets,
            remainder_mask,
            place_mask,
            lane_ones,
            lane_highs,
            label_words,
            lanes,
            last_lane,
            key,
        }
    }

    fn words(&self) -> impl Iterator<Item = u64> {
        let Self {
            in_use,
            buckets,
            remainder_mask,
            place_mask,
            lane_ones,
            lane_highs,
            label_words,
            lanes,
            last_lane,
            key,
        } = *self;
        let head: [u64; ADDRESS_HEAD] = [
            in_use,
            buckets,
            remainder_mask,
            place_mask,
            lane_ones,
            lane_highs,
            label_words,
            lanes,
            last_lane,
        ];
        head.into_iter().chain(key)
    }
}

impl SixSettings {
    /// Looks nothing up.
    pub const OFF: Self = Self {
        last_level_start: 0,
        has_table: 0,
        to_64: 0,
        shorter: 0,
        longer: 0,
        buckets: 0,
        index_bits: 0,
        label_words: 0,
        level_pages: 0,
        key64: [0; exact::KEY_WORDS],
        pairs: [[0; hash::PAIR_WORDS]; hash::PARTS],
        lengths: [LengthSettings::OFF; MOST_LENGTHS],
    };

    fn read(next: &mut impl FnMut() -> u64) -> Self {
        let [last_level_start, has_table, to_64, shorter, longer] = from_fn(|_| next());
        let [buckets, index_bits, label_words, level_pages] = from_fn(|_| next());
        let key64 = from_fn(|_| next());
        let pairs = from_fn(|_| from_fn(|_| next()));
        let lengths = from_fn(|_| LengthSettings::read(next));
        Self {
            last_level_start,
            has_table,
            to_64,
            shorter,
            longer,
            buckets,
            index_bits,
            label_words,
            level_pages,
            key64,
            pairs,
            lengths,
        }
    }

    fn words(&self) -> impl Iterator<Item = u64> {
        let Self { last_level_start, has_table, to_64, shorter, longer, .. } = *self;
        let Self { buckets, index_bits, label_words, level_pages, key64, pairs, lengths, .. } = *self;
        let head: [u64; SIX_HEAD] = [
            last_level_start,
            has_table,
            to_64,
            shorter,
            longer,
            buckets,
            index_bits,
            label_words,
            level_pages,
        ];
        let pairs = pairs.into_iter().flatten();
        let lengths = lengths.into_iter().flat_map(LengthSettings::words);
        head.into_iter().chain(key64).chain(pairs).chain(lengths)
    }
}

impl LengthSettings {
    /// A length that is not in use.
    pub const OFF: Self = Self { mask_high: 0, mask_low: 0, salts: [0; hash::PARTS] };

    /// The settings for `length` under the key of this hash.
    pub fn new(hash: &hash::Hash, length: u8) -> Self {
        let mask = u128::MAX.checked_shl(u128::BITS - u32::from(length)).unwrap_or(0);
        Self { mask_high: (mask >> 64) as u64, mask_low: mask as u64, salts: hash.salts(length.into()) }
    }

    fn read(next: &mut impl FnMut() -> u64) -> Self {
        let [mask_high, mask_low] = from_fn(|_| next());
        Self { mask_high, mask_low, salts: from_fn(|_| next()) }
    }

    fn words(self) -> impl Iterator<Item = u64> {
        let Self { mask_high, mask_low, salts } = self;
        [mask_high, mask_low].into_iter().chain(salts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;

    /// The program reads fields where the compiler laid them; the loader writes words.
    #[test]
    fn every_field_is_told_at_the_word_where_it_lies() {
        let mut settings = Settings::OFF;
        let mut next = 0;
        let mut number = || {
            next += 1;
            next
        };
        let mut expected = std::vec::Vec::new();
        macro_rules! set {
            ($($field:tt)+) => {{
                settings.$($field)+ = number();
                expected.push((offset_of!(Settings, $($field)+) / 8, settings.$($field)+));
            }};
        }
        set!(enforce);
        set!(overlap);
        set!(match_new);
        set!(lists);
        set!(last_processor);
        set!(samples);
        set!(sets.block.networks4);
        set!(sets.block.network_pages);
        set!(sets.block.addresses4.in_use);
        set!(sets.block.addresses4.buckets);
        set!(sets.block.addresses4.remainder_mask);
        set!(sets.block.addresses4.place_mask);
        set!(sets.block.addresses4.lane_ones);
        set!(sets.block.addresses4.lane_highs);
        set!(sets.block.addresses4.label_words);
        set!(sets.block.addresses4.lanes);
        set!(sets.block.addresses4.last_lane);
        set!(sets.block.six.last_level_start);
        set!(sets.block.six.has_table);
        set!(sets.block.six.to_64);
        set!(sets.block.six.shorter);
        set!(sets.block.six.longer);
        set!(sets.block.six.buckets);
        set!(sets.block.six.index_bits);
        set!(sets.block.six.label_words);
        set!(sets.block.six.level_pages);
        settings.sets.block.addresses4.key[2] = number();
        expected.push((
            offset_of!(Settings, sets.block.addresses4.key) / 8 + 2,
            settings.sets.block.addresses4.key[2],
        ));
        settings.sets.block.six.key64[1] = number();
        expected.push((offset_of!(Settings, sets.block.six.key64) / 8 + 1, settings.sets.block.six.key64[1]));
        settings.sets.block.six.pairs[2][3] = number();
        expected
            .push((offset_of!(Settings, sets.block.six.pairs) / 8 + 11, settings.sets.block.six.pairs[2][3]));
        let last = LengthSettings { mask_high: number(), mask_low: number(), salts: [number(); 3] };
        settings.sets.block.six.lengths[63] = last;
        expected.push((offset_of!(Settings, sets.block.six.lengths) / 8 + 63 * 5, last.mask_high));
        expected.push((offset_of!(Settings, sets.block.six.lengths) / 8 + 63 * 5 + 1, last.mask_low));
        expected.push((offset_of!(Settings, sets.allow) / 8 - 1, last.salts[2]));
        set!(sets.allow.networks4);
        set!(sets.allow.six.last_level_start);
        settings.sets.clauses[SLOTS - 1].six.lengths[63].salts[2] = number();
        let end = offset_of!(Settings, ports) / 8;
        expected.push((end - 1, settings.sets.clauses[SLOTS - 1].six.lengths[63].salts[2]));
        settings.ports[0].except = number();
        expected.push((end, settings.ports[0].except));
        settings.ports[SLOTS - 1].ranges[MOST_RANGES - 1] = number();
        expected.push((WORDS - 1, settings.ports[SLOTS - 1].ranges[MOST_RANGES - 1]));
        let words = settings.as_words();
        assert_eq!(Settings::from_words(&words), settings);
        for (at, word) in expected {
            assert_eq!(words[at], word, "word {at}");
        }
    }

    #[test]
    fn a_length_keeps_so_many_bits() {
        let hash = hash::Hash::new(crate::cuckoo::tests::key(1));
        let kept = |length| {
            let LengthSettings { mask_high, mask_low, .. } = LengthSettings::new(&hash, length);
            (mask_high.leading_ones(), mask_low.leading_ones())
        };
        assert_eq!([kept(0), kept(1), kept(65), kept(128)], [(0, 0), (1, 0), (64, 1), (64, 64)]);
    }
}
