//! Counts the targets of each prefix length, which is all that a search for covering prefixes needs.

use filter_common::target::Target;

/// Counts of targets by family and length, without single IPv4 addresses.
#[derive(Debug, Default)]
pub struct PrefixLengths {
    v4: LengthCounts,
    v6: LengthCounts,
}

impl PrefixLengths {
    /// IPv4 lengths in use, each with its count.
    pub fn v4(&self) -> impl DoubleEndedIterator<Item = (u8, u64)> + '_ {
        self.v4.in_use()
    }

    /// IPv6 lengths in use, each with its count.
    pub fn v6(&self) -> impl DoubleEndedIterator<Item = (u8, u64)> + '_ {
        self.v6.in_use()
    }

    pub(super) fn enter(&mut self, target: Target) {
        let (counts, length) = self.of(target);
        counts.enter(length);
    }

    /// Counts `more` new /64s.
    pub(super) fn enter_nets64(&mut self, more: u64) {
        self.v6.enter_all(64, more);
    }

    pub(super) fn leave(&mut self, target: Target) {
        let (counts, length) = self.of(target);
        counts.leave(length);
    }

    fn of(&mut self, target: Target) -> (&mut LengthCounts, u8) {
        match target {
            Target::V4(prefix) => (&mut self.v4, prefix.length()),
            Target::V6(prefix) => (&mut self.v6, prefix.length()),
        }
    }
}

/// The longest length of both families.
const LONGEST: u8 = 128;

/// The number of targets of each length.
#[derive(Debug)]
struct LengthCounts {
    counts: [u64; LONGEST as usize + 1],
    /// The lengths in use. Few of the 129 are, and every query reads them.
    used: Lengths,
}

impl Default for LengthCounts {
    fn default() -> Self {
        Self { counts: [0; LONGEST as usize + 1], used: Lengths::default() }
    }
}

impl LengthCounts {
    fn in_use(&self) -> impl DoubleEndedIterator<Item = (u8, u64)> + '_ {
        self.used.map(|length| (length, self.counts[usize::from(length)]))
    }

    fn enter(&mut self, length: u8) {
        self.enter_all(length, 1);
    }

    fn enter_all(&mut self, length: u8, more: u64) {
        self.counts[usize::from(length)] += more;
        self.used.add(length);
    }

    fn leave(&mut self, length: u8) {
        let count = &mut self.counts[usize::from(length)];
        *count -= 1;
        if *count == 0 {
            self.used.remove(length);
        }
    }
}

/// A set of lengths in ascending order. Each has one bit, except that the longest has a flag of its own.
#[derive(Debug, Default, Clone, Copy)]
struct Lengths {
    shorter: u128,
    has_longest: bool,
}

impl Lengths {
    const fn add(&mut self, length: u8) {
        if length == LONGEST {
            self.has_longest = true;
        } else {
            self.shorter |= 1 << length;
        }
    }

    const fn remove(&mut self, length: u8) {
        if length == LONGEST {
            self.has_longest = false;
        } else {
            self.shorter &= !(1 << length);
        }
    }

    /// Removes this length and returns it.
    fn taken(&mut self, length: u8) -> u8 {
        self.remove(length);
        length
    }
}

impl Iterator for Lengths {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        if self.shorter != 0 {
            return Some(self.taken(self.shorter.trailing_zeros() as u8));
        }
        self.has_longest.then(|| self.taken(LONGEST))
    }
}

impl DoubleEndedIterator for Lengths {
    fn next_back(&mut self) -> Option<u8> {
        if self.has_longest {
            return Some(self.taken(LONGEST));
        }
        (self.shorter != 0).then(|| self.taken(LONGEST - 1 - self.shorter.leading_zeros() as u8))
    }
}

#[cfg(test)]
mod tests {
    use filter_common::target::Prefix;

    use super::*;

    #[test]
    fn used_lengths_are_ordered_from_both_ends() {
        let mut cover = PrefixLengths::default();
        for length in [128, 0, 64, 127, 64, 33] {
            cover.enter(Target::V6(Prefix::covering(7, length)));
        }
        for length in [32, 0, 8] {
            cover.enter(Target::V4(Prefix::covering(7, length)));
        }
        cover.leave(Target::V4(Prefix::covering(9, 8)));
        assert_eq!(cover.v6().collect::<Vec<_>>(), [(0, 1), (33, 1), (64, 2), (127, 1), (128, 1)]);
        assert_eq!(cover.v6().rev().map(|(length, _)| length).collect::<Vec<_>>(), [128, 127, 64, 33, 0]);
        assert_eq!(cover.v4().collect::<Vec<_>>(), [(0, 1), (32, 1)]);
        for length in [64, 64, 128] {
            cover.leave(Target::V6(Prefix::covering(7, length)));
        }
        let mut both = cover.v6();
        assert_eq!(
            (both.next(), both.next_back(), both.next(), both.next()),
            (Some((0, 1)), Some((127, 1)), Some((33, 1)), None)
        );
    }
}
