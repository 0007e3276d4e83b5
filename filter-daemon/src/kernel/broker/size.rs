//! The valid sizes of maps, all others are refused, and the limit of all maps together.

use filter_common::cuckoo::geometry::Geometry;
use filter_common::labels::pages;
use filter_common::sets::SetName;
use filter_common::{labels, levels, networks, stash};

use super::processors;
use super::request::{MapName, MapPart};

/// A part has at most one map in use, one ready, one being filled, and one whose pin could not be removed.
pub const MOST_OF_A_PART: usize = 4;

/// The limit of all maps together, in bytes. It allows the largest map of each part in use, ready and being
/// filled. All sets share it, so a host that blocks the maximum can allow only little.
pub const MOST_BYTES: u64 = 3
    * (largest(MapPart::Addresses)
        + largest(MapPart::Networks)
        + largest(MapPart::Levels)
        + largest(MapPart::Six)
        + largest(MapPart::Lists)
        + largest(MapPart::AddressLabels)
        + largest(MapPart::NetworkLabels)
        + largest(MapPart::LevelLabels)
        + largest(MapPart::SixLabels));

/// The bytes of a map of this many words; none if no map of this part has that size.
pub fn bytes(map: MapName, words: u32) -> Option<u64> {
    let is_a_size = match map.part {
        MapPart::Addresses => Geometry::all_exact4().map(table).any(|size| size == words),
        MapPart::Networks => words == networks::WORDS,
        MapPart::Levels => levels::size::all().any(|size| size == words),
        MapPart::Six => Geometry::all_six().map(table).any(|size| size == words),
        MapPart::Overlap => words == 1 && map.set == SetName::Allow,
        MapPart::Lists => {
            let rows = words / labels::COUNTERS;
            map.set == SetName::Block
                && words.is_multiple_of(labels::COUNTERS)
                && rows.is_power_of_two()
                && rows <= processors::MOST
        }
        MapPart::AddressLabels => {
            map.set != SetName::Allow && Geometry::all_exact4().map(labels_beside).any(|size| size == words)
        }
        MapPart::SixLabels => {
            map.set != SetName::Allow && Geometry::all_six().map(labels_beside).any(|size| size == words)
        }
        MapPart::NetworkLabels => {
            map.set != SetName::Allow && pages::SIZES.map(network_labels).any(|size| size == words)
        }
        MapPart::LevelLabels => {
            let sizes = |levels| pages::SIZES.map(move |bits| level_labels(levels, bits));
            map.set != SetName::Allow && levels::size::all().flat_map(sizes).any(|size| size == words)
        }
    };
    u64::from(words).checked_mul(8).filter(|_| is_a_size)
}

/// The words of a table of this geometry and of its stash.
pub const fn table(geometry: Geometry) -> u32 {
    stash::WORDS + geometry.words()
}

/// The words of the labels for a table of this geometry: those of its stash and of its slots.
pub const fn labels_beside(geometry: Geometry) -> u32 {
    labels::words_for(stash::LABELS + geometry.slots() as u32)
}

/// The words of the labels of IPv4 prefixes, for this number of page bits.
pub const fn network_labels(page_bits: u32) -> u32 {
    pages::words(pages::DIRECTORY4, page_bits)
}

/// The words of the labels of levels, for this number of level words and page bits.
pub const fn level_labels(levels: u32, page_bits: u32) -> u32 {
    pages::words(levels::labels::directory(levels), page_bits)
}

const fn largest(part: MapPart) -> u64 {
    let words = match part {
        MapPart::Addresses => table(Geometry::LARGEST_EXACT4),
        MapPart::Networks => networks::WORDS,
        MapPart::Levels => levels::size::LARGEST,
        MapPart::Six => table(Geometry::LARGEST_SIX),
        MapPart::Overlap => 1,
        MapPart::Lists => processors::MOST * labels::COUNTERS,
        MapPart::AddressLabels => labels_beside(Geometry::LARGEST_EXACT4),
        MapPart::SixLabels => labels_beside(Geometry::LARGEST_SIX),
        MapPart::NetworkLabels => network_labels(*pages::SIZES.end()),
        MapPart::LevelLabels => level_labels(levels::size::LARGEST, *pages::SIZES.end()),
    };
    words as u64 * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_table_sizes_are_accepted() {
        let bytes = |part, words| {
            let [block, allow] =
                [SetName::Block, SetName::Allow].map(|set| bytes(MapName { set, part }, words));
            assert_eq!(block, allow, "{part:?} of {words} words");
            block
        };
        let four = table(Geometry::exact4(65 << 10));
        assert_eq!(bytes(MapPart::Addresses, four), Some(u64::from(four) * 8));
        let six = table(Geometry::six(65 << 10));
        assert_eq!(bytes(MapPart::Six, six), Some(u64::from(six) * 8));
        assert_eq!(bytes(MapPart::Levels, 65 << 12), Some(65 << 15));
        assert_eq!(bytes(MapPart::Networks, networks::WORDS), Some(u64::from(networks::WORDS) * 8));
        for part in [MapPart::Addresses, MapPart::Networks, MapPart::Levels, MapPart::Six] {
            for words in [
                0,
                1,
                networks::WORDS - 1,
                four + 1,
                table(Geometry::LARGEST_EXACT4) + 1,
                six + 4,
                1 << 29,
                u32::MAX,
            ] {
                assert_eq!(bytes(part, words), None, "{part:?} of {words} words");
            }
        }
    }

    #[test]
    fn overlap_map_is_one_word_of_allow() {
        let overlap = |set, words| bytes(MapName { set, part: MapPart::Overlap }, words);
        assert_eq!([overlap(SetName::Allow, 1), overlap(SetName::Allow, 2)], [Some(8), None]);
        assert_eq!(overlap(SetName::Block, 1), None);
    }
}
