//! A large set of targets in little room: single IPv4 addresses are kept as bare integers.

use std::net::Ipv4Addr;

use filter_common::target::Target;

/// Distinct targets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// Single IPv4 addresses in host order, sorted.
    pub addresses: Vec<u32>,
    /// Everything else, sorted.
    pub others: Vec<Target>,
}

impl Targets {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.addresses.len() + self.others.len()
    }

    /// Are there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty() && self.others.is_empty()
    }

    /// Is this one of them?
    #[must_use]
    pub fn contains(&self, target: Target) -> bool {
        match target {
            Target::V4(prefix) if prefix.is_host() => self.addresses.binary_search(&prefix.address()).is_ok(),
            Target::V4(_) | Target::V6(_) => self.others.binary_search(&target).is_ok(),
        }
    }

    /// All of them, single IPv4 addresses first.
    pub fn iter(&self) -> impl Iterator<Item = Target> + Clone + '_ {
        let addresses = self.addresses.iter().map(|address| Ipv4Addr::from_bits(*address).into());
        addresses.chain(self.others.iter().copied())
    }

    /// Takes one more in; the order is restored by [`sort`](Self::sort).
    pub fn push(&mut self, target: Target) {
        match target {
            Target::V4(prefix) if prefix.is_host() => self.addresses.push(prefix.address()),
            Target::V4(_) | Target::V6(_) => self.others.push(target),
        }
    }

    /// Restores the order after pushes, drops repetitions, and gives back the room they took.
    pub fn sort(&mut self) {
        self.addresses.sort_unstable();
        self.addresses.dedup();
        self.addresses.shrink_to_fit();
        self.others.sort_unstable();
        self.others.dedup();
        self.others.shrink_to_fit();
    }
}

impl FromIterator<Target> for Targets {
    fn from_iter<I: IntoIterator<Item = Target>>(iter: I) -> Self {
        let mut targets = Self::default();
        iter.into_iter().for_each(|target| targets.push(target));
        targets.sort();
        targets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_twice_counts_once() {
        let words = ["10.0.0.2", "::1", "10.0.0.1", "10.0.0.0/8", "10.0.0.2/32", "::1", "10.0.0.0/8"];
        let targets: Targets = words.iter().map(|word| word.parse::<Target>().unwrap()).collect();
        assert_eq!(targets.addresses, [0x0a00_0001, 0x0a00_0002]);
        assert_eq!(targets.len(), 4);
        let told: Vec<_> = targets.iter().map(|target| target.to_string()).collect();
        assert_eq!(told, ["10.0.0.1", "10.0.0.2", "10.0.0.0/8", "::1"]);
    }
}
