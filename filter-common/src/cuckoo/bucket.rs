//! One word of a bucket: lanes of equal width, each with a code or zero for empty. One store changes them
//! all.

/// How a word is divided into lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    ones: u64,
    highs: u64,
}

impl Lanes {
    /// Lanes for `count` codes of `bits` bits.
    pub const fn new(count: u32, bits: u32) -> Self {
        let (mut ones, mut lane) = (0, 0);
        while lane < count {
            ones |= 1 << (lane * bits);
            lane += 1;
        }
        Self { ones, highs: ones << (bits - 1) }
    }

    /// The lanes described by the two words that a program carries in its settings.
    #[inline(always)]
    pub const fn from_settings(ones: u64, highs: u64) -> Self {
        Self { ones, highs }
    }

    /// The width of one lane.
    pub const fn bits(&self) -> u32 {
        self.highs.trailing_zeros() + 1
    }

    /// The number of lanes in a word.
    pub const fn count(&self) -> u32 {
        self.ones.count_ones()
    }

    /// The lowest bit of every lane.
    pub const fn ones(&self) -> u64 {
        self.ones
    }

    /// The highest bit of every lane.
    pub const fn highs(&self) -> u64 {
        self.highs
    }

    /// Flags the lanes of `word` that hold `code`. Only the lowest flag is exact: a borrow may mark a lane
    /// above it (Mycroft's zero-in-word test). The result is nonzero exactly if a lane holds the code.
    #[inline(always)]
    pub const fn matches(&self, word: u64, code: u64) -> u64 {
        self.zeros(word ^ code.wrapping_mul(self.ones)) & self.highs
    }

    /// True if either word holds its code.
    #[inline(always)]
    pub const fn either(&self, first: (u64, u64), second: (u64, u64)) -> bool {
        let everywhere = first.1.wrapping_mul(self.ones);
        let first_zeros = self.zeros(first.0 ^ everywhere);
        let second_zeros = self.zeros(second.0 ^ everywhere ^ (first.1 ^ second.1).wrapping_mul(self.ones));
        self.any([first_zeros, second_zeros])
    }

    /// Finds the code with its highest bit set in the first word, and the bare code in the second word. The
    /// flags are those of [`matches`](Self::matches), but other bits may be set as well.
    #[inline(always)]
    pub const fn seen(&self, first: u64, second: u64, code: u64) -> [u64; 2] {
        let everywhere = code.wrapping_mul(self.ones);
        // In a lane of the first word that differs only in its highest bit, only that bit is set here. After
        // the XOR with `highs` the lane is zero.
        let differs = first ^ everywhere;
        [(differs ^ self.highs).wrapping_sub(self.ones) & differs, self.zeros(second ^ everywhere)]
    }

    /// True if the result of [`seen`](Self::seen) contains a flag.
    #[inline(always)]
    pub const fn any(&self, [first, second]: [u64; 2]) -> bool {
        (first | second) & self.highs != 0
    }

    /// The lowest flag in either of the two, and a number with all bits set if the first one does not have
    /// it. There is no branch, because processors cannot predict in which home an entry is.
    #[inline(always)]
    pub const fn lowest(&self, [first, second]: [u64; 2]) -> (u64, u64) {
        let flags = (first | second) & self.highs;
        let lowest = flags & flags.wrapping_neg();
        let not_in_first = ((first & lowest).wrapping_sub(1) as i64 >> 63) as u64;
        (lowest, not_in_first)
    }

    /// The bit at which the lowest lane of `word` that holds `code` begins.
    pub const fn find(&self, word: u64, code: u64) -> Option<u32> {
        match self.matches(word, code) {
            0 => None,
            flags => Some(flags.trailing_zeros() + 1 - self.bits()),
        }
    }

    /// The code in the lane of `word` that begins at this bit.
    pub const fn get(&self, word: u64, at: u32) -> u64 {
        (word >> at) & self.mask()
    }

    /// The number of the lane that begins at this bit.
    #[inline(always)]
    pub const fn number(&self, at: u32) -> u32 {
        self.count_of(self.ones & ((1 << at) - 1), self.last())
    }

    /// The number of lanes up to and including the one with this flag. `last` is the bit at which the last
    /// lane begins. Uses no branch, and any verifier knows that the result is at most 15.
    #[inline(always)]
    pub const fn up_to(&self, flag: u64, last: u32) -> u32 {
        self.count_of(flag.wrapping_sub(1) & self.ones, last)
    }

    /// The bit at which the last lane begins.
    pub const fn last(&self) -> u32 {
        self.ones.ilog2()
    }

    /// Counts the lanes whose lowest bit is set in `ones`, which must have no other bits. The product adds
    /// them up in the last lane, which begins at bit `last`.
    #[inline(always)]
    const fn count_of(&self, ones: u64, last: u32) -> u32 {
        (ones.wrapping_mul(self.ones) >> last) as u32 & 15
    }

    /// Returns `word` with `code` in the lane that begins at this bit.
    pub const fn with(&self, word: u64, at: u32, code: u64) -> u64 {
        word & !(self.mask() << at) | code << at
    }

    #[inline(always)]
    const fn zeros(&self, word: u64) -> u64 {
        word.wrapping_sub(self.ones) & !word
    }

    const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
}

/// Whether one of several words was the one sought, computed without branches.
#[derive(Clone, Copy, Debug)]
pub struct Found(u64);

impl Found {
    /// No word was found yet.
    pub const NONE: Self = Self(0);

    /// Compares one word. The highest bit is set exactly if a difference was zero.
    #[inline(always)]
    pub const fn note(&mut self, word: u64, sought: u64) {
        let difference = word ^ sought;
        self.0 |= difference.wrapping_sub(1) & !difference;
    }

    /// True if the sought word was among them.
    #[inline(always)]
    pub const fn any(self) -> bool {
        self.0 >> 63 != 0
    }

    /// The answer as 1 or 0, without a branch.
    #[inline(always)]
    pub const fn number(self) -> u32 {
        (self.0 >> 63) as u32
    }

    /// Combines the results of two searches.
    #[inline(always)]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_lanes() -> impl Strategy<Value = Lanes> {
        prop_oneof![Just((1, 64)), Just((2, 32)), Just((3, 21)), Just((4, 16)), Just((5, 12)), Just((8, 8))]
            .prop_map(|(count, bits)| Lanes::new(count, bits))
    }

    proptest! {
        #[test]
        fn only_the_sought_word_is_found(words: [u64; 4], sought: u64, at in 0..5_usize) {
            let mut all = words.to_vec();
            if at < 4 {
                all[at] = sought;
            }
            let mut found = Found::NONE;
            all.iter().for_each(|word| found.note(*word, sought));
            prop_assert_eq!(found.any(), all.contains(&sought));
        }

        #[test]
        fn code_is_found_in_its_first_lane(lanes in any_lanes(), codes: [u8; 8], sought: u8) {
            let stored = (0..lanes.count()).map(|lane| u64::from(codes[lane as usize] % 4));
            let word = (0..).zip(stored.clone()).fold(0, |word, (lane, code)| lanes.with(word, lane * lanes.bits(), code));
            let sought = u64::from(sought % 4);
            let first = stored.clone().position(|code| code == sought).map(|lane| lane as u32 * lanes.bits());
            prop_assert_eq!(lanes.find(word, sought), first);
            prop_assert_eq!(lanes.either((word, sought), (word, 7)), first.is_some());
            for (lane, code) in (0..).zip(stored) {
                prop_assert_eq!(lanes.number(lane * lanes.bits()), lane);
                for (first, second, not_in_first) in [(word | lanes.highs(), 0, 0), (0, word, u64::MAX)] {
                    // Codes are never zero, so an empty word does not match any.
                    let seen = lanes.seen(first, second, code);
                    if code != 0 {
                        let (flag, elsewhere) = lanes.lowest(seen);
                        prop_assert_eq!(elsewhere, not_in_first);
                        prop_assert!(lanes.up_to(flag, lanes.last()) <= lane + 1);
                        prop_assert_eq!(code, lanes.get(word, (lanes.up_to(flag, lanes.last()) - 1) * lanes.bits()));
                    }
                }
                prop_assert_eq!(lanes.get(word, lane * lanes.bits()), code);
            }
        }
    }
}
