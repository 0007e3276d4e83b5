//! The labels of prefixes that the levels hold. Each word of root and pages has a label byte. Each node has
//! an entry of a directory, with pages after the directory for nodes whose /32s have several labels
//! (`labels::pages`).
//!
//! Nodes are eight words, so a node's directory entry uses the space of the label bytes of its words.

use super::{
    BIT_BITS, BITS, BYTE_BITS, LONGEST_TOLD, NODE_BITS, OF_NODE, OF_PAGE, OF_ROOT, PAGE, PAGE_BITS, ROOT,
    Told, WHOLE, size, slash14, slash24, slash32,
};
use crate::Words;
use crate::labels::pages::{self, label};
use crate::labels::{Label, LabelBytes, Labels as _, OTHER, word_of};
use crate::target::{Prefix, Prefix6};

/// The number of labels in a node.
const SLASH32S: u32 = pages::PAGE;
/// The number of directory entries that fit in a node's word of labels. Only the first is used.
const ENTRIES: u32 = 2;

/// The number of directory words for levels of `levels` words.
pub const fn directory(levels: u32) -> u32 {
    levels / u64::BITS * Label::BITS
}

/// The place of a prefix's label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The byte of this word of root or page.
    Word(u32),
    /// The label of a /32 in a node: the number of the node, and of the /32 in it.
    Node(u32, u32),
}

/// The label of an address that the levels list at the place `told`. `last_start` is the argument of
/// [`below`](super::below), and needed for the same reason.
#[inline(always)]
pub fn told(labels: &(impl Words + ?Sized), last_start: u64, pages: u32, network: u64, told: Told) -> Label {
    if told & OF_NODE == 0 {
        return beside(labels, last_start, told);
    }
    let node = told ^ OF_NODE;
    if u64::from(node) > last_start >> (NODE_BITS + BYTE_BITS) {
        return OTHER;
    }
    label(labels, directory(size::of_last_start(last_start) as u32), pages, node * ENTRIES, slash32(network))
}

/// The label byte of a word. Linux 6.1 does not infer that a number below a limit stays below it when its
/// last bits are cleared. Therefore the start of the label word that is loaded is compared.
#[inline(always)]
fn beside(labels: &(impl Words + ?Sized), last_start: u64, told: Told) -> Label {
    let begins = u64::from(word_of(told)) << BYTE_BITS;
    if begins >= size::of_last_start(last_start) {
        return OTHER;
    }
    LabelBytes(labels.rest_at(begins)).label(told % (1 << BYTE_BITS))
}

/// The places of the labels of the words or bits that hold this prefix. None if the levels do not hold it.
pub fn places(
    words: &(impl Words + ?Sized),
    prefix: Prefix6,
) -> Option<impl Iterator<Item = (Place, Prefix6)>> {
    let (length, network) = (prefix.length(), (prefix.address() >> 64) as u64);
    let root = slash14(network);
    let page = ROOT.number(words.load(root));
    let first = page << PAGE_BITS | slash24(network);
    let (shown, at, node) = if length <= OF_ROOT {
        (OF_ROOT, root, None)
    } else if page == 0 {
        return None;
    } else if length <= OF_PAGE {
        (OF_PAGE, first, None)
    } else {
        let node = PAGE.number(words.load(first));
        if node == 0 || length > LONGEST_TOLD {
            return None;
        }
        (LONGEST_TOLD, slash32(network), Some(node))
    };
    Some((0..1_u32 << (shown - length)).map(move |number| {
        let spot = prefix.address() | u128::from(number) << (128 - u32::from(shown));
        let place = node.map_or(Place::Word(at + number), |node| Place::Node(node, at + number));
        (place, Prefix::covering(spot, shown))
    }))
}

/// The node for a prefix of more than 24 bits, if there is one.
pub fn node_of(words: &(impl Words + ?Sized), prefix: Prefix6) -> Option<u32> {
    let network = (prefix.address() >> 64) as u64;
    let page = ROOT.number(words.load(slash14(network)));
    let node = if page == 0 || prefix.length() <= OF_PAGE {
        0
    } else {
        PAGE.number(words.load(page << PAGE_BITS | slash24(network)))
    };
    (node != 0).then_some(node)
}

/// True if the words say that the entry whose label is at `place` is listed.
pub fn is_told(words: &(impl Words + ?Sized), place: Place) -> bool {
    match place {
        Place::Word(at) => words.load(at) & WHOLE != 0,
        Place::Node(node, number) => {
            words.load(node << NODE_BITS | number >> BIT_BITS) >> (number % BITS) & 1 != 0
        }
    }
}

/// The number of a node's entry in the directory.
pub const fn entry_of(node: u32) -> u32 {
    node * ENTRIES
}

/// The bits of the /32s that a node says are listed.
pub fn listed(words: &(impl Words + ?Sized), node: u32) -> [u64; (SLASH32S / BITS) as usize] {
    core::array::from_fn(|word| words.load((node << NODE_BITS) + word as u32))
}

/// All listed entries: the place of each label, and the prefix that it belongs to.
pub fn all<W: Words + ?Sized>(words: &W) -> impl Iterator<Item = (Place, Prefix6)> {
    let roots = (0..1_u32 << OF_ROOT).map(move |at| (at, words.load(at)));
    roots.filter(|(_, root)| *root != 0).flat_map(move |(at, root)| {
        let address = u128::from(at) << (128 - OF_ROOT);
        let whole = (root & WHOLE != 0).then(|| (Place::Word(at), Prefix::covering(address, OF_ROOT)));
        whole.into_iter().chain(in_page(words, ROOT.number(root), address))
    })
}

fn in_page<W: Words + ?Sized>(words: &W, page: u32, address: u128) -> impl Iterator<Item = (Place, Prefix6)> {
    let numbers = if page == 0 { 0..0 } else { 0..1_u32 << PAGE_BITS };
    let each = numbers.map(move |number| (number, words.load(page << PAGE_BITS | number)));
    each.filter(|(_, word)| *word != 0).flat_map(move |(number, word)| {
        let (at, address) = (page << PAGE_BITS | number, address | u128::from(number) << 104);
        let whole = (word & WHOLE != 0).then(|| (Place::Word(at), Prefix::covering(address, OF_PAGE)));
        whole.into_iter().chain(in_node(words, PAGE.number(word), address))
    })
}

fn in_node<W: Words + ?Sized>(words: &W, node: u32, address: u128) -> impl Iterator<Item = (Place, Prefix6)> {
    // Most words of a page lead to no node.
    let bits = (node != 0).then(|| listed(words, node)).into_iter().flatten();
    let numbers = (0..)
        .step_by(BITS as usize)
        .zip(bits)
        .flat_map(|(first, bits)| ones(bits).map(move |bit| first + bit));
    numbers.map(move |number| {
        (Place::Node(node, number), Prefix::covering(address | u128::from(number) << 96, LONGEST_TOLD))
    })
}

/// The numbers of the bits that are set.
fn ones(bits: u64) -> impl Iterator<Item = u32> {
    let rest = |bits: &u64| Some(bits & (bits - 1)).filter(|rest| *rest != 0);
    core::iter::successors(Some(bits).filter(|bits| *bits != 0), rest).map(u64::trailing_zeros)
}
