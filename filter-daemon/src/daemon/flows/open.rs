//! Which of the sockets of this host are flows that it began: those to somebody from a port that nobody listens on.

use std::collections::HashSet;
use std::net::IpAddr;

use filter_common::flow::{KEY_WORDS, Key, Protocol as Upper, ROOM, mapped};
use filter_common::hash::Address6;

use crate::daemon::sockets::{Pair, Protocol};

/// Their keys, if `begins` is so of their ports; as many as there is room for.
pub fn flows(protocol: Protocol, pairs: &[Pair], begins: impl Fn(u16) -> bool) -> Vec<[u64; KEY_WORDS]> {
    let listened: HashSet<u16> =
        pairs.iter().filter(|pair| pair.other.is_none()).map(|pair| pair.ours).collect();
    let upper = match protocol {
        Protocol::Tcp => Upper::Tcp,
        Protocol::Udp => Upper::Udp,
    };
    let key = |pair: &Pair| {
        let (peer, theirs) = pair.other?;
        let is_own = !listened.contains(&pair.ours) && begins(pair.ours);
        is_own.then(|| Key::new(address(peer), upper, pair.ours, theirs).0)
    };
    pairs.iter().filter_map(key).take(ROOM).collect()
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
    fn what_was_begun_is_told_from_what_came() {
        let pair = |ours, other: Option<(&str, u16)>| Pair {
            protocol: Protocol::Tcp,
            ours,
            other: other.map(|(address, port)| (address.parse().unwrap(), port)),
        };
        let pairs = [
            pair(22, None),
            pair(22, Some(("192.0.2.50", 40_000))),
            pair(50_000, Some(("198.51.100.9", 443))),
            pair(50_001, Some(("::ffff:198.51.100.9", 443))),
            pair(50_002, Some(("2001:db8::9", 443))),
            pair(9, Some(("198.51.100.9", 443))),
        ];
        let found = flows(Protocol::Tcp, &pairs, |port| port > 9);
        let v4 = |ours| Key::new(mapped(0xC633_6409), Upper::Tcp, ours, 443).0;
        let v6 = Address6 { high: 0x2001_0db8_0000_0000, low: 9 };
        assert_eq!(found, [v4(50_000), v4(50_001), Key::new(v6, Upper::Tcp, 50_002, 443).0]);
    }
}
