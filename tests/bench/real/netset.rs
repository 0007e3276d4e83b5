//! A list of attackers: addresses, many of them in the same networks, /24s, and a few wide ones.

use std::collections::BTreeSet;

use filter_common::target::Prefix4;

use crate::chance::Chance;
use crate::histogram;

/// Addresses in one /24. Assumed.
const TOGETHER: u64 = 3;

/// The wide ones, as FireHOL's first level has them: nobody sends from there.
const WIDE: [(u32, u8); 4] = [(0x0000_0000, 8), (0x0A00_0000, 8), (0x7F00_0000, 8), (0xE000_0000, 3)];

/// `histogram::NETSET`, in announced space, in order.
#[must_use]
pub fn list(announced: &[Prefix4], seed: u64) -> Vec<Prefix4> {
    let mut chance = Chance::new("netset", seed);
    let mut list: BTreeSet<Prefix4> = WIDE.map(|(first, length)| Prefix4::covering(first, length)).into();
    for (length, count) in histogram::NETSET.into_iter().filter(|(length, _)| *length > 8) {
        let mut left = count;
        while left > 0 {
            let around = announced[chance.below(announced.len() as u64) as usize];
            let slash24 = around.address() | (chance.any() as u32 & (around.last() - around.first()));
            let together = if length == 32 { chance.about(TOGETHER) } else { 1 };
            for _ in 0..together.min(left.into()) {
                let address = slash24 & !0xFF | (chance.any() as u32 & 0xFF);
                left -= u32::from(list.insert(Prefix4::covering(address, length)));
            }
        }
    }
    list.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn netset_has_its_stated_lengths() {
        let list = list(&crate::world4(1), 2);
        assert_eq!(list.len() as u32, histogram::total(&histogram::NETSET));
        let of = |length| list.iter().filter(|prefix| prefix.length() == length).count();
        assert_eq!([of(3), of(8), of(24), of(32)], [1, 3, 2_400, 60_000]);
    }
}
