//! What the packets carry that are judged: TCP and UDP to some port, other protocols, and pieces of packets; behind tags,
//! options and extension headers. None of them is part of anything that this host has begun.

use std::net::IpAddr;

use super::judge::away;
use crate::{Frame, Random};

/// A packet to be judged: from whom, and what it carries.
pub type Packet = (IpAddr, Sent);

/// What it carries, as far as anybody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// To this port.
    Tcp(u16),
    /// To this port.
    Udp(u16),
    /// Of this protocol, which has no ports.
    Other(u8),
    /// A later fragment of a packet of this protocol.
    Later(u8),
    /// It should say a port, and does not: a first fragment that ends before, or more headers than are looked behind.
    Hidden,
}

/// What the usual frame carries.
pub const USUAL: Sent = Sent::Udp(53);

/// On both sides of the ends of what lists name.
const PORTS: [u16; 12] = [53, 1, 21, 22, 23, 80, 442, 443, 8000, 8050, 8100, 8101];

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const GRE: u8 = 47;
const ICMP6: u8 = 58;
const SCTP: u8 = 132;

/// Extension headers that are looked behind, and one more.
const MOST_HEADERS: usize = 7;

/// Each of these sends something.
pub fn from_each(sources: &[IpAddr], random: &mut Random) -> Vec<Packet> {
    sources.iter().map(|source| (*source, any(source.is_ipv6(), random))).collect()
}

fn any(is_six: bool, random: &mut Random) -> Sent {
    let port = PORTS[random.below(PORTS.len())];
    let ping = if is_six { ICMP6 } else { ICMP };
    match random.below(16) {
        0..5 => USUAL,
        5..9 => Sent::Tcp(port),
        9..12 => Sent::Udp(port),
        12 | 13 => Sent::Other([ping, GRE, SCTP][random.below(3)]),
        // Of UDP, it could be a piece of an answer.
        14 => Sent::Later([TCP, ping, SCTP][random.below(3)]),
        _ => Sent::Hidden,
    }
}

/// A packet for nobody here.
pub fn frame((source, sent): Packet) -> Frame {
    let away = away(source);
    let frame = match sent {
        USUAL => return away,
        Sent::Tcp(port) => away.transport(TCP, segment(port)),
        Sent::Udp(port) => away.transport(UDP, segment(port)),
        Sent::Other(protocol @ (ICMP | ICMP6)) => {
            let ping = if protocol == ICMP { 8 } else { 128 };
            away.transport(protocol, vec![ping, 0, 0, 0, 0, 1, 0, 1])
        }
        Sent::Other(protocol) => away.transport(protocol, segment(22)),
        Sent::Later(protocol) => away.transport(protocol, segment(22)).fragment(100),
        Sent::Hidden if source.is_ipv6() => {
            let hidden = away.transport(TCP, segment(22));
            return (0..=MOST_HEADERS).fold(hidden, |frame, _| frame.extension(60));
        }
        Sent::Hidden => away.transport(TCP, vec![0x9c, 0x40, 0]).fragment(0),
    };
    wrapped(frame, source)
}

/// In one of many ways, always the same for one source.
fn wrapped(frame: Frame, source: IpAddr) -> Frame {
    let low = match source {
        IpAddr::V4(address) => address.octets()[3],
        IpAddr::V6(address) => address.octets()[15],
    };
    let frame = match (source.is_ipv6(), low % 4) {
        (_, 0) => frame,
        (false, _) => frame.options(usize::from(low) % 11),
        (true, _) => (0..usize::from(low) % MOST_HEADERS).fold(frame, |frame, _| frame.extension(60)),
    };
    if low.is_multiple_of(3) { frame.vlan(7) } else { frame }
}

/// The beginning of TCP or of UDP; of TCP it belongs to a connection.
fn segment(port: u16) -> Vec<u8> {
    let mut segment = vec![0; 20];
    segment[..6].copy_from_slice(&[[0x9c, 0x40], port.to_be_bytes(), [0, 20]].concat());
    (segment[12], segment[13]) = (5 << 4, Frame::ACK);
    segment
}
