//! Changes the levels while packets read them. Each word is changed by one store. The order of stores
//! guarantees that a prefix listed before and after a change is always found, and that a prefix not listed is
//! never found.
//!
//! A new prefix is first in the table, then its length is named, then the bit of its /32 is set. A removal
//! happens in the reverse order. A caller that adds a prefix in the place of a removed one must wait for a
//! grace period in between.

use super::class::{self, ANY, CLASS};
use super::{
    BIT_BITS, BITS, BYTE_BITS, CLASS_WORDS, CLASSED, Cut, LONGER_WORDS, LONGEST_TOLD, NODE_BITS, OF_PAGE,
    OF_ROOT, PAGE, PAGE_BITS, ROOT, ROOT_WORDS, WHOLE, Way, size, way,
};
use crate::WordsMut;
use crate::target::{Prefix, Prefix6};

/// The longest prefix that a bit of a node stands for.
const OF_NODE: u8 = LONGEST_TOLD;

/// The highest page number that fits into a word of the root.
const LAST_PAGE: u32 = (1 << ROOT.number) - 1;

/// The prefixes that are still listed when one is removed.
pub trait Others {
    /// True if a listed prefix of at least `shortest` bits covers this one. The prefix itself counts.
    fn cover(&self, prefix: Prefix6, shortest: u8) -> bool;

    /// True if a longer listed prefix is inside this one.
    fn are_within(&self, prefix: Prefix6) -> bool;
}

/// The levels in some words, for the daemon that changes them.
#[derive(Clone, Debug)]
pub struct Levels<W> {
    words: W,
    /// The number of words.
    size: u32,
    /// The next page number. Pages are allocated upwards, starting after the root.
    page: u32,
    /// The last node number. Nodes are allocated downwards, starting from the end.
    node: u32,
    /// The number of words that are no longer reachable.
    lost: u32,
    /// True once a page or node could not be allocated.
    is_short: bool,
}

impl<W: WordsMut> Levels<W> {
    /// Empty levels in `size` words, all of which must be zero.
    pub const fn new(words: W, size: u32) -> Self {
        let node = (size::last_start(size) >> (NODE_BITS + BYTE_BITS)) as u32 + 1;
        Self { words, size, page: ROOT_WORDS >> PAGE_BITS, node, lost: 0, is_short: false }
    }

    /// The words that hold the levels.
    pub const fn words(&self) -> &W {
        &self.words
    }

    /// The number of words.
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// The number of words that are not allocated.
    pub const fn free(&self) -> u32 {
        (self.node << NODE_BITS) - (self.page << PAGE_BITS)
    }

    /// The number of words that a copy takes.
    pub const fn packed(&self) -> u32 {
        self.size - self.free() - self.lost
    }

    /// The number of additional words that these ways take. No two ways may lead to the same /24, and ways to
    /// the same /14 must be adjacent. Once the result exceeds `most`, it is not exact.
    pub fn words_for(&self, ways: impl Iterator<Item = Way>, most: u32) -> u32 {
        way::words_for(&self.words, ways, most)
    }

    /// True if a copy would have room for entries that found none here.
    pub const fn is_worth_copying(&self) -> bool {
        self.is_short && self.lost > (self.size - size::AROUND) / 4
    }

    /// True if the levels alone hold such a prefix, so that it needs no entry in the table.
    pub fn tells(&self, prefix: Prefix6) -> bool {
        if prefix.length() <= OF_ROOT {
            return true;
        }
        let page = ROOT.number(self.words.load(root_of(prefix)));
        if prefix.length() <= OF_PAGE || page == 0 {
            return page != 0;
        }
        prefix.length() <= OF_NODE && PAGE.number(self.words.load(page_word(page, prefix))) != 0
    }

    /// Allocates the page and the node for a prefix to be added, if nothing is below its words yet and there
    /// is room.
    pub fn make_way(&mut self, prefix: Prefix6) {
        if prefix.length() <= OF_ROOT {
            return;
        }
        let page = self.way(ROOT, root_of(prefix), Self::new_page);
        if prefix.length() > OF_PAGE && page != 0 {
            self.way(PAGE, page_word(page, prefix), Self::new_node);
        }
    }

    /// Makes a prefix visible to packets, after `make_way` was called for it. A prefix that the levels do not
    /// hold must be in the table already.
    pub fn show(&mut self, prefix: Prefix6) {
        if prefix.length() <= OF_ROOT {
            return spots(prefix, OF_ROOT).for_each(|spot| self.set(root_of(spot), WHOLE));
        }
        let page = ROOT.number(self.words.load(root_of(prefix)));
        if page == 0 {
            return self.set(root_of(prefix), ROOT.length(prefix.length()));
        }
        if prefix.length() <= OF_PAGE {
            return spots(prefix, OF_PAGE).for_each(|spot| self.set(page_word(page, spot), WHOLE));
        }
        let word = page_word(page, prefix);
        let node = PAGE.number(self.words.load(word));
        if node == 0 {
            return self.set(word, PAGE.length(prefix.length()));
        }
        if prefix.length() <= OF_NODE {
            return spots(prefix, OF_NODE).for_each(|spot| self.set_bit(node_bit(node, spot)));
        }
        self.show_longer(word, prefix);
    }

    /// Makes a prefix longer than /32 visible, below the page's word at `at`, which must have a node.
    fn show_longer(&mut self, at: u32, prefix: Prefix6) {
        if is_one_more(self.words.load(at), prefix.length()) {
            self.class_node(at);
        }
        self.set(at, PAGE.length(prefix.length()));
        let word = self.words.load(at);
        let (longer, bit) = node_bit(PAGE.number(word), prefix);
        let longer = longer | LONGER_WORDS;
        if word & CLASSED != 0 {
            let is_first = self.words.load(longer) >> bit & 1 == 0;
            self.class(word, super::slash32(network(prefix)), class::of(prefix.length()), is_first);
        }
        self.set_bit((longer, bit));
    }

    /// Replaces the node of the page's word at `at` by a classed node, if there is room.
    fn class_node(&mut self, at: u32) {
        let word = self.words.load(at);
        let fresh = self.new_node_of(CLASS_WORDS * 2);
        if fresh == 0 {
            return;
        }
        self.copy_node(PAGE.number(word), CLASS_WORDS, fresh, &self.words);
        let classed = renumbered(PAGE, word, fresh) | CLASSED;
        let lengths = PAGE.lengths(word);
        let only = if lengths.to_64.is_power_of_two() && !lengths.beyond_64 {
            class::of(64 - lengths.to_64.trailing_zeros() as u8)
        } else {
            ANY
        };
        for slash32 in 0..4 * BITS {
            self.class(classed, slash32, only, true);
        }
        self.words.store(at, classed);
        self.lost += CLASS_WORDS;
    }

    /// Records that a prefix of this class is below the /32 with this number, in the node that `word` names.
    /// `is_first` says whether it is the first one there.
    fn class(&self, word: u64, slash32: u32, class: u64, is_first: bool) {
        let (at, bit) = super::class_place(slash32);
        let at = (PAGE.number(word) << NODE_BITS) + at;
        let before = self.words.load(at);
        let after = if is_first || before >> bit & CLASS == class { class } else { ANY };
        self.words.change(at, before & !(CLASS << bit) | after << bit);
    }

    /// Hides a removed prefix, except where `others` cover it. Its table entry must be removed afterwards.
    pub fn hide(&mut self, prefix: Prefix6, others: &impl Others) {
        if prefix.length() <= OF_ROOT {
            return uncovered(prefix, 0, OF_ROOT, others).for_each(|spot| {
                self.clear(root_of(spot), WHOLE);
                self.tidy(ROOT, root_of(spot), spot, others);
            });
        }
        let page = ROOT.number(self.words.load(root_of(prefix)));
        if page != 0 {
            self.hide_in_page(page, prefix, others);
        }
        self.tidy(ROOT, root_of(prefix), Prefix::covering(prefix.address(), OF_ROOT), others);
    }

    /// Copies all reachable words into `fresh`, which must be empty and have enough room.
    pub fn copy_to<V: WordsMut>(&self, fresh: &mut Levels<V>) {
        for at in 0..ROOT_WORDS {
            let root = self.words.load(at);
            if root == 0 {
                continue;
            }
            let page = ROOT.number(root);
            let copy = if page == 0 { 0 } else { fresh.new_page() };
            if copy != 0 {
                self.copy_page(page, copy, fresh);
            }
            fresh.words.change(at, renumbered(ROOT, root, copy));
        }
    }

    fn copy_page<V: WordsMut>(&self, page: u32, copy: u32, fresh: &mut Levels<V>) {
        for number in 0..1 << PAGE_BITS {
            let word = self.words.load(page << PAGE_BITS | number);
            let node = PAGE.number(word);
            let node_copy = if node == 0 { 0 } else { fresh.new_node_of(node_words(word)) };
            if node_copy != 0 {
                self.copy_node(node, node_words(word), node_copy, &fresh.words);
            }
            fresh.words.change(copy << PAGE_BITS | number, renumbered(PAGE, word, node_copy));
        }
    }

    fn copy_node(&self, node: u32, count: u32, copy: u32, fresh: &impl WordsMut) {
        for at in 0..count {
            let bits = self.words.load((node << NODE_BITS) + at);
            fresh.change((copy << NODE_BITS) + at, bits);
        }
    }

    fn hide_in_page(&mut self, page: u32, prefix: Prefix6, others: &impl Others) {
        if prefix.length() <= OF_PAGE {
            return uncovered(prefix, OF_ROOT + 1, OF_PAGE, others).for_each(|spot| {
                self.clear(page_word(page, spot), WHOLE);
                self.tidy(PAGE, page_word(page, spot), spot, others);
            });
        }
        let node = PAGE.number(self.words.load(page_word(page, prefix)));
        if node != 0 {
            self.hide_in_node(node, prefix, others);
        }
        let slash24 = Prefix::covering(prefix.address(), OF_PAGE);
        self.tidy(PAGE, page_word(page, slash24), slash24, others);
    }

    fn hide_in_node(&self, node: u32, prefix: Prefix6, others: &impl Others) {
        if prefix.length() <= OF_NODE {
            let unlisted = uncovered(prefix, OF_PAGE + 1, OF_NODE, others);
            return unlisted.for_each(|spot| self.clear_bit(node_bit(node, spot)));
        }
        let slash32 = Prefix::covering(prefix.address(), OF_NODE);
        if !others.are_within(slash32) {
            let (word, bit) = node_bit(node, slash32);
            self.clear_bit((word | LONGER_WORDS, bit));
        }
    }

    /// Clears the word at `at` if nothing is listed below it any more.
    fn tidy(&mut self, cut: Cut, at: u32, spot: Prefix6, others: &impl Others) {
        let word = self.words.load(at);
        if word & WHOLE == 0 && word != 0 && !others.are_within(spot) {
            self.words.store(at, 0);
            self.lost += match cut.number(word) {
                0 => 0,
                _ if cut.below == NODE_BITS => node_words(word),
                _ => 1 << cut.below,
            };
        }
    }

    /// The page or node number in the word at `at`. Allocates a new one if nothing is below the word yet.
    /// Returns 0 if there is none.
    fn way(&mut self, cut: Cut, at: u32, new: fn(&mut Self) -> u32) -> u32 {
        let word = self.words.load(at);
        if word & !WHOLE != 0 {
            return cut.number(word);
        }
        let number = new(self);
        self.words.change(at, word | cut.with_number(number));
        number
    }

    fn new_page(&mut self) -> u32 {
        if self.page > LAST_PAGE || !self.has_room(1 << PAGE_BITS) {
            self.is_short = true;
            return 0;
        }
        self.page += 1;
        self.page - 1
    }

    fn new_node(&mut self) -> u32 {
        let node = self.new_node_of(1 << NODE_BITS);
        self.is_short |= node == 0;
        node
    }

    /// Allocates a node of `words` words. Returns 0 if there is no room.
    fn new_node_of(&mut self, words: u32) -> u32 {
        if !self.has_room(words) {
            return 0;
        }
        self.node -= words >> NODE_BITS;
        self.node
    }

    const fn has_room(&self, words: u32) -> bool {
        words <= self.free()
    }

    fn set(&self, at: u32, bits: u64) {
        self.words.change(at, self.words.load(at) | bits);
    }

    fn clear(&self, at: u32, bits: u64) {
        self.words.change(at, self.words.load(at) & !bits);
    }

    fn set_bit(&self, (at, bit): (u32, u32)) {
        self.set(at, 1 << bit);
    }

    fn clear_bit(&self, (at, bit): (u32, u32)) {
        self.clear(at, 1 << bit);
    }
}

/// True if /`length` is new in this word of a /24 that already names other lengths shorter than /64. Lengths
/// from /64 on, which are mostly single bans of hosts, would make classes useless.
fn is_one_more(word: u64, length: u8) -> bool {
    let before = PAGE.lengths(word).to_64 & !1;
    word & CLASSED == 0 && length < 64 && before != 0 && before & PAGE.length(length) == 0
}

/// The number of words of the node that a page's word names.
const fn node_words(word: u64) -> u32 {
    if word & CLASSED != 0 { 2 * CLASS_WORDS } else { CLASS_WORDS }
}

/// The word with this number in place of its own.
fn renumbered(cut: Cut, word: u64, number: u32) -> u64 {
    word ^ cut.with_number(cut.number(word)) | cut.with_number(number)
}

/// All prefixes of `length` bits within this one, which must not be longer.
fn spots(prefix: Prefix6, length: u8) -> impl Iterator<Item = Prefix6> {
    let count = 1_u128 << (length - prefix.length());
    (0..count).map(move |number| Prefix::covering(prefix.address() | number << (128 - length), length))
}

/// The prefixes of `length` bits within this one that no other prefix of `shortest` to `length` bits covers.
fn uncovered(
    prefix: Prefix6,
    shortest: u8,
    length: u8,
    others: &impl Others,
) -> impl Iterator<Item = Prefix6> {
    let within = (!others.cover(prefix, shortest)).then(|| spots(prefix, length));
    within.into_iter().flatten().filter(move |spot| !others.cover(*spot, prefix.length() + 1))
}

fn root_of(prefix: Prefix6) -> u32 {
    super::slash14(network(prefix))
}

fn page_word(page: u32, prefix: Prefix6) -> u32 {
    page << PAGE_BITS | super::slash24(network(prefix))
}

/// The word and the bit of a /32 in a node.
fn node_bit(node: u32, prefix: Prefix6) -> (u32, u32) {
    let slash32 = super::slash32(network(prefix));
    (node << NODE_BITS | slash32 >> BIT_BITS, slash32 % BITS)
}

fn network(prefix: Prefix6) -> u64 {
    (prefix.address() >> 64) as u64
}
