//! IPv6 from the top: what is listed down to /32 as bits, and which lengths there are below. Most packets are judged here.
//!
//! Three levels: a *root* word for each /14, a *page* of words for each /24 of a /14, and a *node* of bits for each /32 of a
//! /24. (With a word for each /16 the root alone would be four times as large, and larger than all pages and nodes of countries'
//! lists.) A word of root or page says that all of it is listed, or which lengths are listed below it, or where to look closer. A
//! prefix up to /32 is nothing but bits. What is longer stands in the cuckoo table, which is asked for the lengths that exist
//! below that /24, and only where the node says that its /32 has any. Where these have several lengths, the node is *classed*:
//! twice as large, it also says of each /32 which of them it needs (`class`).
//!
//! Pages and nodes take memory. Where there is no more of it, a word without one names the lengths below it, those up to /32
//! among them: all of these stand in the table then. So it is for a whole /14 or /24 from when the first comes there until
//! the last has left. Numbers of pages and nodes are never used again in the life of a map, so nobody who has read one meets
//! another's bits.
//!
//! A word may name a length that is not there any more, which costs a probe and is never wrong.

mod changes;
mod class;
pub mod labels;
pub mod size;
#[cfg(test)]
mod tests;
mod way;

pub use changes::{Levels, Others};
pub use way::{Way, words_of};

use crate::Words;

/// No longer prefix is told by bits alone.
pub const LONGEST_TOLD: u8 = 32;

/// The longest prefixes that a word of the root and one of a page stand for.
const OF_ROOT: u8 = 14;
const OF_PAGE: u8 = 24;

/// Words of the root, which comes first.
const ROOT_WORDS: u32 = 1 << OF_ROOT;
/// Bits of a page's number of words.
const PAGE_BITS: u32 = (OF_PAGE - OF_ROOT) as u32;
/// The same of a node: four words say which /32s are listed, four in which there is something longer.
const NODE_BITS: u32 = 3;
const LONGER_WORDS: u32 = 4;
/// Behind these in a classed node: eight words of classes.
const CLASS_WORDS: u32 = 8;
/// /32s in one of them, and their number's bits.
const CLASSED_32S: u32 = BITS / class::CLASS_BITS;
const CLASSED_32S_BITS: u32 = CLASSED_32S.ilog2();
/// Bits in a word, and their number's bits.
const BITS: u32 = 64;
const BIT_BITS: u32 = 6;
/// Bits of the number of a byte in a word.
const BYTE_BITS: u32 = 3;

/// All of it is listed.
const WHOLE: u64 = 1 << 63;
/// In a page's word: its node is classed.
const CLASSED_BIT: u32 = 62;
const CLASSED: u64 = 1 << CLASSED_BIT;

/// How the words of one level are cut, from the lowest bit on: a bit for each length from 64 down to the shortest below this
/// level; one for all lengths beyond 64; the number of the page or node; and what it has above that.
#[derive(Clone, Copy)]
struct Cut {
    lengths: u32,
    /// Bits of the number.
    number: u32,
    /// Bits of the number of words of what a number points to.
    below: u32,
}

/// A word of the root: lengths from 15 on.
const ROOT: Cut = Cut { lengths: 50, number: 12, below: PAGE_BITS };
/// A word of a page: lengths from 25 on.
const PAGE: Cut = Cut { lengths: 40, number: 21, below: NODE_BITS };

impl Cut {
    #[inline(always)]
    const fn number(self, word: u64) -> u32 {
        (word >> (self.lengths + 1)) as u32 & ((1 << self.number) - 1)
    }

    #[inline(always)]
    const fn lengths(self, word: u64) -> Lengths {
        Lengths { to_64: word & ((1 << self.lengths) - 1), beyond_64: word >> self.lengths & 1 != 0 }
    }

    const fn with_number(self, number: u32) -> u64 {
        (number as u64) << (self.lengths + 1)
    }

    /// The bit of this length, which is longer than what the word stands for.
    const fn length(self, length: u8) -> u64 {
        if length > 64 { 1 << self.lengths } else { 1 << (64 - length) }
    }
}

/// Lengths of prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Up to 64: that of n bits is the bit 64 - n.
    pub to_64: u64,
    /// Is there any beyond?
    pub beyond_64: bool,
}

/// What the levels say of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Below {
    /// It is not listed.
    Nothing,
    /// It is listed, as is told here.
    Everything(Told),
    /// It is listed if the table holds a prefix of one of these lengths around it.
    Some(Lengths),
}

/// Where the levels tell that an address is listed: the number of a word, or of a node with [`OF_NODE`].
pub type Told = u32;

/// In [`Told`]: one of the bits of a node tells it.
const OF_NODE: Told = 1 << 31;

/// What is below the first bits of the address whose network half is `network`? `last_start` tells the last byte at which a page or
/// a node may begin to whoever goes beyond the root, which few packets do. No word names one beyond it, but that no verifier
/// can know. So it is compared: of a mask a processor would have to wait for the result, and the map had to be a power of two.
#[inline(always)]
pub fn below(words: &(impl Words + ?Sized), last_start: impl Fn() -> u64, network: u64) -> Below {
    let root = words.load(slash14(network));
    if root == 0 {
        return Below::Nothing;
    }
    if root & WHOLE != 0 {
        return Below::Everything(slash14(network));
    }
    let page = ROOT.number(root);
    if page == 0 {
        return Below::Some(ROOT.lengths(root));
    }
    let start = u64::from(page) << (PAGE_BITS + BYTE_BITS);
    if start > last_start() {
        return Below::Nothing;
    }
    let within = u64::from(slash24(network)) << BYTE_BITS;
    let word = words.rest_at(start).rest_at(within).load(0);
    if word == 0 {
        return Below::Nothing;
    }
    if word & WHOLE != 0 {
        return Below::Everything(((start + within) >> BYTE_BITS) as u32);
    }
    let node = PAGE.number(word);
    if node == 0 {
        return Below::Some(PAGE.lengths(word));
    }
    let start = u64::from(node) << (NODE_BITS + BYTE_BITS);
    if start > last_start() {
        return Below::Nothing;
    }
    let (bits, at, bit) = (words.rest_at(start), slash32(network) >> BIT_BITS, slash32(network) % BITS);
    if bits.load(at) >> bit & 1 != 0 {
        return Below::Everything(OF_NODE | node);
    }
    if bits.load(LONGER_WORDS + at) >> bit & 1 == 0 {
        return Below::Nothing;
    }
    Below::Some(PAGE.lengths(word & class::kept(class(&bits, word, slash32(network)))))
}

/// The class of the /32 of this number in the node of these words, which `word` names. Of a node without classes something else
/// is loaded and nothing of it is kept: a processor cannot foresee which nodes have them.
#[inline(always)]
fn class(node: &impl Words, word: u64, slash32: u32) -> u64 {
    let is_classed = ((word >> CLASSED_BIT & 1) as u32).wrapping_neg();
    let (at, bit) = class_place(slash32);
    let found = node.load(at & is_classed) >> bit;
    found & class::CLASS & u64::from(is_classed)
}

/// The word of a /32's class in its node, and the bit at which it begins.
#[inline(always)]
const fn class_place(slash32: u32) -> (u32, u32) {
    (CLASS_WORDS + (slash32 >> CLASSED_32S_BITS), slash32 % CLASSED_32S * class::CLASS_BITS)
}

/// The number of the address's /14.
#[inline(always)]
const fn slash14(network: u64) -> u32 {
    (network >> 50) as u32
}

/// The number of the address's /24 in its /14.
#[inline(always)]
const fn slash24(network: u64) -> u32 {
    (network >> 40) as u32 & ((1 << PAGE_BITS) - 1)
}

/// The number of the address's /32 in its /24.
#[inline(always)]
const fn slash32(network: u64) -> u32 {
    (network >> 32) as u32 & 0xFF
}
