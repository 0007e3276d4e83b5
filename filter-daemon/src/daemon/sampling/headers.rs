//! Reads the headers of a frame behind its addresses, from its first bytes: the protocol, the ports, and the
//! end of the last header.

use std::net::IpAddr;

use filter_common::ports;

/// The headers of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The protocol number that IANA assigned.
    pub protocol: u8,
    /// The source port and the destination port.
    pub ports: Option<[u16; 2]>,
    /// How many bytes of the frame are headers. Content follows, which may be private.
    pub length: usize,
}

/// The end of the IP headers, counted from the start of IP.
struct IpHeaders<'a> {
    protocol: u8,
    end: usize,
    /// The bytes behind them; none in a later fragment, or if the frame is cut off before.
    behind: Option<&'a [u8]>,
}

/// Two addresses and the type.
const ETHERNET: usize = 14;

/// The most extension headers that are read.
const MOST: usize = 8;

const ICMP: u8 = 1;
const ICMP6: u8 = 58;
const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

/// The protocol and ports of a frame, if they can be read.
pub fn read(frame: &[u8]) -> Option<Headers> {
    let header = ports::header(&frame) as usize;
    let start = header / 2;
    let ip = frame.get(start..).filter(|_| header != 0)?;
    let IpHeaders { protocol, end, behind } = if header & 1 == 0 { four(ip)? } else { six(ip)? };
    let length = (start + end).saturating_add(behind.map_or(0, |behind| transport(protocol, behind)));
    let has_ports = [TCP, UDP, DCCP, SCTP, UDP_LITE].contains(&protocol);
    let ports = behind.filter(|_| has_ports).and_then(|behind| behind.first_chunk::<4>());
    let ports = ports.map(|[a, b, c, d]| [u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])]);
    Some(Headers { protocol, ports, length })
}

/// The destination of a frame, if it can be read.
pub fn destination(frame: &[u8]) -> Option<IpAddr> {
    let header = ports::header(&frame) as usize;
    let ip = frame.get(header / 2..).filter(|_| header != 0)?;
    if header & 1 == 0 {
        ip.get(16..)?.first_chunk::<4>().map(|address| IpAddr::from(*address))
    } else {
        ip.get(24..)?.first_chunk::<16>().map(|address| IpAddr::from(*address))
    }
}

/// A packet without an Ethernet header, behind one without addresses. Readers of frames expect one.
pub fn with_ethernet(packet: &[u8]) -> Vec<u8> {
    let kind: [u8; 2] = match packet.first().map(|first| first >> 4) {
        Some(4) => [0x08, 0x00],
        Some(6) => [0x86, 0xDD],
        Some(_) | None => [0; 2],
    };
    [&[0; ETHERNET - 2][..], &kind, packet].concat()
}

/// The headers of a frame. If IP cannot be read, only the Ethernet header.
pub fn of(frame: &[u8]) -> &[u8] {
    let length = read(frame).map_or(ETHERNET, |headers| headers.length);
    frame.get(..length).unwrap_or(frame)
}

/// The length of this protocol's header. It is zero for unknown protocols, because their content could begin
/// anywhere.
fn transport(protocol: u8, behind: &[u8]) -> usize {
    let words =
        |at: usize, shift: u32| behind.get(at).map_or(usize::MAX / 4, |byte| usize::from(byte >> shift));
    match protocol {
        TCP => 4 * words(12, 4),
        DCCP => 4 * words(4, 0),
        SCTP => 12,
        // An ICMP error quotes a packet behind these bytes.
        UDP | UDP_LITE | ICMP | ICMP6 => 8,
        _ => 0,
    }
}

/// The usual name of a protocol.
pub fn name(protocol: u8) -> String {
    let name = match protocol {
        ICMP => "icmp",
        2 => "igmp",
        TCP => "tcp",
        UDP => "udp",
        DCCP => "dccp",
        47 => "gre",
        50 => "esp",
        51 => "ah",
        ICMP6 => "icmpv6",
        SCTP => "sctp",
        UDP_LITE => "udplite",
        number => return number.to_string(),
    };
    name.to_owned()
}

fn four(ip: &[u8]) -> Option<IpHeaders<'_>> {
    let (first, offset) = (ip.first()?, u16::from_be_bytes([*ip.get(6)?, *ip.get(7)?]) & 0x1FFF);
    let end = usize::from(first & 0xF) * 4;
    Some(IpHeaders { protocol: *ip.get(9)?, end, behind: ip.get(end..).filter(|_| offset == 0) })
}

fn six(ip: &[u8]) -> Option<IpHeaders<'_>> {
    let (mut protocol, mut end) = (*ip.get(6)?, 40);
    let mut behind = ip.get(end..);
    for _ in 0..MOST {
        let Some([next, length, more @ ..]) = behind else { break };
        let length = usize::from(*length);
        let length = match protocol {
            0 | 43 | 60 => 8 * (length + 1),
            51 => 4 * (length + 2),
            44 => {
                let offset = more.first_chunk().map_or(0, |offset| u16::from_be_bytes(*offset) >> 3);
                if offset != 0 {
                    return Some(IpHeaders { protocol: *next, end: end + 8, behind: None });
                }
                8
            }
            _ => break,
        };
        end += length;
        (protocol, behind) = (*next, ip.get(end..));
    }
    Some(IpHeaders { protocol, end, behind })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u16, content: &[&[u8]]) -> Vec<u8> {
        [&[6; 12][..], &kind.to_be_bytes(), &content.concat()].concat()
    }

    const PORTS: [u8; 4] = [0x9C, 0x40, 0, 22];

    #[test]
    fn ports_are_found_behind_whatever_stands_before_them() {
        let v4 = |first: u8, offset: u8, protocol: u8| {
            let mut header = vec![0; usize::from(first & 0xF) * 4];
            (header[0], header[7], header[9]) = (first, offset, protocol);
            header
        };
        let v6 = |next: u8| {
            let mut header = vec![0; 40];
            (header[0], header[6]) = (0x60, next);
            header
        };
        let ssh = Some([40_000, 22]);
        for (frame, protocol, ports) in [
            (frame(0x0800, &[&v4(0x45, 0, 6), &PORTS]), 6, ssh),
            (frame(0x0800, &[&v4(0x4F, 0, 17), &PORTS]), 17, ssh),
            (frame(0x8100, &[&[0, 7, 8, 0], &v4(0x45, 0, 6), &PORTS]), 6, ssh),
            (frame(0x0800, &[&v4(0x45, 9, 6), &PORTS]), 6, None),
            (frame(0x0800, &[&v4(0x45, 0, 1), &PORTS]), 1, None),
            (frame(0x0800, &[&v4(0x45, 0, 6), &PORTS[..3]]), 6, None),
            (frame(0x86DD, &[&v6(6), &PORTS]), 6, ssh),
            (frame(0x86DD, &[&v6(60), &[6, 0, 0, 0, 0, 0, 0, 0], &PORTS]), 6, ssh),
            (frame(0x86DD, &[&v6(44), &[17, 0, 0, 0, 0, 0, 0, 0], &PORTS]), 17, ssh),
            (frame(0x86DD, &[&v6(44), &[17, 0, 0, 9, 0, 0, 0, 0], &PORTS]), 17, None),
        ] {
            let read = read(&frame).map(|headers| (headers.protocol, headers.ports));
            assert_eq!(read, Some((protocol, ports)), "{frame:?}");
        }
        assert_eq!(read(&frame(0x0806, &[&[0; 28]])), None);
        assert_eq!((0..60).find_map(|end| read(&frame(0x0800, &[&[0; 60]])[..end.min(14)])), None);
    }

    #[test]
    fn destination_is_read_behind_tags() {
        let (mut four, mut six) = ([0; 20], [0; 40]);
        four[0] = 0x45;
        four[16..].copy_from_slice(&[203, 0, 113, 7]);
        (six[0], six[39]) = (0x60, 7);
        for (frame, expected) in [
            (frame(0x0800, &[&four]), Some("203.0.113.7")),
            (frame(0x8100, &[&[0, 7, 8, 0], &four]), Some("203.0.113.7")),
            (frame(0x86DD, &[&six]), Some("::7")),
            (frame(0x0800, &[&four[..19]]), None),
            (frame(0x0806, &[&[0; 28]]), None),
        ] {
            assert_eq!(destination(&frame), expected.map(|word| word.parse().unwrap()), "{frame:?}");
        }
    }

    #[test]
    fn packet_without_ethernet_header_gets_one() {
        for (packet, kind) in [(&[0x45, 0, 0][..], 0x0800), (&[0x60], 0x86DD), (&[0x12], 0), (&[], 0)] {
            assert_eq!(with_ethernet(packet)[12..], frame(kind, &[packet])[12..], "{packet:?}");
        }
    }

    #[test]
    fn headers_end_before_what_was_said() {
        const WORDS: &[u8] = b"Cookie: secret";
        let v4 = |protocol: u8, offset: u8| {
            let mut header = [0; 20];
            (header[0], header[7], header[9]) = (0x45, offset, protocol);
            header
        };
        let mut v6 = [0; 40];
        (v6[0], v6[6]) = (0x60, 44);
        let mut tcp = [0; 32];
        tcp[12] = 0x80;
        for (kind, headers) in [
            (0x0800, vec![&v4(TCP, 0)[..], &tcp]),
            (0x0800, vec![&v4(UDP, 0), &[0; 8]]),
            (0x0800, vec![&v4(ICMP, 0), &[3, 1, 0, 0, 0, 0, 0, 0]]),
            (0x0800, vec![&v4(TCP, 9)]),
            (0x0800, vec![&v4(47, 0)]),
            (0x86DD, vec![&v6, &[TCP, 0, 0, 0, 0, 0, 0, 0], &tcp]),
            (0x86DD, vec![&v6, &[TCP, 0, 0, 9, 0, 0, 0, 0]]),
            (0x0806, vec![]),
        ] {
            let before = frame(kind, &headers);
            let whole = [&before[..], WORDS].concat();
            assert_eq!(of(&whole), before, "{kind:x} {headers:?}");
            // A frame that is cut off before its end is headers only.
            (0..before.len()).for_each(|end| assert!(of(&whole[..end]).len() <= end));
        }
    }
}
