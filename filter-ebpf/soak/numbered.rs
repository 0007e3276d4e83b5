//! IPv6 sources by number: first those that were told, then as many as there are numbers. Every second of these is anybody in
//! 2000::/3; the others share their first bits with one that was told, and how many bits is as random as the rest.
//!
//! The program asks for them, and the runner repeats them to say what should have become of each.

use filter_common::hash::Address6;

/// Bits of an address.
const BITS: u64 = 128;

/// The source of this number. `count` of them are told, at least one.
#[inline(always)]
pub fn source(number: u64, count: u64, told: impl Fn(u64) -> Address6) -> Address6 {
    if number < count {
        return told(number);
    }
    let [choice, high, low] = [0, 1, 2].map(|part| random(number * 3 + part));
    if choice & 1 == 0 {
        return Address6 { high: 1 << 61 | high >> 3, low };
    }
    let near = told(((choice >> 32) * count) >> 32);
    let shared = (choice >> 1) % BITS;
    if shared < 64 {
        Address6 { high: near.high ^ high >> shared, low: near.low ^ low }
    } else {
        Address6 { high: near.high, low: near.low ^ low >> (shared - 64) }
    }
}

/// SplitMix64: numbers in a row, each mixed by a permutation.
#[inline(always)]
const fn random(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}
