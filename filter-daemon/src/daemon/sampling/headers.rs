//! What is behind the addresses of a frame, as far as its first bytes reach: the protocol, and the ports.

use filter_common::ports;

/// What they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The number of the protocol, as IANA gives them.
    pub protocol: u8,
    /// From which port, and to which.
    pub ports: Option<[u16; 2]>,
}

/// Extension headers in front of another one; more are not looked through.
const MOST: usize = 8;

const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

/// The protocol of a frame, and its ports, where both can be read.
pub fn read(frame: &[u8]) -> Option<Headers> {
    let header = ports::header(&frame) as usize;
    let ip = frame.get(header / 2..).filter(|_| header != 0)?;
    let (protocol, behind) = if header & 1 == 0 { four(ip)? } else { six(ip)? };
    let has_ports = [TCP, UDP, DCCP, SCTP, UDP_LITE].contains(&protocol);
    let ports = behind.filter(|_| has_ports).and_then(|behind| behind.first_chunk::<4>());
    let ports = ports.map(|[a, b, c, d]| [u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])]);
    Some(Headers { protocol, ports })
}

/// What people call it.
pub fn name(protocol: u8) -> String {
    let name = match protocol {
        1 => "icmp",
        2 => "igmp",
        TCP => "tcp",
        UDP => "udp",
        DCCP => "dccp",
        47 => "gre",
        50 => "esp",
        51 => "ah",
        58 => "icmpv6",
        SCTP => "sctp",
        UDP_LITE => "udplite",
        number => return number.to_string(),
    };
    name.to_owned()
}

/// The protocol, and what is behind the header; nothing in a later fragment.
fn four(ip: &[u8]) -> Option<(u8, Option<&[u8]>)> {
    let (first, offset) = (ip.first()?, u16::from_be_bytes([*ip.get(6)?, *ip.get(7)?]) & 0x1FFF);
    let behind = ip.get(usize::from(first & 0xF) * 4..).filter(|_| offset == 0);
    Some((*ip.get(9)?, behind))
}

fn six(ip: &[u8]) -> Option<(u8, Option<&[u8]>)> {
    let (mut protocol, mut behind) = (*ip.get(6)?, ip.get(40..));
    for _ in 0..MOST {
        let Some([next, length, more @ ..]) = behind else { break };
        let length = usize::from(*length);
        let length = match protocol {
            0 | 43 | 60 => 8 * (length + 1),
            51 => 4 * (length + 2),
            44 => {
                let offset = more.first_chunk().map_or(0, |offset| u16::from_be_bytes(*offset) >> 3);
                if offset != 0 {
                    return Some((*next, None));
                }
                8
            }
            _ => break,
        };
        (protocol, behind) = (*next, behind.and_then(|behind| behind.get(length..)));
    }
    Some((protocol, behind))
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
            assert_eq!(read(&frame), Some(Headers { protocol, ports }), "{frame:?}");
        }
        assert_eq!(read(&frame(0x0806, &[&[0; 28]])), None);
        assert_eq!((0..60).find_map(|end| read(&frame(0x0800, &[&[0; 60]])[..end.min(14)])), None);
    }
}
