//! IPv4 prefixes up to /24: one bit for each /24, and a summary with one bit for each /20.
//!
//! The summary takes 128 KiB and stays in a fast cache, so a packet from a /20 without a blocked /24 costs
//! nothing more. With ten thousand /24s spread over the internet, one unlisted source in a hundred needs the
//! second lookup. With one summary bit for each /16 it was one in seven, and a branch that processors cannot
//! predict.

use crate::{Words, WordsMut};

/// The number of words in the map: the summary, then the /24s.
pub const WORDS: u32 = SUMMARY_WORDS + (1 << 24) / 64;
const SUMMARY_WORDS: u32 = (1 << 20) / 64;

/// The number of bits in a word, and so of /24s.
const BITS: u32 = 64;
/// The number of /24s in a /20.
const SLASH24S: u32 = 16;
/// The number of /20s in a word of /24s, and the mask of their bits.
const SLASH20S: u32 = BITS / SLASH24S;
const ALL_SLASH20S: u64 = 0xF;
/// The number of words of /24s that share one word of the summary.
const ROW: u32 = BITS / SLASH20S;

/// True if the /24 of `address` is blocked.
#[inline(always)]
pub fn covers(words: &(impl Words + ?Sized), address: u32) -> bool {
    bit(words, 0, address >> 12) && bit(words, SUMMARY_WORDS, address >> 8)
}

/// Blocks those of the `count` /24s from number `first` on that are `wanted`, and unblocks the others.
/// `wanted` returns a whole word: word n has the /24s from number 64 n on.
///
/// Each word is replaced by one store, so a /24 that stays blocked never passes in between. A /20 enters the
/// summary before its /24s, and leaves it after them.
pub fn set(words: &(impl WordsMut + ?Sized), first: u32, count: u32, wanted: impl Fn(u32) -> u64) {
    let last = first + (count - 1);
    for word in first / BITS..=last / BITS {
        let mask = bits_of(first, last, word);
        set_word(words, word, mask, wanted(word) & mask);
    }
}

/// Changes the bits of `mask` in the word with this number.
fn set_word(words: &(impl WordsMut + ?Sized), word: u32, mask: u64, wanted: u64) {
    let before = words.load(SUMMARY_WORDS + word);
    let after = before & !mask | wanted;
    let (at, shift) = (word / ROW, word % ROW * SLASH20S);
    let own = slash20s(after) << shift;
    let summary = words.load(at);
    words.change(at, summary | own);
    words.change(SUMMARY_WORDS + word, after);
    words.change(at, summary & !(ALL_SLASH20S << shift) | own);
}

/// The bits of those /20s that have a /24 in this word.
fn slash20s(word: u64) -> u64 {
    (0..SLASH20S).fold(0, |bits, number| {
        let has_any = word >> (number * SLASH24S) & 0xFFFF != 0;
        bits | u64::from(has_any) << number
    })
}

/// The bits of the /24s from number 64 `word` on.
pub fn slash24s(words: &(impl Words + ?Sized), word: u32) -> u64 {
    words.load(SUMMARY_WORDS + word)
}

/// The bits of the /24s from number `first` to `last` that are in this word. At least one must be in it.
pub fn bits_of(first: u32, last: u32, word: u32) -> u64 {
    let (from, to) = (first.max(word * BITS) % BITS, last.min(word * BITS + (BITS - 1)) % BITS);
    u64::MAX << from & u64::MAX >> (BITS - 1 - to)
}

#[inline(always)]
fn bit(words: &(impl Words + ?Sized), base: u32, number: u32) -> bool {
    words.load(base + number / 64) >> (number % 64) & 1 != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use std::{vec, vec::Vec};

    fn empty() -> Vec<Cell<u64>> {
        vec![Cell::new(0); WORDS as usize]
    }

    #[test]
    fn prefix_covers_only_its_own_addresses() {
        let words = empty();
        set(&words[..], 0x0A_0100, 512, |_| u64::MAX);
        assert!(!covers(&words[..], 0x0A00_FFFF));
        assert!(covers(&words[..], 0x0A01_0000));
        assert!(covers(&words[..], 0x0A02_FFFF));
        assert!(!covers(&words[..], 0x0A03_0000));
    }

    #[test]
    fn narrower_prefix_stays_when_wider_is_removed() {
        let words = empty();
        set(&words[..], 0x0A_0000, 1 << 16, |_| u64::MAX);
        set(
            &words[..],
            0x0A_0000,
            1 << 16,
            |word| if word == 0x0A_0304 / 64 { 1 << (0x0A_0304 % 64) } else { 0 },
        );
        assert!(covers(&words[..], 0x0A03_0401));
        assert!(!covers(&words[..], 0x0A03_0501));
        set(&words[..], 0x0A_0304, 1, |_| 0);
        assert!(words.iter().all(|word| word.get() == 0), "an empty set leaves no bit behind");
    }

    #[test]
    fn neighbours_in_a_word_stay_unchanged() {
        let words = empty();
        for first in [0x0A_0000, 0x0A_0011, 0x0A_003F] {
            set(&words[..], first, 1, |_| u64::MAX);
        }
        set(&words[..], 0x0A_0010, 16, |_| 0);
        let blocked = |slash24: u32| covers(&words[..], slash24 << 8);
        assert!(blocked(0x0A_0000) && blocked(0x0A_003F));
        assert!((0x0A_0001..0x0A_003F).all(|slash24| !blocked(slash24)));
        assert_eq!(words[0x0A_0000 / 16 / 64].get(), 0b1001, "a /20 with nothing in it is not asked for");
    }

    #[test]
    fn the_whole_internet_fits() {
        let words = empty();
        set(&words[..], 0, 1 << 24, |_| u64::MAX);
        assert!(covers(&words[..], 0) && covers(&words[..], u32::MAX));
        assert!(words.iter().all(|word| word.get() == u64::MAX));
    }
}
