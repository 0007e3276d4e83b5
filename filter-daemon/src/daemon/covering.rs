//! Finds the target of a set that covers an address, without a blocklist.

use std::collections::BTreeSet;
use std::net::IpAddr;

use filter_common::target::{Prefix, Target};

use crate::blocklist::Targets;

/// A set of targets, and the prefix lengths that occur in it.
pub struct TargetLookup<'a> {
    targets: &'a Targets,
    lengths4: BTreeSet<u8>,
    lengths6: BTreeSet<u8>,
}

impl<'a> TargetLookup<'a> {
    pub fn of(targets: &'a Targets) -> Self {
        let mut this = Self { targets, lengths4: BTreeSet::new(), lengths6: BTreeSet::new() };
        if !targets.addresses.is_empty() {
            this.lengths4.insert(32);
        }
        if !targets.nets64.is_empty() {
            this.lengths6.insert(64);
        }
        for target in &targets.others {
            match target {
                Target::V4(prefix) => this.lengths4.insert(prefix.length()),
                Target::V6(prefix) => this.lengths6.insert(prefix.length()),
            };
        }
        this
    }

    /// The longest target that covers this address.
    pub fn covering(&self, address: IpAddr) -> Option<Target> {
        self.all_covering(address).next()
    }

    /// All targets that cover this address, the longest first.
    pub fn all_covering(&self, address: IpAddr) -> impl Iterator<Item = Target> + '_ {
        let covers: Box<dyn Iterator<Item = Target>> = match address {
            IpAddr::V4(address) => {
                let lengths = self.lengths4.iter().rev();
                Box::new(lengths.map(move |length| Target::V4(Prefix::covering(address.to_bits(), *length))))
            }
            IpAddr::V6(address) => {
                let lengths = self.lengths6.iter().rev();
                Box::new(lengths.map(move |length| Target::V6(Prefix::covering(address.to_bits(), *length))))
            }
        };
        covers.filter(|target| self.targets.contains(*target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_covering_target_is_found() {
        let words = [
            "192.0.2.1",
            "192.0.2.0/24",
            "192.0.0.0/16",
            "2001:db8::/32",
            "2001:db8:0:1::/64",
            "2001:db8::7",
        ];
        let mut targets: Targets = words.iter().map(|word| word.parse::<Target>().unwrap()).collect();
        targets.sort();
        let cover = TargetLookup::of(&targets);
        let covering = |address: &str| Some(cover.covering(address.parse().unwrap())?.to_string());
        assert_eq!(covering("192.0.2.1").as_deref(), Some("192.0.2.1"));
        let all: Vec<_> =
            cover.all_covering("192.0.2.1".parse().unwrap()).map(|one| one.to_string()).collect();
        assert_eq!(all, ["192.0.2.1", "192.0.2.0/24", "192.0.0.0/16"]);
        assert_eq!(covering("192.0.2.2").as_deref(), Some("192.0.2.0/24"));
        assert_eq!(covering("192.0.3.2").as_deref(), Some("192.0.0.0/16"));
        assert_eq!(covering("192.1.0.0"), None);
        assert_eq!(covering("2001:db8::7").as_deref(), Some("2001:db8::7"));
        assert_eq!(covering("2001:db8:0:1::7").as_deref(), Some("2001:db8:0:1::/64"));
        assert_eq!(covering("2001:db8:0:2::7").as_deref(), Some("2001:db8::/32"));
        assert_eq!(covering("2001:db9::"), None);
        assert_eq!(TargetLookup::of(&Targets::default()).covering("::".parse().unwrap()), None);
    }
}
