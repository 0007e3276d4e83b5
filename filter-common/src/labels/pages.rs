//! The labels of entries that are stored as bits. A directory has one entry for every 256 bits. The entry
//! holds one label for all of them, or the number of a page with a label for each. A page exists only if
//! entries of several lists are among these 256 bits.

use super::{Label, LabelBytes, Labels, LabelsMut, OTHER, word_of, words_for};
use crate::{Rest, Words, WordsMut};

/// The number of labels in a page.
pub const PAGE: u32 = 256;

/// The page count is a power of two; this is the range of its exponent.
pub const SIZES: core::ops::RangeInclusive<u32> = 6..=16;

/// The number of words in the IPv4 directory: one entry for each /16, whose /24s share a page.
pub const DIRECTORY4: u32 = (1 << 16) / ENTRIES;

/// The number of entries in a directory word.
const ENTRIES: u32 = 2;
const ENTRY_BITS: u32 = u64::BITS / ENTRIES;

/// Entries below this are labels, all others are pages.
const FIRST_PAGE: u32 = 1 << Label::BITS;

/// The content of a directory entry for 256 labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// All 256 labels are this one.
    Whole(Label),
    /// The labels are in the page with this number.
    Page(u32),
}

/// The number of words in a map whose directory has `directory` words and which has 2^`size_bits` pages.
pub const fn words(directory: u32, size_bits: u32) -> u32 {
    directory + words_for(PAGE << size_bits)
}

/// The label number `at` of the directory entry `number`, in a map with `pages` pages.
#[inline(always)]
pub fn label(words: &(impl Words + ?Sized), directory: u32, pages: u32, number: u32, at: u32) -> Label {
    match entry(words, number) {
        Entry::Whole(label) => label,
        Entry::Page(page) => {
            let number = page * PAGE + at % PAGE;
            // Linux 6.1 does not infer how large the sum can be, so this comparison shows it.
            let is_one = word_of(number) < pages * word_of(PAGE);
            if is_one { LabelBytes(words.rest(directory)).label(number) } else { OTHER }
        }
    }
}

/// The directory entry with this number.
#[inline(always)]
pub fn entry(words: &(impl Words + ?Sized), number: u32) -> Entry {
    let entry = (words.load(number / ENTRIES) >> bit_of(number)) as u32;
    if entry < FIRST_PAGE { Entry::Whole(entry as Label) } else { Entry::Page(entry - FIRST_PAGE) }
}

/// Replaces the directory entry with this number by one store.
pub fn set_entry(words: &(impl WordsMut + ?Sized), number: u32, entry: Entry) {
    let entry = match entry {
        Entry::Whole(label) => label.into(),
        Entry::Page(page) => page + FIRST_PAGE,
    };
    let (at, bit) = (number / ENTRIES, bit_of(number));
    let others = words.load(at) & !(u64::from(u32::MAX) << bit);
    words.change(at, others | u64::from(entry) << bit);
}

/// The labels in the page with this number.
pub fn page<W: WordsMut + ?Sized>(words: &W, directory: u32, number: u32) -> impl LabelsMut {
    Rest::new(LabelBytes(Rest::new(words, directory)), number * PAGE)
}

#[inline(always)]
const fn bit_of(number: u32) -> u32 {
    number % ENTRIES * ENTRY_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use std::vec;

    #[test]
    fn entry_has_one_label_or_a_page() {
        let memory = vec![Cell::new(0); words(DIRECTORY4, 6) as usize];
        let words = &memory[..];
        let label = |number, at| label(words, DIRECTORY4, 64, number, at);
        set_entry(words, 0x0A00, Entry::Whole(7));
        set_entry(words, 0x0A01, Entry::Whole(8));
        assert_eq!([label(0x0A00, 255), label(0x0A01, 0), label(0x0A02, 0)], [7, 8, 0]);
        page(words, DIRECTORY4, 63).write(5, 9);
        page(words, DIRECTORY4, 63).write(255, 250);
        set_entry(words, 0x0A00, Entry::Page(63));
        assert_eq!([label(0x0A00, 5), label(0x0A00, 255), label(0x0A00, 6)], [9, 250, 0]);
        assert_eq!(label(0x0A01, 0), 8, "its neighbour stays");
    }
}
