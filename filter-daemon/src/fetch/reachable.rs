//! Finds addresses that not everybody on the internet can reach. By default, filterd never asks them for a
//! feed. Otherwise, an attacker with control of a name or a redirect could make filterd ask services that
//! only this host or its network can reach.
//!
//! The rules follow IANA's registries of special-purpose addresses. An IPv4 address inside an IPv6 address
//! is judged as well, because it is finally reached.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// Why an address must not be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnreachableReason {
    /// An address of this host.
    Own,
    /// 127.0.0.0/8 and ::1, the loopback addresses.
    Loopback,
    /// Private networks, and unique local addresses.
    Private,
    /// Shared addresses of carriers and their customers: 100.64.0.0/10.
    Carrier,
    /// Link-local addresses: 169.254.0.0/16 and fe80::/10, where clouds have their metadata.
    LinkLocal,
    /// Multicast addresses, which reach many hosts.
    Multicast,
    /// Addresses for examples and measurements.
    Documentation,
    /// All other reserved addresses.
    Reserved,
}

impl fmt::Display for UnreachableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "an address of this host",
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::Carrier => "an address within a carrier's network",
            Self::LinkLocal => "a link-local address",
            Self::Multicast => "a multicast address",
            Self::Documentation => "an address for examples and measurements",
            Self::Reserved => "a reserved address",
        })
    }
}

/// Why a host with the addresses `own` must not ask this address; none if it may.
pub fn why_not(address: IpAddr, own: &[IpAddr]) -> Option<UnreachableReason> {
    let reached = || std::iter::once(address).chain(inside(address).map(IpAddr::V4));
    if reached().any(|address| own.iter().any(|own| own.to_canonical() == address.to_canonical())) {
        return Some(UnreachableReason::Own);
    }
    reached().find_map(|address| match address {
        IpAddr::V4(address) => special4(address),
        IpAddr::V6(address) => special6(address),
    })
}

fn special4(address: Ipv4Addr) -> Option<UnreachableReason> {
    Some(match address.octets() {
        [127, ..] => UnreachableReason::Loopback,
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] => UnreachableReason::Private,
        [100, 64..=127, ..] => UnreachableReason::Carrier,
        [169, 254, ..] => UnreachableReason::LinkLocal,
        [224..=239, ..] => UnreachableReason::Multicast,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [198, 18..=19, ..] => {
            UnreachableReason::Documentation
        }
        // This network, protocol assignments, former 6to4 relays, and addresses reserved for the future.
        [0, ..] | [192, 0, 0, _] | [192, 88, 99, _] | [240..=255, ..] => UnreachableReason::Reserved,
        _ => return None,
    })
}

fn special6(address: Ipv6Addr) -> Option<UnreachableReason> {
    Some(match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => UnreachableReason::Loopback,
        // The IPv4 address inside is judged by itself: mapped addresses, and the well-known NAT64 prefix.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => return None,
        [0x64, 0xff9b, 1, ..] | [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => UnreachableReason::Private,
        [0xfe80..=0xfebf, ..] => UnreachableReason::LinkLocal,
        [0xff00..=0xffff, ..] => UnreachableReason::Multicast,
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] | [0x2001, 2, 0, ..] => {
            UnreachableReason::Documentation
        }
        // Teredo is judged by the addresses inside. The rest up to 2001:1ff is for protocol assignments.
        [0x2001, 0, ..] => return None,
        [0x2001, 0..=0x01ff, ..] => UnreachableReason::Reserved,
        [0x2000..=0x3fff, ..] => return None,
        _ => UnreachableReason::Reserved,
    })
}

/// The IPv4 addresses that a request to this IPv6 address may finally reach.
fn inside(address: IpAddr) -> impl Iterator<Item = Ipv4Addr> {
    let IpAddr::V6(address) = address else { return [None, None].into_iter().flatten() };
    let bits = address.to_bits();
    let lowest = Ipv4Addr::from_bits(bits as u32);
    let at = |shift: u32| Ipv4Addr::from_bits((bits >> shift) as u32);
    let found = match address.segments() {
        // Mapped addresses, compatible ones (except ::1 and ::), and the well-known NAT64 prefix.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => [Some(lowest), None],
        [0, 0, 0, 0, 0, 0, ..] if bits > 1 => [Some(lowest), None],
        // 6to4.
        [0x2002, ..] => [Some(at(80)), None],
        // Teredo: its server, and its client with all bits inverted.
        [0x2001, 0, ..] => [Some(at(64)), Some(Ipv4Addr::from_bits(!(bits as u32)))],
        // ISATAP.
        [_, _, _, _, 0 | 0x0200, 0x5efe, ..] => [Some(lowest), None],
        _ => [None, None],
    };
    found.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(address: &str) -> Option<UnreachableReason> {
        why_not(address.parse().unwrap(), &["198.41.0.4".parse().unwrap(), "2a00:1::1".parse().unwrap()])
    }

    #[test]
    fn public_addresses_are_accepted() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00::1",
            "2001:200::1",
            "2001:4860:4860::8888",
            "3ffe:ffff::1",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2002:101:101::1",
            "2a00::5efe:101:101",
        ] {
            assert_eq!(reason(address), None, "{address}");
        }
    }

    #[test]
    fn special_addresses_are_refused() {
        use UnreachableReason::*;
        let cases = [
            (Loopback, "127.0.0.1 127.255.255.255 ::1"),
            (Private, "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255"),
            (Private, "fc00:: fdff:ffff:: fec0::1 64:ff9b:1::1.1.1.1"),
            (Carrier, "100.64.0.0 100.127.255.255"),
            (LinkLocal, "169.254.169.254 fe80::1 febf::1"),
            (Multicast, "224.0.0.1 239.255.255.255 ff02::1"),
            (
                Documentation,
                "192.0.2.1 198.51.100.1 203.0.113.1 198.18.0.0 198.19.255.255 2001:db8::1 3fff:fff::1 2001:2::1",
            ),
            (Reserved, "0.0.0.0 0.255.255.255 192.0.0.1 192.88.99.1 240.0.0.0 255.255.255.255"),
            (Reserved, ":: 100::1 200::1 1fff:: 4000:: 5f00::1 e000:: 2001:10::1 2001:1::1 2001:1ff::1"),
        ];
        for (why, addresses) in cases {
            for address in addresses.split(' ') {
                assert_eq!(reason(address), Some(why), "{address}");
            }
        }
    }

    #[test]
    fn embedded_ipv4_addresses_are_judged() {
        use UnreachableReason::*;
        let cases = [
            (Loopback, "::ffff:127.0.0.1"),
            (LinkLocal, "::ffff:169.254.169.254"),
            (Private, "64:ff9b::10.0.0.1"),
            (LinkLocal, "64:ff9b::169.254.169.254"),
            (Private, "2002:0a00:0001::1"),
            (LinkLocal, "2002:a9fe:a9fe::1"),
            // Its server is private; its client is 127.0.0.1, inverted.
            (Private, "2001:0:a00:1::fefe:fefe"),
            (Loopback, "2001:0:101:101::80ff:fffe"),
            (Private, "2a00::5efe:a00:1"),
            (Private, "2a00::200:5efe:a00:1"),
            // Compatible addresses are reserved, whatever address is inside.
            (Reserved, "::1.1.1.1"),
            (Own, "::ffff:198.41.0.4"),
            (Own, "64:ff9b::198.41.0.4"),
            (Own, "2002:c629:0004::1"),
        ];
        for (why, address) in cases {
            assert_eq!(reason(address), Some(why), "{address}");
        }
    }

    #[test]
    fn own_addresses_are_refused() {
        assert_eq!(reason("198.41.0.4"), Some(UnreachableReason::Own));
        assert_eq!(reason("2a00:1::1"), Some(UnreachableReason::Own));
        assert_eq!(reason("198.41.0.5"), None);
    }
}
