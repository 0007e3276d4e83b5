//! Compares guarded addresses with targets to be blocked.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use filter_common::target::Target;

use crate::blocklist::Targets;
use crate::daemon::covering::TargetLookup;

/// All addresses that are guarded now, and why.
#[derive(Clone, Copy)]
pub struct GuardView<'a>(&'a BTreeMap<IpAddr, Arc<str>>);

/// A guarded address that a target to be blocked covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardedTarget {
    /// The target that would block it.
    pub target: Target,
    pub address: IpAddr,
    pub why: Arc<str>,
}

impl<'a> GuardView<'a> {
    pub const fn of(all: &'a BTreeMap<IpAddr, Arc<str>>) -> Self {
        Self(all)
    }

    /// All guarded addresses, in order.
    pub fn all(self) -> impl Iterator<Item = (IpAddr, &'a Arc<str>)> {
        self.0.iter().map(|(address, why)| (*address, why))
    }

    /// The targets of which every address is guarded.
    pub fn guards_all_of(self, targets: &Targets) -> Targets {
        let hosts =
            self.all().map(|(address, _)| Target::from(address)).filter(|host| targets.contains(*host));
        let prefixes = targets.others.iter().copied().filter(|target| self.guards_whole(*target));
        hosts.chain(prefixes).collect()
    }

    fn guards_whole(self, target: Target) -> bool {
        let (first, last, bits): (IpAddr, IpAddr, u8) = match target {
            Target::V4(prefix) => (
                Ipv4Addr::from_bits(prefix.first()).into(),
                Ipv4Addr::from_bits(prefix.last()).into(),
                32 - prefix.length(),
            ),
            Target::V6(prefix) => (
                Ipv6Addr::from_bits(prefix.first()).into(),
                Ipv6Addr::from_bits(prefix.last()).into(),
                128 - prefix.length(),
            ),
        };
        // A prefix with more addresses than are guarded cannot be guarded completely; this also covers an
        // overflow of the shift.
        let all = 1_usize.checked_shl(bits.into()).filter(|all| *all <= self.0.len());
        all.is_some_and(|all| self.0.range(first..=last).count() == all)
    }

    /// The guarded addresses that these sorted targets cover.
    pub fn covered_by(self, targets: &Targets) -> Vec<GuardedTarget> {
        let cover = TargetLookup::of(targets);
        let covered = self.all().filter_map(|(address, why)| {
            let target = cover.covering(address)?;
            Some(GuardedTarget { target, address, why: why.clone() })
        });
        covered.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_guarded_address_is_found_with_its_target() {
        let all = [("192.0.2.1", "one"), ("198.51.100.7", "two"), ("2001:db8::1", "three")];
        let all = all.map(|(address, why)| (address.parse().unwrap(), why.into()));
        let all: BTreeMap<IpAddr, Arc<str>> = all.into_iter().collect();
        let told = |words: &[&str]| {
            let mut targets: Targets = words.iter().map(|word| word.parse::<Target>().unwrap()).collect();
            targets.sort();
            let covered = GuardView::of(&all).covered_by(&targets).into_iter();
            covered.map(|one| format!("{} {} {}", one.target, one.address, one.why)).collect::<Vec<_>>()
        };
        assert_eq!(
            told(&["192.0.2.1", "192.0.2.2", "198.51.100.0/24", "::/0"]),
            ["192.0.2.1 192.0.2.1 one", "198.51.100.0/24 198.51.100.7 two", "::/0 2001:db8::1 three"]
        );
        assert!(told(&["192.0.2.2", "203.0.113.0/24"]).is_empty());
    }
    #[test]
    fn prefix_is_guarded_if_every_address_is() {
        let all = ["192.0.2.2", "192.0.2.3", "192.0.2.4", "2001:db8::", "2001:db8::1", "ffff:ffff::"];
        let all: BTreeMap<IpAddr, Arc<str>> =
            all.into_iter().map(|address| (address.parse().unwrap(), "one".into())).collect();
        let whole = |words: &[&str]| {
            let targets = words.iter().map(|word| word.parse::<Target>().unwrap()).collect();
            let whole = GuardView::of(&all).guards_all_of(&targets);
            whole.iter().map(|target| target.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(whole(&["192.0.2.2/31", "192.0.2.4/31", "192.0.2.0/30"]), ["192.0.2.2/31"]);
        assert_eq!(whole(&["2001:db8::/127", "2001:db8::/126", "2001:db8::/64"]), ["2001:db8::/127"]);
        assert_eq!(whole(&["192.0.2.4", "192.0.2.5", "2001:db8::1"]), ["192.0.2.4", "2001:db8::1"]);
        assert!(whole(&["0.0.0.0/0", "::/0", "ffff:ffff::/64", "ffff:ffff::/127"]).is_empty());
    }
}
