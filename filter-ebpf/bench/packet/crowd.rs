//! Who sends: every number below 2³² names an address of its own, and numbers in a row name addresses that look random.
//!
//! So a program can make up listed and unlisted senders without reading memory, which would push the tables that are
//! being measured out of the caches. The runner blocks the first of them by the same function.

/// The address of this number: the finaliser of MurmurHash3, which is a permutation.
#[inline(always)]
pub const fn address(number: u32) -> u32 {
    let mixed = (number ^ number >> 16).wrapping_mul(0x85EB_CA6B);
    let mixed = (mixed ^ mixed >> 13).wrapping_mul(0xC2B2_AE35);
    mixed ^ mixed >> 16
}

/// The /64 of this number: the same with words twice as wide.
#[inline(always)]
pub const fn network(number: u32) -> u64 {
    let number = number as u64;
    let mixed = (number ^ number >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    let mixed = (mixed ^ mixed >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    mixed ^ mixed >> 33
}
