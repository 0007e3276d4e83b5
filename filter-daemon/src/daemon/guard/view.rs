//! What is guarded, held against what is to be blocked.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use filter_common::target::Target;

use crate::blocklist::Targets;
use crate::daemon::covering::Cover;

/// Everything that is guarded at the moment, and why.
#[derive(Clone, Copy)]
pub struct View<'a>(&'a BTreeMap<IpAddr, Arc<str>>);

/// A guarded address that something to be blocked covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// What would block it.
    pub target: Target,
    /// The address.
    pub address: IpAddr,
    /// Why it is guarded.
    pub why: Arc<str>,
}

impl<'a> View<'a> {
    /// Of all these.
    pub const fn of(all: &'a BTreeMap<IpAddr, Arc<str>>) -> Self {
        Self(all)
    }

    /// Everything guarded, in order.
    pub fn all(self) -> impl Iterator<Item = (IpAddr, &'a Arc<str>)> {
        self.0.iter().map(|(address, why)| (*address, why))
    }

    /// All of it, for whoever looks later.
    pub fn copied(self) -> BTreeMap<IpAddr, Arc<str>> {
        self.0.clone()
    }

    /// Which guarded addresses these sorted targets cover.
    pub fn covered_by(self, targets: &Targets) -> Vec<Guarded> {
        let cover = Cover::of(targets);
        let covered = self.all().filter_map(|(address, why)| {
            let target = cover.covering(address)?;
            Some(Guarded { target, address, why: why.clone() })
        });
        covered.collect()
    }
}

impl Guarded {
    /// Is nothing but this address meant?
    pub fn is_whole(&self) -> bool {
        self.target.is_host()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_covered_is_found_with_what_covers_it() {
        let all = [("192.0.2.1", "one"), ("198.51.100.7", "two"), ("2001:db8::1", "three")];
        let all = all.map(|(address, why)| (address.parse().unwrap(), why.into()));
        let all: BTreeMap<IpAddr, Arc<str>> = all.into_iter().collect();
        let told = |words: &[&str]| {
            let mut targets: Targets = words.iter().map(|word| word.parse::<Target>().unwrap()).collect();
            targets.sort();
            let covered = View::of(&all).covered_by(&targets).into_iter();
            covered
                .map(|one| format!("{} {} {} {}", one.target, one.address, one.why, one.is_whole()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            told(&["192.0.2.1", "192.0.2.2", "198.51.100.0/24", "::/0"]),
            [
                "192.0.2.1 192.0.2.1 one true",
                "198.51.100.0/24 198.51.100.7 two false",
                "::/0 2001:db8::1 three false"
            ]
        );
        assert!(told(&["192.0.2.2", "203.0.113.0/24"]).is_empty());
    }
}
