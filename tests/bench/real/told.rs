//! IPv6 sources by number, and which of them a list covers: where its answer changes, and as many more as are asked for. A
//! program in the kernel counts them in the same way.

use std::ops::Range;

use filter_common::hash::Address6;
use filter_common::target::Prefix6;

use crate::cover::Cover;
use crate::numbered;

/// What is asked about.
#[derive(Clone, Debug)]
pub struct Told {
    sources: Vec<u128>,
    list: Cover<u128>,
}

impl Told {
    /// First of all the first and the last address of each of these prefixes, and those beside them, of a list.
    #[must_use]
    pub fn around(prefixes: &[Prefix6], list: &[Prefix6]) -> Self {
        let ends = |prefix: &Prefix6| {
            let (first, last) = (prefix.first(), prefix.last());
            [first.wrapping_sub(1), first, last, last.wrapping_add(1)]
        };
        let mut sources: Vec<u128> = prefixes.iter().flat_map(ends).collect();
        sources.sort_unstable();
        sources.dedup();
        Self { sources, list: Cover::of(list) }
    }

    /// Those that are no random ones.
    #[must_use]
    pub fn sources(&self) -> &[u128] {
        &self.sources
    }

    /// How many these are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.sources.len() as u64
    }

    /// The source of this number.
    #[must_use]
    pub fn source(&self, number: u64) -> u128 {
        let told = |number| Address6::from(self.sources[number as usize]);
        let Address6 { high, low } = numbered::source(number, self.count(), told);
        u128::from(high) << 64 | u128::from(low)
    }

    /// Is it listed? Told by a search in sorted prefixes, and nothing else.
    #[must_use]
    pub fn lists(&self, source: u128) -> bool {
        self.list.contains(source)
    }

    /// A bit for each of these numbers, from a word's lowest on: is that source listed?
    #[must_use]
    pub fn listed(&self, numbers: Range<u64>) -> Vec<u64> {
        let word = |first: u64| {
            let bits = first..numbers.end.min(first + 64);
            bits.fold(0, |word, number| word | u64::from(self.lists(self.source(number))) << (number - first))
        };
        numbers.clone().step_by(64).map(word).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_lie_at_prefix_ends_then_anywhere() {
        let list = [Prefix6::covering(0x2a00 << 112, 16), Prefix6::covering(0x2a00_0001 << 96, 32)];
        let told = Told::around(&list, &list[..1]);
        assert_eq!(told.count(), 8);
        let listed: Vec<bool> = told.sources().iter().map(|source| told.lists(*source)).collect();
        assert_eq!(listed, [false, true, true, true, true, true, true, false]);
        let words = told.listed(0..100_000);
        assert_eq!(words[0] & 0xff, 0b0111_1110);
        let inside: u32 = words.iter().map(|word| word.count_ones()).sum();
        let shares = 1.0 / 2.0 * 112.0 / 128.0 * 6.0 / 8.0;
        assert!((f64::from(inside) / 100_000.0 - shares).abs() < 0.02, "{inside}: those near are inside");
    }
}
