//! Counts the places in the levels that coming IPv6 prefixes need, before any map is made.

use std::iter;

use filter_common::levels::{Levels, Way, words_of};
use filter_common::target::{Prefix, Prefix6};

use crate::kernel::window::Window;

/// The most ways that are kept; counting this many takes milliseconds. Above it, the levels get their maximum
/// size.
const MOST: usize = 1 << 18;

/// The ways to some prefixes. Some of them may exist already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    ways: Vec<Way>,
    are_more: bool,
}

impl Ways {
    /// Adds the way to a prefix. Add the prefixes of one /24 one after another, so that they share a way.
    pub fn add(&mut self, prefix: Prefix6) {
        if let Some(way) = Way::to(prefix) {
            self.push(way);
        }
    }

    /// Adds the ways to these sorted /64s. All /64s in a /24 share one way.
    pub fn add_nets64(&mut self, nets: &[u64]) {
        let mut left = nets;
        while let Some(first) = left.first().filter(|_| !self.are_more) {
            self.add(Prefix::covering(u128::from(*first) << 64, 64));
            left = &left[of_one_24(left)..];
        }
    }

    /// The words that the ways need in addition to those used in these levels, or in empty ones. Above
    /// `most`, the result is only known to be larger than `most`.
    pub fn words(&self, levels: Option<&Levels<Window>>, most: u32) -> u32 {
        let at_most = u32::try_from(self.ways.len()).unwrap_or(u32::MAX).saturating_mul(Way::MOST_WORDS);
        if self.are_more {
            return u32::MAX;
        }
        match levels {
            Some(_) if at_most <= most => at_most,
            Some(levels) => levels.words_for(self.joined().into_iter(), most),
            None => words_of(self.joined().into_iter(), most),
        }
    }

    fn push(&mut self, way: Way) {
        if let Some(last) = self.ways.last_mut()
            && let Some(joined) = last.joined(way)
        {
            *last = joined;
        } else if self.ways.len() < MOST {
            self.ways.push(way);
        } else {
            self.are_more = true;
        }
    }

    /// The ways in order, one for each /24.
    fn joined(&self) -> Vec<Way> {
        let mut sorted = self.ways.clone();
        sorted.sort();
        let mut joined = Self::default();
        sorted.into_iter().for_each(|way| joined.push(way));
        joined.ways
    }
}

/// How many /64s at the start share the /24 of the first one. Fast both for a few and for all of them.
fn of_one_24(nets: &[u64]) -> usize {
    let is_in = |net: &u64| net >> 40 == nets[0] >> 40;
    let doubled = iter::successors(Some(1), |at| Some(at * 2));
    let beyond = doubled.take_while(|at| *at < nets.len()).find(|at| !is_in(&nets[*at]));
    nets[..beyond.unwrap_or(nets.len())].partition_point(is_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_a_24_share_one_way() {
        let nets: Vec<u64> = [0x2001_0d00, 0x2001_0dff, 0x2001_0e00, 0x2a02_0000].map(|net| net << 32).into();
        let mut ways = Ways::default();
        ways.add_nets64(&nets);
        ways.add(Prefix::covering(0x2001_0db8 << 96, 32));
        assert_eq!(ways.ways.len(), 4, "one came late");
        assert_eq!(ways.joined().len(), 3);
        let row: Vec<u64> = (0..100_000).collect();
        assert_eq!([of_one_24(&row), of_one_24(&nets), of_one_24(&nets[2..])], [100_000, 2, 1]);
    }
}
