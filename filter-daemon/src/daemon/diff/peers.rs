//! The peers of this host at the moment: the other ends of its connections, its name servers and its
//! gateways. Loopback addresses are left out, because their packets do not pass the filter. A socket does not
//! tell on which interface packets arrive, and routes only tell where they leave. All peers therefore count
//! as arriving on a filtered interface.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::control::wire::diff;
use crate::daemon::sockets::{self, PeerConnection, Protocol};

/// The limit of peers that are checked.
const MOST: usize = 1 << 16;

/// The gateway flag of a route.
const IS_GATEWAY: u32 = 2;

/// The role of a peer for this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeerRole {
    NameServer,
    Gateway,
    /// The peer connected to this port of ours.
    Client(Protocol, u16),
    /// We connected to this port of the peer.
    Server(Protocol, u16),
}

/// All peers that were found.
#[derive(Debug, Default)]
pub struct Peers {
    /// The roles of each peer, with their counts.
    pub known: BTreeMap<IpAddr, BTreeMap<PeerRole, u64>>,
    /// Our ports that a peer in this role sends to.
    pub ours: BTreeMap<(IpAddr, PeerRole), BTreeSet<u16>>,
    /// The sources that could not be read, and why.
    pub unseen: Vec<String>,
}

impl Peers {
    /// Reads sockets, resolver files and routes.
    pub fn look() -> Self {
        let mut this = Self::default();
        for (protocol, name) in [(Protocol::Tcp, "TCP"), (Protocol::Udp, "UDP")] {
            match sockets::connections(protocol) {
                Ok(connections) => this.take_connections(&connections),
                Err(error) => this.unseen.push(format!("{name} sockets: {error}")),
            }
        }
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        // Systemd's resolver lists its upstream servers in a file of its own.
        let files = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];
        files
            .iter()
            .for_each(|path| name_servers(&text(path)).for_each(|ip| this.add(ip, PeerRole::NameServer)));
        gateways4(&text("/proc/net/route")).for_each(|ip| this.add(ip, PeerRole::Gateway));
        gateways6(&text("/proc/net/ipv6_route")).for_each(|ip| this.add(ip, PeerRole::Gateway));
        this
    }

    fn take_connections(&mut self, connections: &[PeerConnection]) {
        for &PeerConnection { protocol, ours, peer, theirs, is_own } in connections {
            let role =
                if is_own { PeerRole::Server(protocol, theirs) } else { PeerRole::Client(protocol, ours) };
            self.add(peer, role);
            self.ours.entry((peer.to_canonical(), role)).or_default().insert(ours);
        }
        self.ours.retain(|(address, _), _| self.known.contains_key(address));
    }

    fn add(&mut self, address: IpAddr, role: PeerRole) {
        let address = address.to_canonical();
        if address.is_loopback() || address.is_unspecified() {
            return;
        }
        if self.known.len() >= MOST && !self.known.contains_key(&address) {
            let told = format!("more peers: only {MOST} are checked");
            if !self.unseen.contains(&told) {
                self.unseen.push(told);
            }
            return;
        }
        *self.known.entry(address).or_default().entry(role).or_default() += 1;
    }
}

impl PeerRole {
    /// The role in the reply, with this number of connections.
    pub fn told(self, connections: u64) -> diff::Role {
        let named =
            |role: &str| diff::Role { role: role.to_owned(), protocol: None, port: None, connections: None };
        let connected = |role: &str, protocol: Protocol, port| diff::Role {
            protocol: Some(if protocol == Protocol::Tcp { "tcp" } else { "udp" }.to_owned()),
            port: Some(port),
            connections: Some(connections),
            ..named(role)
        };
        match self {
            Self::NameServer => named("name_server"),
            Self::Gateway => named("gateway"),
            Self::Client(protocol, port) => connected("client", protocol, port),
            Self::Server(protocol, port) => connected("server", protocol, port),
        }
    }
}

/// The name servers in a resolv.conf.
fn name_servers(text: &str) -> impl Iterator<Item = IpAddr> + '_ {
    let words = text.lines().map(str::split_whitespace);
    words.filter_map(|mut words| {
        let address = words.next().filter(|word| *word == "nameserver").and(words.next())?;
        address.split('%').next()?.parse().ok()
    })
}

/// The gateways in /proc/net/route. The kernel writes addresses as numbers in its own byte order.
fn gateways4(text: &str) -> impl Iterator<Item = IpAddr> + '_ {
    let rows = text.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter_map(|row| {
        let number = |at: usize| u32::from_str_radix(row.get(at)?, 16).ok();
        let (gateway, flags) = (number(2)?, number(3)?);
        (flags & IS_GATEWAY != 0).then(|| Ipv4Addr::from(gateway.to_ne_bytes()).into())
    })
}

/// The gateways in /proc/net/ipv6_route.
fn gateways6(text: &str) -> impl Iterator<Item = IpAddr> + '_ {
    let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter_map(|row| {
        let gateway = u128::from_str_radix(row.get(4)?, 16).ok()?;
        let flags = u32::from_str_radix(row.get(8)?, 16).ok()?;
        (flags & IS_GATEWAY != 0).then(|| Ipv6Addr::from_bits(gateway).into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(addresses: impl Iterator<Item = IpAddr>) -> Vec<String> {
        addresses.map(|address| address.to_string()).collect()
    }

    #[test]
    fn name_servers_are_read_as_resolver_does() {
        let text = "# comment\nsearch example\nnameserver 192.0.2.53\n nameserver\tfe80::1%eth0 \nnameserver\n\
                    nameserver nonsense\n;nameserver 192.0.2.1\n";
        assert_eq!(texts(name_servers(text)), ["192.0.2.53", "fe80::1"]);
    }

    #[test]
    fn gateways_are_read_as_the_kernel_writes_them() {
        let of = Ipv4Addr::new(192, 0, 2, 254);
        let hex = format!("{:08X}", u32::from_ne_bytes(of.octets()));
        let text = format!(
            "Iface\tDestination\tGateway\tFlags\n\
             eth0\t00000000\t{hex}\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
             eth0\t000200C0\t00000000\t0001\t0\n\
             broken\n"
        );
        assert_eq!(texts(gateways4(&text)), ["192.0.2.254"]);
        let zeros = "0".repeat(32);
        let line = |gateway: &str, flags: &str| {
            format!("{zeros} 00 {zeros} 00 {gateway} 00000400 00000001 00000000 {flags}     eth0\n")
        };
        let text =
            line("20010db80000000000000000000000fe", "00000003") + &line(&zeros, "00000001") + "broken";
        assert_eq!(texts(gateways6(&text)), ["2001:db8::fe"]);
    }

    #[test]
    fn clients_and_servers_differ_and_loopback_is_ignored() {
        let one = |ours, peer: &str, theirs, is_own| {
            let peer = peer.parse().unwrap();
            PeerConnection { protocol: Protocol::Tcp, ours, peer, theirs, is_own }
        };
        let mut peers = Peers::default();
        peers.take_connections(&[
            one(22, "::ffff:192.0.2.50", 40_000, false),
            one(22, "192.0.2.50", 40_001, false),
            one(50_000, "198.51.100.9", 443, true),
            one(50_001, "127.0.0.1", 443, true),
        ]);
        let known: Vec<_> = peers.known.iter().map(|(ip, roles)| (ip.to_string(), roles.clone())).collect();
        let expected = [
            ("192.0.2.50".to_owned(), BTreeMap::from([(PeerRole::Client(Protocol::Tcp, 22), 2)])),
            ("198.51.100.9".to_owned(), BTreeMap::from([(PeerRole::Server(Protocol::Tcp, 443), 1)])),
        ];
        assert_eq!(known, expected);
        let ours: Vec<Vec<u16>> = peers.ours.into_values().map(|ports| ports.into_iter().collect()).collect();
        assert_eq!(ours, [[22], [50_000]]);
    }
}
