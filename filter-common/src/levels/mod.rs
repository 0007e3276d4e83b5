//! IPv6 prefixes from the top: bits for everything listed down to /32, and the lengths of longer listed
//! prefixes. Most packets are decided here.
//!
//! There are three levels. Each /14 has a *root* word, the /24s of a /14 have a *page* of words, and the /32s
//! of a /24 have a *node* of bits. With a root word for each /16 the root alone would be four times as large,
//! and larger than all pages and nodes of country lists. A word of root or page says that all of it is
//! listed, or which lengths are listed below it, or which page or node has the details. A prefix up to /32 is
//! stored only as bits. Longer prefixes are in the cuckoo table. It is searched for the lengths that exist
//! below that /24, and only if the node says that the /32 has any. A node whose /32s have several lengths is
//! *classed*: it is twice as large, and also says for each /32 which lengths it needs (`class`).
//!
//! Pages and nodes take memory. If no more is available, a word without one names all lengths below it,
//! including those up to /32. All of these prefixes are then in the table. This applies to a whole /14 or /24
//! from its first prefix until its last one is removed. Numbers of pages and nodes are never reused during
//! the life of a map, so a reader never finds the bits of another page or node.
//!
//! A word may name a length that is no longer there. This costs a probe and never gives a wrong answer.

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

/// The longest prefix that bits alone can hold.
pub const LONGEST_TOLD: u8 = 32;

/// The longest prefixes that a word of the root and a word of a page stand for.
const OF_ROOT: u8 = 14;
const OF_PAGE: u8 = 24;

/// The number of words in the root, which comes first.
const ROOT_WORDS: u32 = 1 << OF_ROOT;
/// A page has two to this power words.
const PAGE_BITS: u32 = (OF_PAGE - OF_ROOT) as u32;
/// A node has two to this power words: four say which /32s are listed, and four which /32s have longer
/// prefixes.
const NODE_BITS: u32 = 3;
const LONGER_WORDS: u32 = 4;
/// The eight words of classes that follow in a classed node.
const CLASS_WORDS: u32 = 8;
/// The number of /32s in one of these words, and the bits of that number.
const CLASSED_32S: u32 = BITS / class::CLASS_BITS;
const CLASSED_32S_BITS: u32 = CLASSED_32S.ilog2();
/// The number of bits in a word, and the bits of that number.
const BITS: u32 = 64;
const BIT_BITS: u32 = 6;
/// The bits of the number of a byte in a word.
const BYTE_BITS: u32 = 3;

/// The bit that says that everything below the word is listed.
const WHOLE: u64 = 1 << 63;
/// The bit in a page's word that says that its node is classed.
const CLASSED_BIT: u32 = 62;
const CLASSED: u64 = 1 << CLASSED_BIT;

/// The layout of the words of one level. The lowest bits stand for lengths, from 64 down to the shortest
/// below this level. One bit for all lengths beyond 64 follows, then the number of the page or node, then the
/// flags.
#[derive(Clone, Copy)]
struct Cut {
    lengths: u32,
    /// The number of bits of the page or node number.
    number: u32,
    /// A page or node that the number points to has two to this power words.
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

    /// The bit of this length, which must be longer than the prefix that the word stands for.
    const fn length(self, length: u8) -> u64 {
        if length > 64 { 1 << self.lengths } else { 1 << (64 - length) }
    }
}

/// A set of prefix lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Lengths up to 64: length n is the bit 64 - n.
    pub to_64: u64,
    /// Whether there is any length beyond 64.
    pub beyond_64: bool,
}

/// The answer of the levels for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Below {
    /// The address is not listed.
    Nothing,
    /// The address is listed, as the word or node at this place says.
    Everything(Told),
    /// The address is listed if the table holds a prefix of one of these lengths that covers it.
    Some(Lengths),
}

/// The place where the levels list an address: the number of a word, or of a node combined with [`OF_NODE`].
pub type Told = u32;

/// The flag in [`Told`] that says that a bit of a node decided.
const OF_NODE: Told = 1 << 31;

/// Looks up the address whose network half is `network`. `last_start` gives the last byte at which a page or
/// a node may begin. It is called only for lookups beyond the root, which few packets need. No word names a
/// later byte, but no verifier can know that, so it is compared. A mask would make the processor wait for the
/// result, and the map would have to be a power of two.
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

/// The class of the /32 with this number in `node`, which `word` names. For a node without classes another
/// word is loaded and ignored, because a processor cannot predict which nodes have classes.
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
