//! Counts the pages and nodes that prefixes to be added will need, before any is allocated.

use super::{
    CLASS_WORDS, CLASSED, LONGEST_TOLD, NODE_BITS, OF_PAGE, OF_ROOT, PAGE, PAGE_BITS, ROOT, WHOLE, size,
};
use crate::Words;
use crate::target::Prefix6;

/// The way to all new prefixes below one /24, or only to the /24 itself if none of them is longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Way {
    /// The /24, or the first of those that a shorter prefix covers.
    slash24: u32,
    /// The lengths beyond 24, one bit each as in a word of a page. Zero if the way needs only a page.
    lengths: u64,
}

/// The lengths by which nodes are classed: /33 to /63.
const BY_CLASS: u64 = (1 << (64 - LONGEST_TOLD)) - 2;

impl Way {
    /// The most words that one way can take.
    pub const MOST_WORDS: u32 = (1 << PAGE_BITS) + NODE + CLASSED_NODE;

    /// The way to this prefix. None if the root holds it.
    pub fn to(prefix: Prefix6) -> Option<Self> {
        let length = prefix.length();
        let lengths = if length > OF_PAGE { PAGE.length(length) } else { 0 };
        let slash24 = (prefix.address() >> (128 - OF_PAGE)) as u32;
        (length > OF_ROOT).then_some(Self { slash24, lengths })
    }

    /// The combined way, if both are below one /24.
    pub fn joined(self, other: Self) -> Option<Self> {
        let lengths = self.lengths | other.lengths;
        (self.slash24 == other.slash24).then_some(Self { lengths, ..self })
    }

    /// The number of the /14 that the way leads to.
    pub(super) const fn slash14(self) -> u32 {
        self.slash24 >> PAGE_BITS
    }

    /// The number of words that the way takes in addition to those in `words`. `has_page` says that another
    /// way to the same /14 was counted already.
    pub(super) fn words(self, words: &impl Words, has_page: bool) -> u32 {
        let root = words.load(self.slash14()) & !WHOLE;
        let (page, number) = (ROOT.number(root), self.slash24 & ((1 << PAGE_BITS) - 1));
        if root != 0 && page == 0 {
            return 0;
        }
        let for_page = if root == 0 && !has_page { 1 << PAGE_BITS } else { 0 };
        if self.lengths == 0 {
            return for_page;
        }
        let word = if page == 0 { 0 } else { words.load(page << PAGE_BITS | number) & !WHOLE };
        if word != 0 && PAGE.number(word) == 0 {
            return for_page;
        }
        let several = (word | self.lengths) & BY_CLASS;
        let is_to_be_classed = word & CLASSED == 0 && several.count_ones() > 1;
        for_page + if word == 0 { NODE } else { 0 } + if is_to_be_classed { CLASSED_NODE } else { 0 }
    }
}

/// The number of words that these ways take in addition to those in `words` (see `Levels::words_for`).
pub(super) fn words_for(words: &impl Words, ways: impl Iterator<Item = Way>, most: u32) -> u32 {
    let (mut sum, mut with_page) = (0, None);
    for way in ways {
        sum += way.words(words, with_page == Some(way.slash14()));
        with_page = Some(way.slash14());
        if sum > most {
            break;
        }
    }
    sum
}

/// The number of words of new levels for these ways. The conditions of
/// [`words_for`](super::Levels::words_for) apply.
pub fn words_of(ways: impl Iterator<Item = Way>, most: u32) -> u32 {
    size::AROUND + words_for(&Nothing, ways, most)
}

/// Levels without any prefix.
struct Nothing;

impl Words for Nothing {
    fn load(&self, _: u32) -> u64 {
        0
    }
}

/// The words of a node, and of the classed node that replaces it.
const NODE: u32 = 1 << NODE_BITS;
const CLASSED_NODE: u32 = 2 * CLASS_WORDS;
