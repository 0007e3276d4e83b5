//! Who sent this frame? Ethernet, up to four VLAN tags, IPv4 or IPv6, and nothing beyond the source address.

use crate::hash::Address6;

/// The most VLAN tags that are looked behind.
pub const MOST_TAGS: u32 = 4;

/// A frame, readable up to its end. Numbers are in network order on the wire and in host order here.
pub trait Frame {
    /// The 16 bits at `at`, if the frame reaches that far.
    fn u16(&self, at: usize) -> Option<u16>;
    /// The IPv4 header fields that matter, at `at`: version and header length, and source. None unless the whole
    /// header without options is there.
    fn ipv4(&self, at: usize) -> Option<(u8, u32)>;
    /// The IPv6 header fields that matter, at `at`: the first byte, and source. None unless the whole header is there.
    fn ipv6(&self, at: usize) -> Option<(u8, Address6)>;
    /// The same frame, reached anew: nothing learnt about it has to be remembered meanwhile. A program whose verifier
    /// must keep track of that would be walked through once for every place at which a header can begin.
    fn anew(&self) -> impl Frame;
}

/// What a frame says of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// An IPv4 packet from this address.
    V4(u32),
    /// An IPv6 packet from this address.
    V6(Address6),
    /// Something else: ARP, LLDP, PPPoE …
    NotIp,
    /// It ends too early, or its header contradicts its type.
    Malformed,
    /// More VLAN tags than anybody uses.
    TooManyTags,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
const VLAN: u16 = 0x8100;
const PROVIDER_VLAN: u16 = 0x88A8;
/// Tags of 802.1ad before it was a standard, still sent by some switches.
const OLD_PROVIDER_VLAN: u16 = 0x9100;

/// Length of an Ethernet header without its type, and of a tag.
const ADDRESSES: usize = 12;
const TAG: usize = 4;
const TYPE: usize = 2;

/// Who sent `frame`?
#[inline(always)]
pub fn source(frame: &(impl Frame + ?Sized)) -> Source {
    match content(frame) {
        Content::V4(at) => ipv4(frame, at),
        Content::V6(at) => ipv6(frame, at),
        Content::Other(source) => source,
    }
}

/// Is `frame` neighbour discovery, by which IPv6 hosts on one link find each other? Only what was never routed can be:
/// its hop limit is still 255 (RFC 4861).
#[inline(always)]
pub fn is_neighbour_discovery(frame: &(impl Frame + ?Sized)) -> bool {
    const ICMPV6_UNROUTED: u16 = 58 << 8 | 255;
    const IPV6_HEADER: usize = 40;
    let Content::V6(at) = content(frame) else { return false };
    frame.u16(at + 6) == Some(ICMPV6_UNROUTED)
        && frame.u16(at + IPV6_HEADER).is_some_and(|kind| matches!(kind >> 8, 133..=137))
}

/// What lies behind the Ethernet header and the tags, and where.
enum Content {
    V4(usize),
    V6(usize),
    Other(Source),
}

#[inline(always)]
fn content(frame: &(impl Frame + ?Sized)) -> Content {
    let mut at = ADDRESSES;
    let mut tags = 0;
    loop {
        let Some(kind) = frame.u16(at) else { return Content::Other(Source::Malformed) };
        match kind {
            IPV4 => return Content::V4(at + TYPE),
            IPV6 => return Content::V6(at + TYPE),
            VLAN | PROVIDER_VLAN | OLD_PROVIDER_VLAN if tags < MOST_TAGS => (tags, at) = (tags + 1, at + TAG),
            VLAN | PROVIDER_VLAN | OLD_PROVIDER_VLAN => return Content::Other(Source::TooManyTags),
            _ => return Content::Other(Source::NotIp),
        }
    }
}

#[inline(always)]
fn ipv4(frame: &(impl Frame + ?Sized), at: usize) -> Source {
    match frame.ipv4(at) {
        Some((first, address)) if first >> 4 == 4 => Source::V4(address),
        _ => Source::Malformed,
    }
}

#[inline(always)]
fn ipv6(frame: &(impl Frame + ?Sized), at: usize) -> Source {
    match frame.ipv6(at) {
        Some((first, address)) if first >> 4 == 6 => Source::V6(address),
        _ => Source::Malformed,
    }
}

impl<F: Frame + ?Sized> Frame for &F {
    fn u16(&self, at: usize) -> Option<u16> {
        (**self).u16(at)
    }

    fn ipv4(&self, at: usize) -> Option<(u8, u32)> {
        (**self).ipv4(at)
    }

    fn ipv6(&self, at: usize) -> Option<(u8, Address6)> {
        (**self).ipv6(at)
    }

    fn anew(&self) -> impl Frame {
        *self
    }
}

/// A frame in plain memory.
impl Frame for [u8] {
    fn u16(&self, at: usize) -> Option<u16> {
        Some(u16::from_be_bytes(*self.get(at..)?.first_chunk()?))
    }

    fn ipv4(&self, at: usize) -> Option<(u8, u32)> {
        let header: &[u8; 20] = self.get(at..)?.first_chunk()?;
        Some((header[0], u32::from_be_bytes(*header[12..].first_chunk()?)))
    }

    fn ipv6(&self, at: usize) -> Option<(u8, Address6)> {
        let header: &[u8; 40] = self.get(at..)?.first_chunk()?;
        Some((header[0], u128::from_be_bytes(*header[8..].first_chunk()?).into()))
    }

    fn anew(&self) -> impl Frame {
        self
    }
}
