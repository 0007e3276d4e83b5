//! A compact set of many targets: single IPv4 addresses and whole IPv6 /64s are stored as integers.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use filter_common::target::{Prefix, Prefix6, Target};

/// A set of distinct targets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// Single IPv4 addresses in host order, sorted.
    pub addresses: Vec<u32>,
    /// The network halves of IPv6 /64s, sorted.
    pub nets64: Vec<u64>,
    /// All other targets, sorted.
    pub others: Vec<Target>,
}

/// How a target is stored. Nearly every target fits in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactTarget {
    /// A single IPv4 address.
    Address(u32),
    /// The network half of an IPv6 /64.
    Net64(u64),
    /// Any other kind of target.
    Other(Target),
}

impl From<Target> for CompactTarget {
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

pub fn of_net64(net: u64) -> Target {
    Target::V6(Prefix::covering(u128::from(net) << 64, 64))
}

/// The number of table words that change when the target is added or removed; a target covers up to 2^32
/// addresses. An IPv6 prefix also changes some levels, and must be distinguished from prefixes around it,
/// which takes as long as six words.
pub fn weight(target: Target) -> u64 {
    const NETWORKS_A_WORD: u64 = 64;
    const SIX: u64 = 6;
    match target {
        Target::V4(prefix) if prefix.length() <= 24 => {
            ((1 << (24 - prefix.length())) / NETWORKS_A_WORD).max(1)
        }
        Target::V4(prefix) => 1 << (32 - prefix.length()),
        // Counted in bits, of which a word contains a varying number (`filter_common::levels`).
        Target::V6(prefix) => match prefix.length() {
            length @ 0..=14 => SIX.max(1 << (14 - length)),
            length @ 15..=24 => SIX.max(1 << (24 - length)),
            _ => SIX,
        },
    }
}

impl Targets {
    #[must_use]
    pub fn len(&self) -> usize {
        self.addresses.len() + self.nets64.len() + self.others.len()
    }

    /// The number of targets of each kind.
    #[must_use]
    pub fn counts(&self) -> [usize; 3] {
        [self.addresses.len(), self.nets64.len(), self.others.len()]
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[must_use]
    pub fn contains(&self, target: Target) -> bool {
        match CompactTarget::from(target) {
            CompactTarget::Address(address) => self.addresses.binary_search(&address).is_ok(),
            CompactTarget::Net64(net) => self.nets64.binary_search(&net).is_ok(),
            CompactTarget::Other(target) => self.others.binary_search(&target).is_ok(),
        }
    }

    /// The targets within this IPv6 prefix, itself included.
    pub fn within6(&self, wide: Prefix6) -> impl Iterator<Item = Target> + '_ {
        let (whole, net) = (Target::V6(wide), (wide.address() >> 64) as u64);
        let nets64 = &self.nets64[self.nets64.partition_point(|one| *one < net)..];
        let others = &self.others[self.others.partition_point(|one| *one < whole)..];
        let is_within = move |target: &Target| whole.covers(target);
        let nets64 = nets64.iter().copied().map(of_net64).take_while(is_within);
        nets64.chain(others.iter().copied().take_while(is_within))
    }

    /// All targets, ordered by kind.
    pub fn iter(&self) -> impl Iterator<Item = Target> + Clone + '_ {
        let addresses = self.addresses.iter().copied().map(of_address);
        let nets64 = self.nets64.iter().copied().map(of_net64);
        addresses.chain(nets64).chain(self.others.iter().copied())
    }

    /// All targets except the /64s.
    #[must_use]
    pub fn but_nets64(&self) -> Cow<'_, Self> {
        let (addresses, others) = (self.addresses.clone(), self.others.clone());
        Cow::Owned(Self { addresses, nets64: Vec::new(), others })
    }

    /// The page that starts at index `from` in the order of [`iter`](Self::iter). Its weight is about
    /// `most`, and it has at least one target if any is left.
    #[must_use]
    pub fn page(&self, from: usize, most: u64) -> Self {
        let (addresses, nets64) = (self.addresses.len(), self.nets64.len());
        let mut left = most as usize;
        let mut words = |from: usize, length: usize| {
            let from = from.min(length);
            let to = length.min(from + left);
            left -= to - from;
            from..to
        };
        let first = words(from, addresses);
        let second = words(from.saturating_sub(addresses), nets64);
        let others = self.others[from.saturating_sub(addresses + nets64).min(self.others.len())..].iter();
        let mut left = left as u64;
        let fits = |target: &&Target| {
            let fits = left > 0;
            left = left.saturating_sub(weight(**target));
            fits
        };
        Self {
            addresses: self.addresses[first].to_vec(),
            nets64: self.nets64[second].to_vec(),
            others: others.take_while(fits).copied().collect(),
        }
    }

    /// Splits all targets into such pages.
    pub fn pages(&self, most: u64) -> impl Iterator<Item = Self> + '_ {
        let mut from = 0;
        std::iter::from_fn(move || {
            let page = self.page(from, most);
            from += page.len();
            (!page.is_empty()).then_some(page)
        })
    }

    /// The number of table words that change when all of them are added or removed.
    #[must_use]
    pub fn weight(&self) -> u64 {
        let others: u64 = self.others.iter().map(|target| weight(*target)).sum();
        (self.addresses.len() + self.nets64.len()) as u64 + others
    }

    /// Adds a target. [`sort`](Self::sort) restores the order.
    pub fn push(&mut self, target: Target) {
        match CompactTarget::from(target) {
            CompactTarget::Address(address) => self.addresses.push(address),
            CompactTarget::Net64(net) => self.nets64.push(net),
            CompactTarget::Other(target) => self.others.push(target),
        }
    }

    /// Adds these targets. [`sort`](Self::sort) restores the order.
    pub fn extend(&mut self, others: &Self) {
        self.addresses.extend(&others.addresses);
        self.nets64.extend(&others.nets64);
        self.others.extend(&others.others);
    }

    /// Drops all targets after the first `most`.
    pub fn truncate(&mut self, most: usize) {
        let Self { addresses, nets64, others } = self;
        addresses.truncate(most);
        nets64.truncate(most - addresses.len());
        others.truncate(most - addresses.len() - nets64.len());
    }

    /// Restores the order after additions, removes duplicates, and frees unused capacity.
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
    fn pages_are_complete_and_within_weight() {
        let words = [
            "10.0.0.1",
            "10.0.0.2",
            "10.0.0.3",
            "2001:db8::/64",
            "2001:db8:1::/64",
            "0.0.0.0/2",
            "192.0.2.0/25",
            "::1",
        ];
        let targets: Targets = words.iter().map(|word| word.parse::<Target>().unwrap()).collect();
        for most in 1..10 {
            let pages: Vec<Targets> = targets.pages(most).collect();
            assert!(pages.iter().flat_map(Targets::iter).eq(targets.iter()), "{most} a page");
            assert!(pages.iter().all(|page| page.len() as u64 <= most));
            assert!(
                pages.iter().all(|page| page.others.len() <= 1 || page.weight() < most + 128 + (1 << 17))
            );
        }
    }

    /// A request between two pages must not wait longer for pages of one kind than for those of another.
    #[test]
    fn page_has_fewer_ipv6_prefixes_than_addresses() {
        let prefixes = (0..1000).map(|number| Target::V6(Prefix::covering(number << 80, 48)));
        let pages = |targets: Targets| targets.pages(600).map(|page| page.len()).collect::<Vec<_>>();
        assert_eq!(pages(prefixes.collect()), [[100; 10].as_slice()].concat());
        assert_eq!(pages((0..1000).map(of_address).collect()), [600, 400]);
    }

    #[test]
    fn targets_within_a_prefix_are_found() {
        let words = [
            "192.0.2.1",
            "2001:db8::/31",
            "2001:db8::/32",
            "2001:db8::/64",
            "2001:db8::/65",
            "2001:db8:1::/64",
            "2001:db8:1::7",
            "2001:db9::/64",
            "2001:db9::7",
        ];
        let targets: Targets = words.iter().map(|word| word.parse::<Target>().unwrap()).collect();
        let within = |word: &str| match word.parse().unwrap() {
            Target::V6(wide) => targets.within6(wide).map(|one| one.to_string()).collect::<Vec<_>>(),
            Target::V4(_) => Vec::new(),
        };
        let all = ["2001:db8::/64", "2001:db8:1::/64", "2001:db8::/32", "2001:db8::/65", "2001:db8:1::7"];
        assert_eq!(within("2001:db8::/32"), all);
        assert_eq!(within("2001:db8:1::/64"), ["2001:db8:1::/64", "2001:db8:1::7"]);
        assert_eq!(within("2001:db8::/96"), [""; 0]);
        assert_eq!(within("2001:db9::7"), ["2001:db9::7"]);
        assert_eq!(within("2001:dba::/32"), [""; 0]);
    }

    #[test]
    fn duplicates_count_once() {
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
