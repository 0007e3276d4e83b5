//! One word of a bucket: equal lanes, each holding a code or zero for empty, changed together by one store.

/// How a word is cut into lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    ones: u64,
    highs: u64,
}

impl Lanes {
    /// `count` lanes of `bits` bits.
    pub const fn new(count: u32, bits: u32) -> Self {
        let (mut ones, mut lane) = (0, 0);
        while lane < count {
            ones |= 1 << (lane * bits);
            lane += 1;
        }
        Self { ones, highs: ones << (bits - 1) }
    }

    /// The same from the two words that a program carries in its settings.
    #[inline(always)]
    pub const fn from_settings(ones: u64, highs: u64) -> Self {
        Self { ones, highs }
    }

    /// Width of one lane.
    pub const fn bits(&self) -> u32 {
        self.highs.trailing_zeros() + 1
    }

    /// How many there are.
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

    /// Flags the lanes of `word` that hold `code`. Only the lowest flag is exact: a borrow may mark a lane above
    /// it (Mycroft's zero-in-word test). Not zero exactly if one lane holds the code.
    #[inline(always)]
    pub const fn matches(&self, word: u64, code: u64) -> u64 {
        self.zeros(word ^ code.wrapping_mul(self.ones)) & self.highs
    }

    /// The same for two words at once, as a yes or no.
    #[inline(always)]
    pub const fn either(&self, first: (u64, u64), second: (u64, u64)) -> bool {
        let everywhere = first.1.wrapping_mul(self.ones);
        let first_zeros = self.zeros(first.0 ^ everywhere);
        let second_zeros = self.zeros(second.0 ^ everywhere ^ (first.1 ^ second.1).wrapping_mul(self.ones));
        self.any([first_zeros, second_zeros])
    }

    /// The same as [`matches`](Self::matches) says of this code with the highest bit of a lane in the first word, and of the code
    /// alone in the second one; but for what lies beside the flags.
    #[inline(always)]
    pub const fn seen(&self, first: u64, second: u64, code: u64) -> [u64; 2] {
        let everywhere = code.wrapping_mul(self.ones);
        // Where a lane of the first word differs in its highest bit alone, that bit is set here, and all bits are zero after it.
        let differs = first ^ everywhere;
        [(differs ^ self.highs).wrapping_sub(self.ones) & differs, self.zeros(second ^ everywhere)]
    }

    /// Is there a flag in what was [`seen`](Self::seen)?
    #[inline(always)]
    pub const fn any(&self, [first, second]: [u64; 2]) -> bool {
        (first | second) & self.highs != 0
    }

    /// The lowest flag there is in either of the two, and all bits of a number if the first one does not have it. Without a
    /// branch: no processor foresees in which home somebody stands.
    #[inline(always)]
    pub const fn lowest(&self, [first, second]: [u64; 2]) -> (u64, u64) {
        let flags = (first | second) & self.highs;
        let lowest = flags & flags.wrapping_neg();
        let not_in_first = ((first & lowest).wrapping_sub(1) as i64 >> 63) as u64;
        (lowest, not_in_first)
    }

    /// The bit at which the lowest lane of `word` begins that holds `code`.
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

    /// How many lanes there are up to the one with this flag, itself among them; the last lane begins at the bit `last`.
    /// Without a branch, and at most 15 for all that a verifier knows.
    #[inline(always)]
    pub const fn up_to(&self, flag: u64, last: u32) -> u32 {
        self.count_of(flag.wrapping_sub(1) & self.ones, last)
    }

    /// The bit at which the last lane begins.
    pub const fn last(&self) -> u32 {
        self.ones.ilog2()
    }

    /// How many of the lowest bits of lanes are set in `ones`, of which it has no others: they meet in the last lane, which
    /// begins at this bit.
    #[inline(always)]
    const fn count_of(&self, ones: u64, last: u32) -> u32 {
        (ones.wrapping_mul(self.ones) >> last) as u32 & 15
    }

    /// `word` with `code` in the lane that begins at this bit.
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

/// Whether any of several words was the one sought, gathered without branches.
#[derive(Clone, Copy, Debug)]
pub struct Found(u64);

impl Found {
    /// None yet.
    pub const NONE: Self = Self(0);

    /// Looks at one word. The highest bit of the sum is set exactly if a difference was zero.
    #[inline(always)]
    pub const fn note(&mut self, word: u64, sought: u64) {
        let difference = word ^ sought;
        self.0 |= difference.wrapping_sub(1) & !difference;
    }

    /// Was it among them?
    #[inline(always)]
    pub const fn any(self) -> bool {
        self.0 >> 63 != 0
    }

    /// The same as 1 or 0, without a branch.
    #[inline(always)]
    pub const fn number(self) -> u32 {
        (self.0 >> 63) as u32
    }

    /// What was found here or there.
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
        fn a_word_among_others_is_found_and_no_other(words: [u64; 4], sought: u64, at in 0..5_usize) {
            let mut all = words.to_vec();
            if at < 4 {
                all[at] = sought;
            }
            let mut found = Found::NONE;
            all.iter().for_each(|word| found.note(*word, sought));
            prop_assert_eq!(found.any(), all.contains(&sought));
        }

        #[test]
        fn a_code_is_found_exactly_where_it_first_stands(lanes in any_lanes(), codes: [u8; 8], sought: u8) {
            let stored = (0..lanes.count()).map(|lane| u64::from(codes[lane as usize] % 4));
            let word = (0..).zip(stored.clone()).fold(0, |word, (lane, code)| lanes.with(word, lane * lanes.bits(), code));
            let sought = u64::from(sought % 4);
            let first = stored.clone().position(|code| code == sought).map(|lane| lane as u32 * lanes.bits());
            prop_assert_eq!(lanes.find(word, sought), first);
            prop_assert_eq!(lanes.either((word, sought), (word, 7)), first.is_some());
            for (lane, code) in (0..).zip(stored) {
                prop_assert_eq!(lanes.number(lane * lanes.bits()), lane);
                for (first, second, not_in_first) in [(word | lanes.highs(), 0, 0), (0, word, u64::MAX)] {
                    // Codes are never zero: an empty word has none of them.
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
