//! The possible sizes of the levels in words. As for tables (`cuckoo::geometry`), there are 64 sizes between
//! two powers of two, so the levels are hardly larger than their content.

use super::{BYTE_BITS, NODE_BITS, PAGE_BITS, ROOT_WORDS};

/// The smallest size: 512 KiB.
pub const SMALLEST: u32 = 1 << 16;

/// The largest size: 128 MiB. The number of a node has no more bits.
pub const LARGEST: u32 = 1 << 24;

/// The most bits between the highest and the lowest set bit of a size.
const STEP_BITS: u32 = 6;

/// New levels have room for this fraction of their content in addition, for live additions.
const ROOM: u32 = 64;

/// The number of words that belong to neither a page nor a node, at any size.
pub(super) const AROUND: u32 = ROOT_WORDS + (1 << PAGE_BITS) - (1 << NODE_BITS);

/// All sizes, the smallest first.
pub fn all() -> impl Iterator<Item = u32> + Clone {
    let next = |size: &u32| Some(size + (1 << (size.ilog2() - STEP_BITS)));
    core::iter::successors(Some(SMALLEST), next).take_while(|size| *size <= LARGEST)
}

/// The smallest size for `words` words, with some spare room if a larger size exists. The largest size if
/// none is enough.
pub fn for_words(words: u32) -> u32 {
    let with_room = words.saturating_add(words / ROOM);
    all().find(|size| *size >= with_room).unwrap_or(LARGEST)
}

/// The largest size of at most `words` words. The smallest size if none is that small.
pub fn within(words: u32) -> u32 {
    all().take_while(|size| *size <= words).last().unwrap_or(SMALLEST)
}

/// The last byte at which a page or a node may begin in levels of this size: a page that begins there fits
/// completely. Only nodes are at the end, so 8 KiB stay unused. One limit for both is enough, and the judge
/// has it at hand.
pub const fn last_start(size: u32) -> u64 {
    ((size - (1 << PAGE_BITS)) as u64) << BYTE_BITS
}

/// The size that has this last start.
#[inline(always)]
pub const fn of_last_start(last_start: u64) -> u64 {
    (last_start >> BYTE_BITS) + (1 << PAGE_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_64_sizes_between_powers_of_two() {
        assert_eq!(all().count(), 8 * 64 + 1);
        assert_eq!([all().next(), all().last()], [Some(SMALLEST), Some(LARGEST)]);
    }

    #[test]
    fn sizes_leave_one_or_two_64ths_of_room() {
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
