//! How many words the levels have: as many as there are sizes of tables from one power of two to the next
//! (`cuckoo::geometry`), so that they are hardly larger than what is in them.

use super::{BYTE_BITS, NODE_BITS, PAGE_BITS, ROOT_WORDS};

/// The smallest size: 512 KiB.
pub const SMALLEST: u32 = 1 << 16;

/// The largest: 128 MiB. The number of a node has no more bits.
pub const LARGEST: u32 = 1 << 24;

/// A size has no more bits than this between its highest and its lowest one.
const STEP_BITS: u32 = 6;

/// The part of what they hold for which they have room beyond that, when they are made: live additions.
const ROOM: u32 = 64;

/// Words that are neither a page's nor a node's, at whatever size.
pub(super) const AROUND: u32 = ROOT_WORDS + (1 << PAGE_BITS) - (1 << NODE_BITS);

/// All of them, the smallest first.
pub fn all() -> impl Iterator<Item = u32> + Clone {
    let next = |size: &u32| Some(size + (1 << (size.ilog2() - STEP_BITS)));
    core::iter::successors(Some(SMALLEST), next).take_while(|size| *size <= LARGEST)
}

/// The smallest that takes so many words, and some more where there is a larger one; the largest if none does.
pub fn for_words(words: u32) -> u32 {
    let with_room = words.saturating_add(words / ROOM);
    all().find(|size| *size >= with_room).unwrap_or(LARGEST)
}

/// The largest that is no larger than so many words; the smallest if none is.
pub fn within(words: u32) -> u32 {
    all().take_while(|size| *size <= words).last().unwrap_or(SMALLEST)
}

/// The last byte at which a page or a node may begin in so many words: a page that begins there is whole. Only nodes do, so 8 KiB
/// at the end stay empty; it is one number for both, which the judge has at hand.
pub const fn last_start(size: u32) -> u64 {
    ((size - (1 << PAGE_BITS)) as u64) << BYTE_BITS
}

/// The size of which this is the last start.
#[inline(always)]
pub const fn of_last_start(last_start: u64) -> u64 {
    (last_start >> BYTE_BITS) + (1 << PAGE_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_one_power_of_two_to_the_next_there_are_64() {
        assert_eq!(all().count(), 8 * 64 + 1);
        assert_eq!([all().next(), all().last()], [Some(SMALLEST), Some(LARGEST)]);
    }

    #[test]
    fn there_is_room_for_one_in_64_more_and_hardly_for_more_than_two() {
        for words in [60_000, 65_535, 100_000, 131_072, 1_234_567, 16_000_000] {
            let size = for_words(words);
            assert!(size >= words + words / 64, "{words} words in {size}");
            assert!(
                size == SMALLEST || size <= words + words / 64 + words / 32 + 1,
                "{words} words in {size}"
            );
        }
        assert_eq!([for_words(0), for_words(LARGEST), for_words(u32::MAX)], [SMALLEST, LARGEST, LARGEST]);
        assert_eq!([within(0), within(SMALLEST + 1), within(u32::MAX)], [SMALLEST, SMALLEST, LARGEST]);
    }
}
