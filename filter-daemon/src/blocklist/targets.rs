//! A large set of targets in little room: single IPv4 addresses and whole IPv6 /64s are kept as bare integers.

use std::net::Ipv4Addr;

use filter_common::target::{Prefix, Target};

/// Distinct targets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// Single IPv4 addresses in host order, sorted.
    pub addresses: Vec<u32>,
    /// The network halves of IPv6 /64s, sorted.
    pub nets64: Vec<u64>,
    /// Everything else, sorted.
    pub others: Vec<Target>,
}

/// How a target is kept: nearly every one there is fits a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// A single IPv4 address.
    Address(u32),
    /// The network half of an IPv6 /64.
    Net64(u64),
    /// Anything else.
    Other(Target),
}

impl From<Target> for Kept {
    fn from(target: Target) -> Self {
        match target {
            Target::V4(prefix) if prefix.is_host() => Self::Address(prefix.address()),
            Target::V6(prefix) if prefix.length() == 64 => Self::Net64((prefix.address() >> 64) as u64),
            Target::V4(_) | Target::V6(_) => Self::Other(target),
        }
    }
}

/// The target of a single address.
pub fn of_address(address: u32) -> Target {
    Ipv4Addr::from_bits(address).into()
}

/// The target of a /64.
pub fn of_net64(net: u64) -> Target {
    Target::V6(Prefix::covering(u128::from(net) << 64, 64))
}

impl Targets {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.addresses.len() + self.nets64.len() + self.others.len()
    }

    /// Are there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Is this one of them?
    #[must_use]
    pub fn contains(&self, target: Target) -> bool {
        match Kept::from(target) {
            Kept::Address(address) => self.addresses.binary_search(&address).is_ok(),
            Kept::Net64(net) => self.nets64.binary_search(&net).is_ok(),
            Kept::Other(target) => self.others.binary_search(&target).is_ok(),
        }
    }

    /// All of them, kind after kind.
    pub fn iter(&self) -> impl Iterator<Item = Target> + Clone + '_ {
        let addresses = self.addresses.iter().copied().map(of_address);
        let nets64 = self.nets64.iter().copied().map(of_net64);
        addresses.chain(nets64).chain(self.others.iter().copied())
    }

    /// Takes one more in; the order is restored by [`sort`](Self::sort).
    pub fn push(&mut self, target: Target) {
        match Kept::from(target) {
            Kept::Address(address) => self.addresses.push(address),
            Kept::Net64(net) => self.nets64.push(net),
            Kept::Other(target) => self.others.push(target),
        }
    }

    /// Restores the order after pushes, drops repetitions, and gives back the room they took.
    pub fn sort(&mut self) {
        sort(&mut self.addresses);
        sort(&mut self.nets64);
        sort(&mut self.others);
    }
}

fn sort<T: Ord>(targets: &mut Vec<T>) {
    targets.sort_unstable();
    targets.dedup();
    targets.shrink_to_fit();
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
        let words = [
            "10.0.0.2",
            "::1",
            "10.0.0.1",
            "2001:db8::/64",
            "10.0.0.0/8",
            "10.0.0.2/32",
            "::1",
            "10.0.0.0/8",
            "2001:db8::/64",
        ];
        let targets: Targets = words.iter().map(|word| word.parse::<Target>().unwrap()).collect();
        assert_eq!(targets.addresses, [0x0a00_0001, 0x0a00_0002]);
        assert_eq!(targets.nets64, [0x2001_0db8_0000_0000]);
        assert_eq!(targets.len(), 5);
        let told: Vec<_> = targets.iter().map(|target| target.to_string()).collect();
        assert_eq!(told, ["10.0.0.1", "10.0.0.2", "2001:db8::/64", "10.0.0.0/8", "::1"]);
        assert!(words.iter().all(|word| targets.contains(word.parse().unwrap())));
    }
}
