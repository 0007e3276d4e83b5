//! IPv4 prefixes up to /24: one bit for each /24, behind a summary of one bit for each /20.
//!
//! The summary takes 128 KiB and so stays in a near cache: a packet from a /20 without any blocked /24 pays for nothing
//! else. Under a list of ten thousand /24s all over the internet one unlisted source in a hundred has to ask further; with
//! one bit for each /16 it was one in seven, and a branch that the processor cannot foresee.

use crate::{Words, WordsMut};

/// Words of the whole map: the summary, then the /24s.
pub const WORDS: u32 = SUMMARY_WORDS + (1 << 24) / 64;
const SUMMARY_WORDS: u32 = (1 << 20) / 64;

/// /24s in a /20.
const SLASH24S: u32 = 16;

/// Is the /24 of `address` blocked?
#[inline(always)]
pub fn covers(words: &(impl Words + ?Sized), address: u32) -> bool {
    bit(words, 0, address >> 12) && bit(words, SUMMARY_WORDS, address >> 8)
}

/// Blocks the `count` /24s from number `first` on, those for which `wanted` holds, and lets the others pass.
///
/// Each word is replaced by a single store, so that a /24 that stays blocked is never let through in between.
/// A /20 enters the summary before its /24s, and leaves it after them.
pub fn set(words: &(impl WordsMut + ?Sized), first: u32, count: u32, wanted: impl Fn(u32) -> bool) {
    let last = first + (count - 1);
    for slash20 in first / SLASH24S..=last / SLASH24S {
        let own = slash20 * SLASH24S;
        let (from, to) = (first.max(own), last.min(own + (SLASH24S - 1)));
        let is_wanted = (from..=to).any(&wanted);
        if is_wanted {
            set_bits(words, 0, slash20, slash20, |_| true);
        }
        set_bits(words, SUMMARY_WORDS, from, to, &wanted);
        if !is_wanted && !(own..own + SLASH24S).any(|slash24| bit(words, SUMMARY_WORDS, slash24)) {
            set_bits(words, 0, slash20, slash20, |_| false);
        }
    }
}

#[inline(always)]
fn bit(words: &(impl Words + ?Sized), base: u32, number: u32) -> bool {
    words.load(base + number / 64) >> (number % 64) & 1 != 0
}

fn set_bits(
    words: &(impl WordsMut + ?Sized),
    base: u32,
    first: u32,
    last: u32,
    wanted: impl Fn(u32) -> bool,
) {
    for word in first / 64..=last / 64 {
        let (from, to) = (first.max(word * 64), last.min(word * 64 + 63));
        let before = words.load(base + word);
        let after = (from..=to).fold(before, |bits, number| {
            let bit = 1 << (number % 64);
            if wanted(number) { bits | bit } else { bits & !bit }
        });
        if after != before {
            words.store(base + word, after);
        }
    }
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
    fn a_prefix_covers_its_own_addresses_and_no_others() {
        let words = empty();
        set(&words[..], 0x0A_0100, 512, |_| true);
        assert!(!covers(&words[..], 0x0A00_FFFF));
        assert!(covers(&words[..], 0x0A01_0000));
        assert!(covers(&words[..], 0x0A02_FFFF));
        assert!(!covers(&words[..], 0x0A03_0000));
    }

    #[test]
    fn what_stays_wanted_stays_blocked_when_a_wider_prefix_leaves() {
        let words = empty();
        set(&words[..], 0x0A_0000, 1 << 16, |_| true);
        set(&words[..], 0x0A_0000, 1 << 16, |slash24| slash24 == 0x0A_0304);
        assert!(covers(&words[..], 0x0A03_0401));
        assert!(!covers(&words[..], 0x0A03_0501));
        set(&words[..], 0x0A_0304, 1, |_| false);
        assert!(words.iter().all(|word| word.get() == 0), "an empty set leaves no bit behind");
    }

    #[test]
    fn the_whole_internet_fits() {
        let words = empty();
        set(&words[..], 0, 1 << 24, |_| true);
        assert!(covers(&words[..], 0) && covers(&words[..], u32::MAX));
        assert!(words.iter().all(|word| word.get() == u64::MAX));
    }
}
