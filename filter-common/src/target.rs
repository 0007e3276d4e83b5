//! Targets: the addresses and prefixes that a list can contain, and their written form.

mod error;
mod parse;
mod prefix;
mod span;

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub use error::ParseTargetError;
pub use prefix::{Address, Prefix, Prefix4, Prefix6, PrefixError};
pub use span::{Pieces, Span};

/// A single address or a prefix of either family.
///
/// Ordered by family, IPv4 first, then by address, then by length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// An IPv4 address or prefix.
    V4(Prefix4),
    /// An IPv6 address or prefix.
    V6(Prefix6),
}

impl Target {
    /// True if this target contains every address of `other`.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::V4(wide), Self::V4(narrow)) => wide.covers(narrow),
            (Self::V6(wide), Self::V6(narrow)) => wide.covers(narrow),
            (Self::V4(_), Self::V6(_)) | (Self::V6(_), Self::V4(_)) => false,
        }
    }

    /// True if this target contains `address`. An IPv4-mapped address counts as its IPv4 address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.covers(&address.into())
    }

    /// True for a single address.
    #[must_use]
    pub fn is_host(&self) -> bool {
        match self {
            Self::V4(prefix) => prefix.is_host(),
            Self::V6(prefix) => prefix.is_host(),
        }
    }

    /// True for a large part of all addresses: an IPv4 prefix shorter than /8 or an IPv6 prefix shorter than
    /// /16. Such a prefix is usually a typing error.
    #[must_use]
    pub fn is_wide(&self) -> bool {
        match self {
            Self::V4(prefix) => prefix.length() < 8,
            Self::V6(prefix) => prefix.length() < 16,
        }
    }
}

impl From<Prefix4> for Target {
    fn from(prefix: Prefix4) -> Self {
        Self::V4(prefix)
    }
}

impl From<Prefix6> for Target {
    fn from(prefix: Prefix6) -> Self {
        Self::V6(prefix)
    }
}

impl From<Ipv4Addr> for Target {
    fn from(address: Ipv4Addr) -> Self {
        Self::V4(Prefix::host(address.to_bits()))
    }
}

/// A dual-stack socket reports IPv4 peers in IPv4-mapped form, but their packets are IPv4. Such an address
/// therefore becomes an IPv4 target.
impl From<Ipv6Addr> for Target {
    fn from(address: Ipv6Addr) -> Self {
        match address.to_ipv4_mapped() {
            Some(mapped) => mapped.into(),
            None => Self::V6(Prefix::host(address.to_bits())),
        }
    }
}

impl From<IpAddr> for Target {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => address.into(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(prefix) => prefix.fmt(f),
            Self::V6(prefix) => prefix.fmt(f),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec;

    use super::*;

    fn target(word: &str) -> Target {
        word.parse().expect(word)
    }

    #[test]
    fn prefix_contains_only_its_own_addresses() {
        let prefix = target("198.51.100.0/24");
        assert!(prefix.contains("198.51.100.0".parse().unwrap()));
        assert!(prefix.contains("198.51.100.255".parse().unwrap()));
        assert!(!prefix.contains("198.51.101.0".parse().unwrap()));
        assert!(!prefix.contains("2001:db8::1".parse().unwrap()));
    }

    #[test]
    fn families_never_cover_each_other() {
        assert!(target("0.0.0.0/0").covers(&target("255.255.255.255")));
        assert!(!target("0.0.0.0/0").covers(&target("::1")));
        assert!(target("::/0").covers(&target("2001:db8::/32")));
        assert!(!target("::/0").covers(&target("10.0.0.0/8")));
    }

    #[test]
    fn mapped_peer_becomes_an_ipv4_target() {
        let peer: IpAddr = "::ffff:203.0.113.7".parse().unwrap();
        assert_eq!(Target::from(peer), target("203.0.113.7"));
        assert!(target("203.0.113.0/24").contains(peer));
    }

    #[test]
    fn targets_sort_by_family_then_address_then_length() {
        let mut targets = vec![target("::"), target("10.0.0.0"), target("10.0.0.0/8"), target("9.9.9.9")];
        targets.sort();
        assert_eq!(targets, [target("9.9.9.9"), target("10.0.0.0/8"), target("10.0.0.0"), target("::")]);
    }

    #[test]
    fn a_target_reads_as_an_operator_writes_it() {
        for word in ["203.0.113.7", "10.0.0.0/8", "0.0.0.0/0", "::/0", "2001:db8:bad::/48", "fe80::1", "::"] {
            assert_eq!(target(word).to_string(), word);
        }
        assert_eq!(target("203.0.113.7/32").to_string(), "203.0.113.7");
        assert_eq!(target("2001:DB8:0:0::1/128").to_string(), "2001:db8::1");
    }
}
