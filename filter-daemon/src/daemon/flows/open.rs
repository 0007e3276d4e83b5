//! The open flows of connections that this host began.

use std::net::IpAddr;

use filter_common::flow::{KEY_WORDS, Key, Protocol as Upper, ROOM, mapped};
use filter_common::hash::Address6;

use crate::daemon::sockets::{PeerConnection, Protocol};

/// Their keys, up to the room in the map.
pub fn flows(connections: &[PeerConnection]) -> Vec<[u64; KEY_WORDS]> {
    let key = |one: &PeerConnection| {
        let upper = match one.protocol {
            Protocol::Tcp => Upper::Tcp,
            Protocol::Udp => Upper::Udp,
        };
        Key::new(address(one.peer), upper, one.ours, one.theirs).0
    };
    connections.iter().filter(|one| one.is_own).map(key).take(ROOM).collect()
}

fn address(address: IpAddr) -> Address6 {
    match address.to_canonical() {
        IpAddr::V4(address) => mapped(address.to_bits()),
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            Address6 { high: (bits >> 64) as u64, low: bits as u64 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_connection_is_remembered_by_its_peer() {
        let one = |protocol, ours, peer: &str, is_own| PeerConnection {
            protocol,
            ours,
            peer: peer.parse().unwrap(),
            theirs: 443,
            is_own,
        };
        let connections = [
            one(Protocol::Tcp, 22, "192.0.2.50", false),
            one(Protocol::Tcp, 50_000, "198.51.100.9", true),
            one(Protocol::Udp, 50_001, "::ffff:198.51.100.9", true),
            one(Protocol::Tcp, 50_002, "2001:db8::9", true),
        ];
        let v4 = |upper, ours| Key::new(mapped(0xC633_6409), upper, ours, 443).0;
        let v6 = Address6 { high: 0x2001_0db8_0000_0000, low: 9 };
        let expected =
            [v4(Upper::Tcp, 50_000), v4(Upper::Udp, 50_001), Key::new(v6, Upper::Tcp, 50_002, 443).0];
        assert_eq!(flows(&connections), expected);
    }
}
