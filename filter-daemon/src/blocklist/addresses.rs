//! Maps single IPv4 addresses to their claims, in order. Most entries are of this kind, so the map is
//! compact and a lookup touches little memory.
//!
//! There is one sorted array of second halves for each first half of an address. At ten million addresses
//! an array has some 150 entries, which fill three cache lines. A tree would need six levels.

use std::hint::black_box;
use std::ops::Bound;

use super::claims::ClaimsId;

const HALVES: usize = 1 << 16;

/// A map from addresses to claims.
#[derive(Debug, Default)]
pub struct Addresses {
    /// Empty until the first address is inserted; then one slot for each first half.
    shelves: Vec<Option<Box<AddressBlock>>>,
    len: usize,
    /// All shelves outside this range are empty and always were, so an iteration skips them.
    used: Option<(usize, usize)>,
}

/// The addresses with one first half. A removed address leaves a gap: its place without claims. Gaps are
/// closed once they are more than half of all places. Closing each at once would take quadratic time over a
/// long run of removals.
#[derive(Debug, Default)]
struct AddressBlock {
    seconds: Vec<u16>,
    claims: Vec<Option<ClaimsId>>,
    gaps: usize,
}

impl Addresses {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn get(&self, address: u32) -> Option<ClaimsId> {
        let (first, second) = halves(address);
        let shelf = self.shelves.get(first)?.as_ref()?;
        shelf.seconds.binary_search(&second).ok().and_then(|at| shelf.claims[at])
    }

    /// Loads the shelves of these addresses into the cache. It does not search them yet: each search would
    /// wait for memory.
    pub fn prefetch(&self, addresses: &[u32]) {
        let shelves = addresses.iter().filter_map(|address| self.shelves.get(halves(*address).0)?.as_ref());
        shelves.for_each(|shelf| {
            let middle = shelf.seconds.len() / 2;
            black_box((shelf.seconds.get(middle).copied(), shelf.claims.get(middle).copied()));
        });
    }

    /// Sets the claims of `address`, and replaces those that it had.
    pub fn insert(&mut self, address: u32, claims: ClaimsId) {
        let (first, second) = halves(address);
        if self.shelves.is_empty() {
            self.shelves.resize_with(HALVES, || None);
        }
        self.used = Some(self.used.map_or((first, first), |(low, high)| (low.min(first), high.max(first))));
        let shelf = self.shelves[first].get_or_insert_default();
        match shelf.seconds.binary_search(&second) {
            Ok(at) => {
                let was_gap = shelf.claims[at].replace(claims).is_none();
                shelf.gaps -= usize::from(was_gap);
                self.len += usize::from(was_gap);
            }
            Err(at) => {
                shelf.seconds.insert(at, second);
                shelf.claims.insert(at, Some(claims));
                self.len += 1;
            }
        }
    }

    pub fn remove(&mut self, address: u32) {
        let (first, second) = halves(address);
        let Some(Some(shelf)) = self.shelves.get_mut(first) else { return };
        let Ok(at) = shelf.seconds.binary_search(&second) else { return };
        if shelf.claims[at].take().is_none() {
            return;
        }
        self.len -= 1;
        shelf.gaps += 1;
        if shelf.gaps == shelf.seconds.len() {
            self.shelves[first] = None;
        } else if shelf.gaps > shelf.seconds.len() / 2 {
            shelf.close_gaps();
        }
    }

    /// All addresses from this bound on, in order.
    pub fn range(&self, from: Bound<u32>) -> impl Iterator<Item = (u32, ClaimsId)> + '_ {
        let from = match from {
            Bound::Unbounded => Some(0),
            Bound::Included(address) => Some(address),
            Bound::Excluded(address) => address.checked_add(1),
        };
        from.into_iter().flat_map(|from| self.between(from, u32::MAX))
    }

    /// The addresses from `first` to `last`, in order. Only the shelves between them are read.
    pub fn between(&self, first: u32, last: u32) -> impl Iterator<Item = (u32, ClaimsId)> + '_ {
        let ((begin, second), end) = (halves(first), halves(last).0);
        let used = self.used.map(|(low, high)| begin.max(low)..=end.min(high)).into_iter().flatten();
        let shelves = used.filter_map(|at| Some((at, self.shelves.get(at)?.as_deref()?)));
        let entries = shelves.flat_map(move |(at, shelf)| {
            let is_before = |other: &u16| at == begin && *other < second;
            shelf.entries(at, shelf.seconds.partition_point(is_before))
        });
        entries.take_while(move |(address, _)| *address <= last)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, ClaimsId)> + '_ {
        self.range(Bound::Unbounded)
    }
}

impl AddressBlock {
    fn entries(&self, first: usize, skip: usize) -> impl Iterator<Item = (u32, ClaimsId)> + '_ {
        let seconds =
            self.seconds[skip..].iter().map(move |second| (first as u32) << 16 | u32::from(*second));
        seconds.zip(&self.claims[skip..]).filter_map(|(address, claims)| Some((address, (*claims)?)))
    }

    fn close_gaps(&mut self) {
        let mut claims = self.claims.iter();
        self.seconds.retain(|_| claims.next().is_some_and(Option::is_some));
        self.claims.retain(Option::is_some);
        self.gaps = 0;
    }
}

fn halves(address: u32) -> (usize, u16) {
    ((address >> 16) as usize, address as u16)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::claims::ClaimRegistry;
    use super::*;

    /// A small set of addresses that collide often, at both ends of each half and of the whole range.
    fn address() -> impl Strategy<Value = u32> {
        let half = || prop_oneof![Just(0_u32), Just(1), Just(7), Just(0xfffe), Just(0xffff)];
        (half(), half()).prop_map(|(first, second)| first << 16 | second)
    }

    proptest! {
        #[test]
        fn map_behaves_like_a_tree(steps in prop::collection::vec((any::<bool>(), address()), 0..80), from in address()) {
            let [one, other] = ClaimRegistry::two_sets();
            let (mut addresses, mut tree) = (Addresses::default(), BTreeMap::new());
            for (number, (enters, address)) in steps.into_iter().enumerate() {
                let claims = if number % 3 == 0 { one } else { other };
                if enters {
                    addresses.insert(address, claims);
                    tree.insert(address, claims);
                } else {
                    addresses.remove(address);
                    tree.remove(&address);
                }
                prop_assert_eq!(addresses.get(address), tree.get(&address).copied());
            }
            prop_assert_eq!(addresses.len(), tree.len());
            prop_assert!(addresses.iter().eq(tree.iter().map(|(address, claims)| (*address, *claims))));
            for bound in [Bound::Included(from), Bound::Excluded(from)] {
                let expected = tree.range((bound, Bound::Unbounded)).map(|(address, claims)| (*address, *claims));
                prop_assert!(addresses.range(bound).eq(expected));
            }
        }
    }
}
