//! Labels of what is told by bits: a directory with an entry for each 256 of them, which tells one label for all, or a page
//! with one for each. Only where lists meet among these 256 there is a page.

use super::{Bytes, Label, Labels, LabelsMut, OTHER, word_of, words_for};
use crate::{Rest, Words, WordsMut};

/// Labels in a page.
pub const PAGE: u32 = 256;

/// How many bits the number of pages may have.
pub const SIZES: core::ops::RangeInclusive<u32> = 6..=16;

/// Words of the directory of IPv4: an entry for each /16, whose /24s share a page.
pub const DIRECTORY4: u32 = (1 << 16) / ENTRIES;

/// Entries in a word of a directory.
const ENTRIES: u32 = 2;
const ENTRY_BITS: u32 = u64::BITS / ENTRIES;

/// Entries below this are labels, the others pages.
const FIRST_PAGE: u32 = 1 << Label::BITS;

/// What a directory tells of 256 labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// All of them are this one.
    Whole(Label),
    /// They are in the page of this number.
    Page(u32),
}

/// Words of a map whose directory has so many, and whose number of pages so many bits.
pub const fn words(directory: u32, size_bits: u32) -> u32 {
    directory + words_for(PAGE << size_bits)
}

/// The label of number `at` among those of this entry, where there are so many pages.
#[inline(always)]
pub fn label(words: &(impl Words + ?Sized), directory: u32, pages: u32, number: u32, at: u32) -> Label {
    match entry(words, number) {
        Entry::Whole(label) => label,
        Entry::Page(page) => {
            let number = page * PAGE + at % PAGE;
            // Linux 6.1 does not see how large the sum can be; it sees this.
            let is_one = word_of(number) < pages * word_of(PAGE);
            if is_one { Bytes(words.rest(directory)).label(number) } else { OTHER }
        }
    }
}

/// The entry of this number.
#[inline(always)]
pub fn entry(words: &(impl Words + ?Sized), number: u32) -> Entry {
    let entry = (words.load(number / ENTRIES) >> bit_of(number)) as u32;
    if entry < FIRST_PAGE { Entry::Whole(entry as Label) } else { Entry::Page(entry - FIRST_PAGE) }
}

/// Replaces it, by one store.
pub fn set_entry(words: &(impl WordsMut + ?Sized), number: u32, entry: Entry) {
    let entry = match entry {
        Entry::Whole(label) => label.into(),
        Entry::Page(page) => page + FIRST_PAGE,
    };
    let (at, bit) = (number / ENTRIES, bit_of(number));
    let others = words.load(at) & !(u64::from(u32::MAX) << bit);
    words.change(at, others | u64::from(entry) << bit);
}

/// The labels in the page of this number.
pub fn page<W: WordsMut + ?Sized>(words: &W, directory: u32, number: u32) -> impl LabelsMut {
    Rest::new(Bytes(Rest::new(words, directory)), number * PAGE)
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
    fn there_is_one_label_for_all_or_one_for_each() {
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
