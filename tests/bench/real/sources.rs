//! Whose packets meet a list: nobody's, somebody's, those of the listed, and those that come close to them.

use std::fmt;

use filter_common::target::{Prefix4, Prefix6};

use crate::bans::{Around, somebody6};
use crate::chance::Chance;
use crate::cover::Cover;

/// From where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// Unlisted, and not announced by anybody: where floods with made-up sources come from.
    Unannounced,
    /// Unlisted, within an announced prefix.
    Unlisted,
    /// Within any announced prefix, each alike.
    AsItFalls,
    /// Unlisted, within a /32 in which something longer is listed. IPv6 only.
    Deep,
    /// Within any listed prefix, each alike.
    Listed,
}

impl fmt::Display for From {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unannounced => "unannounced",
            Self::Unlisted => "announced, unlisted",
            Self::AsItFalls => "announced, as it falls",
            Self::Deep => "unlisted, in /32s with something longer",
            Self::Listed => "listed",
        })
    }
}

/// Somebody looks for sources so often before he gives up: then there are none.
const TRIES: usize = 1_000_000;

/// IPv6 sources for a list in announced space.
#[derive(Debug)]
pub struct Sources6<'a> {
    announced: &'a [Prefix6],
    all: Cover<u128>,
    list: Cover<u128>,
    deep: Vec<Prefix6>,
}

impl<'a> Sources6<'a> {
    #[must_use]
    pub fn new(announced: &'a [Prefix6], list: &[Prefix6]) -> Self {
        let deep = list.iter().copied().filter(|prefix| prefix.length() > 32).collect();
        Self { announced, all: Cover::of(announced), list: Cover::of(list), deep }
    }

    /// Is it listed? This tells what everything else must tell, too.
    #[must_use]
    pub fn lists(&self, source: u128) -> bool {
        self.list.contains(source)
    }

    /// So many of a kind.
    ///
    /// # Panics
    /// If the list leaves none of them.
    #[must_use]
    pub fn some(&self, from: From, count: usize, seed: u64) -> Vec<u128> {
        let mut chance = Chance::new(&format!("sources: {from}"), seed);
        let mut one = || {
            let found = (0..TRIES).map(|_| self.any(from, &mut chance)).find(|&source| self.is(from, source));
            found.unwrap_or_else(|| panic!("there are no sources: {from}"))
        };
        (0..count).map(|_| one()).collect()
    }

    fn any(&self, from: From, chance: &mut Chance) -> u128 {
        match from {
            From::Unannounced => somebody6(Around::Anywhere, chance),
            From::Unlisted | From::AsItFalls => somebody6(Around::Announced(self.announced), chance),
            From::Listed => somebody6(Around::Announced(self.list.widest()), chance),
            From::Deep => near(&self.deep, chance),
        }
    }

    fn is(&self, from: From, source: u128) -> bool {
        match from {
            From::Unannounced => !self.all.contains(source) && !self.lists(source),
            From::Unlisted | From::Deep => !self.lists(source),
            From::AsItFalls | From::Listed => true,
        }
    }
}

/// In the same /32 as a longer one. Every second time in the same /44, or in the next wider one that it is in: pools of
/// small ones lie close together.
fn near(deep: &[Prefix6], chance: &mut Chance) -> u128 {
    let prefix = deep[chance.below(deep.len() as u64) as usize];
    let length = if chance.once_in(2) { 32 } else { (prefix.length() - 1).min(44) };
    let around = Prefix6::covering(prefix.address(), length);
    around.first() | (chance.any6() & (around.last() ^ around.first()))
}

/// IPv4 sources for a list in announced space.
#[derive(Debug)]
pub struct Sources4<'a> {
    announced: &'a [Prefix4],
    list: Cover<u32>,
}

impl<'a> Sources4<'a> {
    #[must_use]
    pub fn new(announced: &'a [Prefix4], list: &[Prefix4]) -> Self {
        Self { announced, list: Cover::of(list) }
    }

    /// Is it listed? This tells what everything else must tell, too.
    #[must_use]
    pub fn lists(&self, source: u32) -> bool {
        self.list.contains(source)
    }

    /// So many of a kind. As it falls is any address that can be somebody's; of other unlisted ones there are none.
    #[must_use]
    pub fn some(&self, from: From, count: usize, seed: u64) -> Vec<u32> {
        let mut chance = Chance::new(&format!("sources: {from}"), seed);
        let is = |source: u32| match from {
            From::Listed | From::AsItFalls => true,
            From::Unannounced | From::Unlisted | From::Deep => !self.lists(source),
        };
        let any = |chance: &mut Chance| match from {
            From::Listed => within(self.list.widest(), chance),
            From::Unlisted | From::AsItFalls | From::Deep => within(self.announced, chance),
            From::Unannounced => chance.any() as u32,
        };
        let mut one = || {
            let found = (0..TRIES).map(|_| any(&mut chance)).find(|&source| is(source));
            found.unwrap_or_else(|| panic!("there are no sources: {from}"))
        };
        (0..count).map(|_| one()).collect()
    }
}

fn within(space: &[Prefix4], chance: &mut Chance) -> u32 {
    let prefix = space[chance.below(space.len() as u64) as usize];
    prefix.first() | (chance.any() as u32 & (prefix.last() ^ prefix.first()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_what_they_are_called() {
        let world = crate::world6(1);
        let list = crate::part(&world, 4, 9);
        let sources = Sources6::new(&world, &list);
        let listed =
            |from| sources.some(from, 2_000, 7).into_iter().filter(|&source| sources.lists(source)).count();
        assert_eq!([From::Unannounced, From::Unlisted, From::Deep].map(listed), [0; 3]);
        assert_eq!(listed(From::Listed), 2_000);
        assert!((700..900).contains(&listed(From::AsItFalls)), "four in ten");
        let deep = sources.some(From::Deep, 2_000, 7);
        let is_below =
            |source: u128, prefix: &Prefix6| prefix.length() > 32 && prefix.address() >> 96 == source >> 96;
        assert!(deep.iter().take(50).all(|&source| list.iter().any(|prefix| is_below(source, prefix))));
    }
}
