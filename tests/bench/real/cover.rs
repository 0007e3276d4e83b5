//! What a list covers, told plainly: everything that is fast is compared with this.

use filter_common::target::{Address, Prefix};

/// The widest prefixes of a list, in order.
#[derive(Clone, Debug)]
pub struct Cover<A: Address> {
    widest: Vec<Prefix<A>>,
}

impl<A: Address> Cover<A> {
    /// Of this list.
    #[must_use]
    pub fn of(list: &[Prefix<A>]) -> Self {
        let mut sorted = list.to_vec();
        sorted.sort_unstable();
        let mut widest: Vec<Prefix<A>> = Vec::with_capacity(sorted.len());
        for prefix in sorted {
            if !widest.last().is_some_and(|last| last.covers(&prefix)) {
                widest.push(prefix);
            }
        }
        Self { widest }
    }

    /// Is it in any of them?
    #[must_use]
    pub fn contains(&self, address: A) -> bool {
        let behind = self.widest.partition_point(|prefix| prefix.first() <= address);
        behind > 0 && self.widest[behind - 1].contains(address)
    }

    /// The widest prefixes: none is in another one.
    #[must_use]
    pub fn widest(&self) -> &[Prefix<A>] {
        &self.widest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filter_common::target::Prefix4;

    #[test]
    fn cover_matches_exactly_its_prefixes() {
        let list = [(0x0A00_0000, 8), (0x0A01_0000, 16), (0x0B00_0000, 24), (0x0B00_00FF, 32), (0, 32)];
        let list = list.map(|(address, length)| Prefix4::covering(address, length));
        let cover = Cover::of(&list);
        assert_eq!(cover.widest().len(), 3);
        for address in [0, 0x0A00_0000, 0x0A01_0000, 0x0AFF_FFFF, 0x0B00_00FF] {
            assert!(cover.contains(address), "{address:x}");
        }
        for address in [1, 0x09FF_FFFF, 0x0B00_0100, u32::MAX] {
            assert!(!cover.contains(address), "{address:x}");
        }
    }
}
