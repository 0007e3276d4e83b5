//! Finds the transport header of a frame, past VLAN tags, IPv4 options, IPv6 extension headers, fragment
//! headers and the quotations of ICMP errors. All loops are bounded, and each header is loaded in one read.

use super::mapped;
use crate::hash::Address6;

/// A frame from which words can be read at any position.
pub trait Bytes {
    /// The words at `at` in network byte order, or none if the frame ends before.
    fn words<const N: usize>(&self, at: usize) -> Option<[u32; N]>;

    /// The word at `at`, which begins with a type: that of an Ethernet header, or of a tag.
    #[inline(always)]
    fn kind(&self, at: usize) -> Option<[u32; 1]> {
        self.words(at)
    }
}

/// The protocols that flows can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Upper {
    /// ICMP for IPv4 (protocol 1).
    Icmp = 1,
    /// TCP, which is protocol 6.
    Tcp = 6,
    /// UDP, which is protocol 17.
    Udp = 17,
    /// ICMP for IPv6 (protocol 58).
    Icmp6 = 58,
}

/// The address of a packet that is the other end's.
#[derive(Clone, Copy)]
pub enum End {
    Source,
    Destination,
}

/// The other end of a packet, and the protocol that it carries.
pub struct Carried {
    pub peer: Address6,
    pub upper: Upper,
    /// The offset of the transport header. None in a later fragment.
    pub at: Option<usize>,
}

const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86DD;
const TAGS: [u32; 3] = [0x8100, 0x88A8, 0x9100];
const FIRST_TYPE: usize = 12;
const TAG: usize = 4;
const TYPE: usize = 2;

/// The same number of tags as the search for a source skips.
const MOST_TAGS: u32 = crate::packet::MOST_TAGS;

/// More extension headers than any host sends, but fewer than fit in a packet.
pub const MOST_HEADERS: u32 = 8;

/// The protocol numbers of extension headers.
pub const HOP_BY_HOP: u32 = 0;
pub const ROUTING: u32 = 43;
pub const FRAGMENT: u32 = 44;
pub const AUTHENTICATION: u32 = 51;
pub const DESTINATION: u32 = 60;

/// The bits of a fragment header that hold its offset from the first fragment.
pub const FRAGMENT_OFFSET: u32 = 0xFFF8;

/// Finds the other end and the transport header of a frame.
#[inline(always)]
pub fn carried(frame: &impl Bytes, peer: End) -> Option<Carried> {
    let mut at = FIRST_TYPE;
    let mut tags = 0;
    while tags <= MOST_TAGS {
        let [word] = frame.kind(at)?;
        let kind = u32::from_be(word) >> 16;
        if kind == IPV4 {
            return ipv4(frame, at + TYPE, peer);
        }
        if kind == IPV6 {
            return ipv6(frame, at + TYPE, peer);
        }
        if kind != TAGS[0] && kind != TAGS[1] && kind != TAGS[2] {
            return None;
        }
        at += TAG;
        tags += 1;
    }
    None
}

/// The length of all headers of a frame, to where the data of TCP or UDP begins.
#[inline(always)]
pub fn length(frame: &impl Bytes) -> Option<u32> {
    const UDP_HEADER: u32 = 8;
    let Carried { upper, at, .. } = carried(frame, End::Source)?;
    let at = at?;
    match upper {
        Upper::Tcp => {
            let [word] = frame.words(at + 12)?;
            Some(at as u32 + (u32::from_be(word) >> 28) * 4)
        }
        Upper::Udp => Some(at as u32 + UDP_HEADER),
        Upper::Icmp | Upper::Icmp6 => None,
    }
}

/// The packet that an ICMP error of this protocol quotes. Its destination is the other end.
#[inline(always)]
pub fn quoted(frame: &impl Bytes, at: usize, error: Upper) -> Option<Carried> {
    const HEADER: usize = 8;
    let [word] = frame.words(at)?;
    let kind = u32::from_be(word) >> 24;
    match error {
        // Unreachable, time exceeded, parameter problem.
        Upper::Icmp if kind == 3 || kind == 11 || kind == 12 => ipv4(frame, at + HEADER, End::Destination),
        // These three, and packet too big.
        Upper::Icmp6 if (1..=4).contains(&kind) => ipv6(frame, at + HEADER, End::Destination),
        Upper::Icmp | Upper::Icmp6 | Upper::Tcp | Upper::Udp => None,
    }
}

#[inline(always)]
fn ipv4(frame: &impl Bytes, at: usize, peer: End) -> Option<Carried> {
    const SHORTEST: u32 = 5;
    const OFFSET: u32 = 0x1FFF;
    let [first, second, third, source, destination] = frame.words(at)?;
    let length = u32::from_be(first) >> 24 & 0xF;
    if u32::from_be(first) >> 28 != 4 || length < SHORTEST {
        return None;
    }
    let upper = Upper::of(u32::from_be(third) >> 16 & 0xFF)?;
    let address = u32::from_be(match peer {
        End::Source => source,
        End::Destination => destination,
    });
    let is_later = u32::from_be(second) & OFFSET != 0;
    let behind = at + 4 * length as usize;
    Some(Carried { peer: mapped(address), upper, at: if is_later { None } else { Some(behind) } })
}

#[inline(always)]
fn ipv6(frame: &impl Bytes, at: usize, peer: End) -> Option<Carried> {
    const HEADER: usize = 40;
    let words: [u32; HEADER / 4] = frame.words(at)?;
    if u32::from_be(words[0]) >> 28 != 6 {
        return None;
    }
    let peer = match peer {
        End::Source => address(words[2], words[3], words[4], words[5]),
        End::Destination => address(words[6], words[7], words[8], words[9]),
    };
    let (upper, at) = behind_headers(frame, u32::from_be(words[1]) >> 8 & 0xFF, at + HEADER)?;
    Some(Carried { peer, upper: Upper::of(upper)?, at })
}

/// Skips the extension headers. Returns the upper protocol and its position.
#[inline(always)]
fn behind_headers(frame: &impl Bytes, first: u32, at: usize) -> Option<(u32, Option<usize>)> {
    let (mut next, mut at) = (first, at);
    let mut headers = 0;
    while headers < MOST_HEADERS {
        let is_one = next == HOP_BY_HOP || next == ROUTING || next == DESTINATION;
        if !is_one && next != FRAGMENT && next != AUTHENTICATION {
            return Some((next, Some(at)));
        }
        let [word] = frame.words(at)?;
        let word = u32::from_be(word);
        if next == FRAGMENT && word & FRAGMENT_OFFSET != 0 {
            return Some((word >> 24, None));
        }
        let length = word >> 16 & 0xFF;
        at += if is_one {
            8 * (length + 1)
        } else if next == FRAGMENT {
            8
        } else {
            4 * (length + 2)
        } as usize;
        next = word >> 24;
        headers += 1;
    }
    None
}

#[inline(always)]
fn address(first: u32, second: u32, third: u32, fourth: u32) -> Address6 {
    let pair = |high: u32, low: u32| u64::from(u32::from_be(high)) << 32 | u64::from(u32::from_be(low));
    Address6 { high: pair(first, second), low: pair(third, fourth) }
}

/// The source and destination ports of TCP or UDP.
#[inline(always)]
pub fn ports(frame: &impl Bytes, at: usize) -> Option<(u16, u16)> {
    let [word] = frame.words(at)?;
    let word = u32::from_be(word);
    Some(((word >> 16) as u16, word as u16))
}

/// True if this TCP header asks for a connection: a SYN without ACK.
#[inline(always)]
pub fn is_opening(frame: &impl Bytes, at: usize) -> Option<bool> {
    const SYN: u32 = 0x02;
    const ACK: u32 = 0x10;
    let [word] = frame.words(at + 12)?;
    Some(u32::from_be(word) >> 16 & (SYN | ACK) == SYN)
}

/// The identifier of an echo request.
#[inline(always)]
pub fn echo_request(frame: &impl Bytes, at: usize, upper: Upper) -> Option<u16> {
    echo(frame, at, if upper as u8 == Upper::Icmp as u8 { 8 } else { 128 })
}

/// The identifier of an echo reply.
#[inline(always)]
pub fn echo_reply(frame: &impl Bytes, at: usize, upper: Upper) -> Option<u16> {
    echo(frame, at, if upper as u8 == Upper::Icmp as u8 { 0 } else { 129 })
}

#[inline(always)]
fn echo(frame: &impl Bytes, at: usize, kind: u32) -> Option<u16> {
    let [first, second] = frame.words(at)?;
    if u32::from_be(first) >> 24 != kind {
        return None;
    }
    Some((u32::from_be(second) >> 16) as u16)
}

impl Upper {
    /// The protocol with this number.
    #[inline(always)]
    pub const fn of(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Icmp),
            6 => Some(Self::Tcp),
            17 => Some(Self::Udp),
            58 => Some(Self::Icmp6),
            _ => None,
        }
    }
}

/// A frame in plain memory.
impl Bytes for [u8] {
    fn words<const N: usize>(&self, at: usize) -> Option<[u32; N]> {
        let bytes = self.get(at..)?.get(..4 * N)?;
        let mut words = [0; N];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_ne_bytes(*bytes);
        }
        Some(words)
    }
}

impl<B: Bytes + ?Sized> Bytes for &B {
    fn words<const N: usize>(&self, at: usize) -> Option<[u32; N]> {
        (**self).words(at)
    }
}
