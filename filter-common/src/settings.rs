//! The settings that specialise a judge: constants in its `.rodata`, set once when it is loaded.
//!
//! The verifier knows their values and removes code that they switch off, so an unlisted packet does not pay
//! for unused features. Every field is a word or an array of words. The loader therefore sees one array of
//! words ([`Settings::as_words`]), and the program reads single words where it needs them.

use core::array::from_fn;

use crate::cuckoo::exact;
use crate::hash;
use crate::ports::{Clause, MOST_RANGES, Range};
use crate::sets::{PerSet, SLOTS};

/// The settings of one judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Settings {
    /// Whether to drop or only to count: the number of an [`Enforcement`](crate::reason::Enforcement).
    pub enforce: u64,
    /// The end of a pause, in nanoseconds since boot including suspend. Used only if `enforce` says that
    /// there is a pause.
    pub paused_until: u64,
    /// Whether a blocked source may also be allowed, so that the overlap word is read on a hit (0 or 1).
    pub overlap: u64,
    /// Whether packets of this host's own flows pass even from blocked sources (0 or 1).
    pub match_new: u64,
    /// Whether packets from blocked sources are counted for lists (0 or 1).
    pub lists: u64,
    /// The highest processor number in maps with a row for each processor: a power of two minus one. Also
    /// holds the flag [`SAMPLED`].
    pub last_processor: u64,
    /// The most drops that each processor reports in full in one window (`sampling`). 0 while no client
    /// watches.
    pub samples: u64,
    /// The settings of each set. The allowed sources are looked up only after a hit in another set.
    pub sets: PerSet<SetSettings>,
    /// The ports of each clause.
    pub ports: [PortSettings; SLOTS],
    /// Whether frames are sent, and judged by their destination (0 or 1). Only the judge for TC reads it.
    pub outbound: u64,
    /// Whether frames have no Ethernet header, and begin with the packet (0 or 1). Only the judge for TC reads it.
    pub bare: u64,
}

/// The settings of one clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PortSettings {
    /// Whether the clause applies to all ports except its ranges (0 or 1).
    pub except: u64,
    /// The ranges, in the form of [`ports::Range`](crate::ports::Range).
    pub ranges: [u64; MOST_RANGES],
}

/// The settings for lookups in one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SetSettings {
    /// Whether IPv4 prefixes are looked up (0 or 1).
    pub networks4: u64,
    /// The number of label pages of IPv4 prefixes, a power of two. 0 if there are no labels.
    pub network_pages: u64,
    /// The table of IPv4 addresses.
    pub addresses4: AddressSettings,
    /// The table of IPv6 prefixes.
    pub six: SixSettings,
}

/// The settings of a table of IPv4 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct AddressSettings {
    /// Whether the table is looked up (0 or 1).
    pub in_use: u64,
    /// The number of buckets in the table.
    pub buckets: u64,
    /// The mask of a remainder's bits.
    pub remainder_mask: u64,
    /// The mask of a place's bits.
    pub place_mask: u64,
    /// The lowest bit of each lane in a word.
    pub lane_ones: u64,
    /// The highest bit of each lane in a word.
    pub lane_highs: u64,
    /// The number of words of labels. 0 if there are no labels.
    pub label_words: u64,
    /// The number of lanes in a word.
    pub lanes: u64,
    /// The bit at which the last lane begins.
    pub last_lane: u64,
    /// The key of the scheme.
    pub key: exact::Key,
}

/// The settings of a table of IPv6 prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SixSettings {
    /// The last byte at which a page or a node of the levels may begin. 0 if no IPv6 is looked up.
    pub last_level_start: u64,
    /// Whether there is a table in addition to the levels (0 or 1).
    pub has_table: u64,
    /// The lengths up to 64 that are looked up in the table: length n is the bit 64 - n.
    pub to_64: u64,
    /// The number of these lengths that are shorter than 64.
    pub shorter: u64,
    /// The number of lengths beyond 64 to look up. They are the first ones in `lengths`.
    pub longer: u64,
    /// The number of buckets in the table.
    pub buckets: u64,
    /// The number of whole bits of a bucket's index.
    pub index_bits: u64,
    /// The number of words of labels. 0 if there are no labels.
    pub label_words: u64,
    /// The number of label pages of the levels, a power of two. 0 if there are no labels.
    pub level_pages: u64,
    /// The key of the scheme for prefixes up to /64.
    pub key64: exact::Key,
    /// The part of the hash's key that all longer prefixes share.
    pub pairs: [hash::Pairs; hash::PARTS],
    /// The lengths beyond 64 that are in use.
    pub lengths: [LengthSettings; MOST_LENGTHS],
}

/// The settings of one IPv6 prefix length beyond 64, which is looked up by hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct LengthSettings {
    /// The bits of an address's network half that this length keeps.
    pub mask_high: u64,
    /// The bits of an address's interface half that this length keeps.
    pub mask_low: u64,
    /// The values that the hash adds for this length, so that prefixes of different lengths have different
    /// keys.
    pub salts: hash::Salts,
}

/// The flag in `last_processor` that says that drops are reported in full. The loader of the judge sets it if
/// there is a budget.
pub const SAMPLED: u64 = 1 << 63;

const _: () =
    assert!(SAMPLED > u32::MAX as u64, "`SAMPLED` would share a bit with the number of a processor");

/// The most lengths beyond 64.
pub const MOST_LENGTHS: usize = 64;

/// The number of words of all settings.
pub const WORDS: usize = words_of::<Settings>();

/// The word of [`Settings::bare`], which is set for each program of a judge.
pub const BARE: usize = WORDS - 1;

/// The word of [`Settings::outbound`], which is set likewise.
pub const OUTBOUND: usize = WORDS - 2;

/// The number of words that a part of the settings takes.
const fn words_of<T>() -> usize {
    size_of::<T>() / size_of::<u64>()
}

/// The number of words of each part before its nested parts. `as_words` and `words` list exactly that many
/// fields, and any other number does not compile. A new field must therefore be added there as well.
const HEAD: usize = WORDS - words_of::<PerSet<SetSettings>>() - words_of::<[PortSettings; SLOTS]>() - TAIL;
const TAIL: usize = 2;
const SET_HEAD: usize = words_of::<SetSettings>() - words_of::<AddressSettings>() - words_of::<SixSettings>();
const ADDRESS_HEAD: usize = words_of::<AddressSettings>() - exact::KEY_WORDS;
const SIX_HEAD: usize = words_of::<SixSettings>()
    - exact::KEY_WORDS
    - words_of::<[hash::Pairs; hash::PARTS]>()
    - words_of::<[LengthSettings; MOST_LENGTHS]>();

impl Settings {
    /// Settings that only count and look nothing up.
    pub const OFF: Self = Self {
        enforce: 0,
        paused_until: 0,
        overlap: 0,
        match_new: 0,
        lists: 0,
        last_processor: 0,
        samples: 0,
        sets: PerSet {
            block: SetSettings::OFF,
            allow: SetSettings::OFF,
            clauses: [SetSettings::OFF; SLOTS],
            out: SetSettings::OFF,
        },
        ports: [PortSettings::OFF; SLOTS],
        outbound: 0,
        bare: 0,
    };

    /// All settings as words, in the order in which they are in memory.
    pub fn as_words(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        let Self { enforce, paused_until, overlap, match_new, lists, last_processor, samples, .. } = *self;
        let head: [u64; HEAD] = [enforce, paused_until, overlap, match_new, lists, last_processor, samples];
        let sets = self.sets.iter().flat_map(|(_, set)| set.words());
        let ports = self.ports.iter().flat_map(|ports| ports.words());
        let tail: [u64; TAIL] = [self.outbound, self.bare];
        let mut rest = head.into_iter().chain(sets).chain(ports).chain(tail);
        words.fill_with(|| rest.next().expect("every field is told"));
        words
    }

    /// The settings of the judge of sent frames: its blocked set is that of destinations. Own flows are no
    /// exception, because this host may begin none to a listed destination.
    #[must_use]
    pub fn of_sent(self) -> Self {
        let sets = PerSet { block: self.sets.out, allow: self.sets.allow, ..Self::OFF.sets };
        Self { outbound: 1, match_new: 0, sets, ports: Self::OFF.ports, ..self }
    }

    /// The settings that these words hold.
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
            outbound: next(),
            bare: next(),
        }
    }
}

impl PortSettings {
    /// The settings of a clause without any port.
    pub const OFF: Self = Self { except: 0, ranges: [Range::EMPTY.word(); MOST_RANGES] };

    /// The settings of this clause.
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
    /// The settings of an empty set, in which nothing is looked up.
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
    /// The settings of a table that is not looked up.
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
    /// The settings for no IPv6 lookups.
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

    /// The program reads fields where the compiler placed them, while the loader writes words.
    #[test]
    fn fields_match_their_words() {
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
        let end = offset_of!(Settings, sets.out) / 8;
        expected.push((end - 1, settings.sets.clauses[SLOTS - 1].six.lengths[63].salts[2]));
        settings.sets.out.six.lengths[63].salts[2] = number();
        let end = offset_of!(Settings, ports) / 8;
        expected.push((end - 1, settings.sets.out.six.lengths[63].salts[2]));
        settings.ports[0].except = number();
        expected.push((end, settings.ports[0].except));
        settings.ports[SLOTS - 1].ranges[MOST_RANGES - 1] = number();
        expected.push((OUTBOUND - 1, settings.ports[SLOTS - 1].ranges[MOST_RANGES - 1]));
        settings.outbound = number();
        expected.push((OUTBOUND, settings.outbound));
        settings.bare = number();
        expected.push((BARE, settings.bare));
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
