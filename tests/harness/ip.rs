//! An IP packet byte by byte, its headers as the RFCs draw them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{HOST, HOST6};

/// What one packet consists of.
#[derive(Clone, Debug)]
pub struct Ip {
    /// Who sends it.
    pub source: IpAddr,
    /// Whom it is for.
    pub destination: IpAddr,
    /// The number of what it carries, and the bytes of that.
    pub transport: (u8, Vec<u8>),
    /// How many routers may still pass it on.
    pub hop_limit: u8,
    /// IPv4 only: the fragment field, flags and offset in eights.
    pub fragment: u16,
    /// IPv4 only: options, in whole words.
    pub options: Vec<u8>,
    /// IPv6 only: extension headers, each with its number; the first byte of each is written here.
    pub extensions: Vec<(u8, Vec<u8>)>,
}

impl Ip {
    /// A plain packet to the host.
    pub fn new(source: IpAddr, transport: (u8, Vec<u8>)) -> Self {
        let host = if source.is_ipv4() { HOST } else { HOST6 };
        let destination = host.parse().expect("the host has an address");
        Self {
            source,
            destination,
            transport,
            hop_limit: 64,
            fragment: 0,
            options: Vec::new(),
            extensions: Vec::new(),
        }
    }

    /// The packet as it travels.
    pub fn bytes(&self) -> Vec<u8> {
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => self.v4(source, destination),
            (IpAddr::V6(source), IpAddr::V6(destination)) => self.v6(source, destination),
            (source, destination) => panic!("{source} and {destination} do not speak the same protocol"),
        }
    }

    fn v4(&self, source: Ipv4Addr, destination: Ipv4Addr) -> Vec<u8> {
        let (protocol, content) = &self.transport;
        let header = 20 + self.options.len();
        let words = u8::try_from(header / 4).expect("at most fifteen words");
        let total = u16::try_from(header + content.len()).expect("a packet has at most 65,535 bytes");
        let mut packet = vec![0x40 | words, 0];
        packet.extend(total.to_be_bytes());
        packet.extend([0, 1]);
        packet.extend(self.fragment.to_be_bytes());
        packet.extend([self.hop_limit, *protocol, 0, 0]);
        packet.extend(source.octets());
        packet.extend(destination.octets());
        packet.extend(&self.options);
        let checksum = checksum(&packet);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet.extend(content);
        packet
    }

    fn v6(&self, source: Ipv6Addr, destination: Ipv6Addr) -> Vec<u8> {
        let (protocol, content) = &self.transport;
        let mut after = *protocol;
        let mut upper = content.clone();
        for (number, header) in self.extensions.iter().rev() {
            upper.splice(0..0, header.iter().copied());
            upper[0] = after;
            after = *number;
        }
        let length = u16::try_from(upper.len()).expect("a packet has at most 65,535 bytes");
        let mut packet = vec![0x60, 0, 0, 0];
        packet.extend(length.to_be_bytes());
        packet.extend([after, self.hop_limit]);
        packet.extend(source.octets());
        packet.extend(destination.octets());
        packet.extend(upper);
        packet
    }
}

/// RFC 1071: the ones' complement of the ones' complement sum.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !u16::try_from((folded & 0xffff) + (folded >> 16)).expect("a sum folded twice fits")
}
