//! Ethernet frames made to measure: any source, any tags, any ending.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::ip::Ip;

const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86dd;

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const FRAGMENT: u8 = 44;
const ICMP6: u8 = 58;

/// One frame to send. The usual one is a small UDP datagram: `Frame::from("203.0.113.7")`.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Kind and number of each VLAN tag, the outermost first.
    tags: Vec<(u16, u16)>,
    ethertype: u16,
    network: Network,
    /// Bytes of the network header that are not what they should be.
    altered: Vec<(usize, u8)>,
    length: Option<usize>,
}

/// What stands behind Ethernet and the tags.
#[derive(Clone, Debug)]
enum Network {
    Ip(Ip),
    Other(Vec<u8>),
}

/// What is in the frame.
impl Frame {
    /// The TCP flag that opens a connection.
    pub const SYN: u8 = 0x02;
    /// The TCP flag of every later segment.
    pub const ACK: u8 = 0x10;

    /// Something that is not IP.
    pub fn other(ethertype: u16, content: &[u8]) -> Self {
        Self::new(ethertype, Network::Other(content.to_vec()))
    }

    /// "Who has the host's address? Tell `sender`."
    pub fn arp(sender: &str) -> Self {
        let sender: Ipv4Addr = sender.parse().expect("ARP speaks of IPv4 addresses");
        let mut request = vec![0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 2];
        request.extend(sender.octets());
        request.extend([0; 6]);
        request.extend([192, 0, 2, 1]);
        Self::other(ARP, &request)
    }

    /// IPv6's way of asking the same.
    pub fn neighbour_solicitation(sender: &str) -> Self {
        let mut question = vec![135, 0, 0, 0, 0, 0, 0, 0];
        question.extend(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).octets());
        Self::from(sender).transport(ICMP6, question).hop_limit(255)
    }

    /// As many routers may still pass it on: fewer than 255 tell that one has.
    pub fn hop_limit(self, hop_limit: u8) -> Self {
        self.with_ip(|ip| ip.hop_limit = hop_limit)
    }

    /// To somebody else than the host.
    pub fn to(self, destination: &str) -> Self {
        self.with_ip(|ip| ip.destination = destination.parse().expect("an address"))
    }

    /// TCP with these flags.
    pub fn tcp(self, flags: u8) -> Self {
        let mut segment = vec![0; 20];
        segment[..4].copy_from_slice(&[0xd4, 0x31, 0x01, 0xbb]);
        segment[12] = 5 << 4;
        segment[13] = flags;
        self.transport(TCP, segment)
    }

    /// A ping.
    pub fn echo_request(self) -> Self {
        let (protocol, kind) = if self.ethertype == IPV4 { (ICMP, 8) } else { (ICMP6, 128) };
        self.transport(protocol, vec![kind, 0, 0, 0, 0, 1, 0, 1])
    }

    /// A UDP datagram with so many bytes in it.
    pub fn payload(self, bytes: usize) -> Self {
        self.transport(UDP, datagram(bytes))
    }

    /// Any transport protocol with this content.
    pub fn transport(self, protocol: u8, content: Vec<u8>) -> Self {
        self.with_ip(|ip| ip.transport = (protocol, content))
    }

    fn new(ethertype: u16, network: Network) -> Self {
        Self { tags: Vec::new(), ethertype, network, altered: Vec::new(), length: None }
    }
}

/// How it is wrapped.
impl Frame {
    /// One more 802.1Q tag, inside those already there.
    pub fn vlan(self, id: u16) -> Self {
        self.tag(0x8100, id)
    }

    /// One more 802.1ad (service) tag, inside those already there.
    pub fn service_vlan(self, id: u16) -> Self {
        self.tag(0x88a8, id)
    }

    /// One more tag of any kind, inside those already there.
    pub fn tag(mut self, kind: u16, id: u16) -> Self {
        self.tags.push((kind, id));
        self
    }

    /// IPv4 options: so many words of "no operation".
    pub fn options(self, words: usize) -> Self {
        self.with_ip(|ip| ip.options = vec![1; words * 4])
    }

    /// One more IPv6 extension header of eight bytes, such as 0 (hop by hop) or 60 (destination).
    pub fn extension(self, header: u8) -> Self {
        self.with_ip(|ip| ip.extensions.push((header, vec![0, 0, 1, 4, 0, 0, 0, 0])))
    }

    /// A piece of a larger packet, so many eights of bytes behind its start; more pieces follow.
    pub fn fragment(self, offset: u16) -> Self {
        let [high, low] = (offset << 3 | 1).to_be_bytes();
        self.with_ip(|ip| match ip.source {
            IpAddr::V4(_) => ip.fragment = 0x2000 | offset,
            IpAddr::V6(_) => ip.extensions.push((FRAGMENT, vec![0, 0, high, low, 0, 0, 0, 7])),
        })
    }

    fn with_ip(mut self, alter: impl FnOnce(&mut Ip)) -> Self {
        match &mut self.network {
            Network::Ip(ip) => alter(ip),
            Network::Other(_) => panic!("only IP has this: {self}"),
        }
        self
    }
}

/// What is wrong with it.
impl Frame {
    /// Only the first `bytes` of it.
    pub fn cut_at(mut self, bytes: usize) -> Self {
        self.length = Some(bytes);
        self
    }

    /// One byte of the network header is another one.
    pub fn network_byte(mut self, at: usize, value: u8) -> Self {
        self.altered.push((at, value));
        self
    }

    /// It claims to carry something else than it does.
    pub fn claiming(mut self, ethertype: u16) -> Self {
        self.ethertype = ethertype;
        self
    }
}

impl Frame {
    /// The frame as it travels; `identity` is the sender's hardware address.
    pub fn bytes(&self, identity: [u8; 6]) -> Vec<u8> {
        let mut bytes = vec![2, 0, 0, 0, 0, 1];
        bytes.extend(identity);
        for (kind, id) in &self.tags {
            bytes.extend(kind.to_be_bytes());
            bytes.extend(id.to_be_bytes());
        }
        bytes.extend(self.ethertype.to_be_bytes());
        let network = bytes.len();
        match &self.network {
            Network::Ip(ip) => bytes.extend(ip.bytes()),
            Network::Other(content) => bytes.extend(content),
        }
        for (at, value) in &self.altered {
            bytes[network + at] = *value;
        }
        bytes.truncate(self.length.unwrap_or(bytes.len()));
        bytes
    }
}

impl From<IpAddr> for Frame {
    fn from(source: IpAddr) -> Self {
        let ethertype = if source.is_ipv4() { IPV4 } else { IPV6 };
        Self::new(ethertype, Network::Ip(Ip::new(source, (UDP, datagram(8)))))
    }
}

impl From<&str> for Frame {
    fn from(source: &str) -> Self {
        let source: IpAddr = source.parse().unwrap_or_else(|_| panic!("{source:?} is no address"));
        Self::from(source)
    }
}

impl From<&&str> for Frame {
    fn from(source: &&str) -> Self {
        Self::from(*source)
    }
}

fn datagram(bytes: usize) -> Vec<u8> {
    let length = u16::try_from(8 + bytes).expect("a datagram has at most 65,535 bytes");
    let [high, low] = length.to_be_bytes();
    let mut datagram = vec![0xd4, 0x31, 0x00, 0x35, high, low, 0, 0];
    datagram.resize(8 + bytes, b'.');
    datagram
}

impl fmt::Display for Frame {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.network {
            Network::Ip(ip) => write!(out, "a packet from {}", ip.source)?,
            Network::Other(_) => write!(out, "a frame of type {:#06x}", self.ethertype)?,
        }
        if !self.tags.is_empty() {
            write!(out, " behind {} VLAN tags", self.tags.len())?;
        }
        match self.length {
            Some(length) => write!(out, " cut at {length} bytes"),
            None => Ok(()),
        }
    }
}
