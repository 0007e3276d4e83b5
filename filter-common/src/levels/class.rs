//! Classes of prefix lengths. Below most /32s all longer prefixes have one length, while below a /24 there
//! are several. Two bits for each /32 say which lengths a lookup can skip there.
//!
//! A class keeps a contiguous range of lengths. Applying it takes two shifts and no branch that a processor
//! would have to predict.

/// The bits of a class, and the mask of all of them.
pub const CLASS_BITS: u32 = 2;
pub const CLASS: u64 = 0b11;

/// All lengths, including those beyond 64.
pub const ANY: u64 = 0;
/// Length 48, which most end users have.
const SITE: u64 = 1;
/// Lengths 33 to 40.
const WIDE: u64 = 2;
/// Lengths 41 to 64.
const NARROW: u64 = 3;

/// For each class, the lowest bit that it keeps in a word of a page, and the difference between 64 and its
/// number of bits.
const LOWEST: u64 = 16 << (BYTE * SITE) | 24 << (BYTE * WIDE);
const SHORT: u64 = 63 << (BYTE * SITE) | 56 << (BYTE * WIDE) | 40 << (BYTE * NARROW);
const BYTE: u64 = 8;

/// The class of a length beyond 32.
pub const fn of(length: u8) -> u64 {
    match length {
        48 => SITE,
        33..=40 => WIDE,
        41..=64 => NARROW,
        _ => ANY,
    }
}

/// The bits of a page's word that this class keeps.
#[inline(always)]
pub const fn kept(class: u64) -> u64 {
    let byte = BYTE * class;
    u64::MAX >> (SHORT >> byte & 63) << (LOWEST >> byte & 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_keeps_its_lengths() {
        for length in 33..=64 {
            let bit = 1 << (64 - length);
            assert!(kept(of(length)) & bit != 0 && kept(ANY) & bit != 0, "/{length}");
        }
        assert_eq!([of(65), of(128)], [ANY; 2]);
        assert_eq!(kept(ANY), u64::MAX);
        assert_eq!([SITE, WIDE, NARROW].map(|class| kept(class).count_ones()), [1, 8, 24]);
    }
}
