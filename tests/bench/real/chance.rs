//! Numbers that look random and are the same every time.

use filterd_paper::hash::{below, hash, key};

/// One row of them.
#[derive(Clone, Debug)]
pub struct Chance {
    seed: u64,
    number: u64,
}

impl Chance {
    /// The row of this seed for this purpose: no two purposes meet the same numbers.
    #[must_use]
    pub fn new(purpose: &str, seed: u64) -> Self {
        let seed = purpose.bytes().fold(hash(key(seed)), |seed, byte| hash(seed ^ key(byte.into())));
        Self { seed, number: 0 }
    }

    /// Any number.
    pub const fn any(&mut self) -> u64 {
        self.number = self.number.wrapping_add(1);
        hash(self.seed ^ key(self.number))
    }

    /// One below `limit`.
    pub const fn below(&mut self, limit: u64) -> u64 {
        below(self.any(), limit)
    }

    /// Any address.
    pub const fn any6(&mut self) -> u128 {
        (self.any() as u128) << 64 | self.any() as u128
    }

    /// True once in so many times.
    pub const fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// At least one, `mean` on average: many are few, few are many (a geometric distribution).
    pub const fn about(&mut self, mean: u64) -> u64 {
        let mut count = 1;
        while mean > 1 && !self.once_in(mean) {
            count += 1;
        }
        count
    }

    /// One of these, by their weights.
    pub fn pick<T: Copy>(&mut self, of: &[(T, u64)]) -> Option<T> {
        let total = of.iter().map(|(_, weight)| weight).sum();
        let mut at = if total == 0 { return None } else { self.below(total) };
        for &(one, weight) in of {
            if at < weight {
                return Some(one);
            }
            at -= weight;
        }
        None
    }

    /// Puts them into another order.
    pub fn shuffle<T>(&mut self, of: &mut [T]) {
        for at in (1..of.len()).rev() {
            of.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_depends_on_seed_and_purpose() {
        let row = |purpose, seed| {
            let mut chance = Chance::new(purpose, seed);
            [(); 8].map(|()| chance.any())
        };
        assert_eq!(row("a", 1), row("a", 1));
        assert_ne!(row("a", 1), row("a", 2));
        let (a, b) = (row("a", 1), row("b", 1));
        assert!(a.iter().all(|number| *number != 0 && !b.contains(number)));
    }

    #[test]
    fn about_means_what_it_says() {
        let mut chance = Chance::new("test", 3);
        let total: u64 = (0..10_000).map(|_| chance.about(7)).sum();
        assert!((65_000..75_000).contains(&total), "{total}");
        assert_eq!(chance.about(1), 1);
    }

    #[test]
    fn zero_weight_is_never_picked() {
        let mut chance = Chance::new("test", 4);
        assert!((0..1_000).all(|_| chance.pick(&[('a', 0), ('b', 2), ('c', 0)]) == Some('b')));
        assert_eq!(chance.pick(&[('a', 0)]), None);
    }
}
