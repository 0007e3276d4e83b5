//! Who sent this frame? Ethernet, VLAN tags, IPv4 or IPv6, and nothing beyond the source address.

use crate::hash::Address6;

/// The most VLAN tags that are looked behind.
pub const MOST_TAGS: u32 = 8;

/// How many of them may have an id. Tags without one (id 0) carry a priority only: the kernel takes off any number of
/// them, wherever they stand, while every id takes a VLAN device of its own.
pub const MOST_IDS: u32 = 4;

/// A frame, readable up to its end. Numbers are in network order on the wire and in host order here.
pub trait Frame {
    /// The 16 bits at `at`, if the frame reaches that far.
    fn u16(&self, at: usize) -> Option<u16>;
    /// The IPv4 header fields that matter, at `at`: version and header length, and source. None unless the whole
    /// header without options is there.
    fn ipv4(&self, at: usize) -> Option<(u8, u32)>;
    /// The IPv6 header fields that matter, at `at`: the first byte, and source. None unless the whole header is there.
    fn ipv6(&self, at: usize) -> Option<(u8, Address6)>;
    /// The same frame, looked at thoroughly: wherever its bytes lie, and with nothing learnt before that would have to be
    /// remembered. A program whose verifier must keep track of that would be walked through once for every place at
    /// which a header can begin.
    fn thoroughly(&self) -> impl Frame;
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
    /// More VLAN tags than are looked behind.
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

/// Who sent `frame`? A quick look tells it of nearly all. What that cannot read, or finds too many tags on, is looked at
/// thoroughly.
#[inline(always)]
pub fn source(frame: &(impl Frame + ?Sized)) -> Source {
    match sender(frame, Look::Quick) {
        Source::Malformed | Source::TooManyTags => sender(&frame.thoroughly(), Look::Thorough),
        source @ (Source::V4(_) | Source::V6(_) | Source::NotIp) => source,
    }
}

/// Is `frame` neighbour discovery, by which IPv6 hosts on one link find each other? Only what was never routed can be:
/// its hop limit is still 255 (RFC 4861).
#[inline(always)]
pub fn is_neighbour_discovery(frame: &(impl Frame + ?Sized)) -> bool {
    const ICMPV6_UNROUTED: u16 = 58 << 8 | 255;
    const IPV6_HEADER: usize = 40;
    let frame = &frame.thoroughly();
    let Content::V6(at) = content(frame, Look::Thorough) else { return false };
    frame.u16(at + 6) == Some(ICMPV6_UNROUTED)
        && frame.u16(at + IPV6_HEADER).is_some_and(|kind| matches!(kind >> 8, 133..=137))
}

/// What lies behind the Ethernet header and the tags, and where.
enum Content {
    V4(usize),
    V6(usize),
    Other(Source),
}

/// How closely tags are looked at.
#[derive(Clone, Copy)]
enum Look {
    /// Each counts as one with an id.
    Quick,
    /// Their ids are read.
    Thorough,
}

#[inline(always)]
fn sender(frame: &(impl Frame + ?Sized), look: Look) -> Source {
    match content(frame, look) {
        Content::V4(at) => ipv4(frame, at),
        Content::V6(at) => ipv6(frame, at),
        Content::Other(source) => source,
    }
}

#[inline(always)]
fn content(frame: &(impl Frame + ?Sized), look: Look) -> Content {
    let mut at = ADDRESSES;
    let (mut tags, mut ids) = (0, 0);
    loop {
        let Some(kind) = frame.u16(at) else { return Content::Other(Source::Malformed) };
        match kind {
            IPV4 => return Content::V4(at + TYPE),
            IPV6 => return Content::V6(at + TYPE),
            VLAN | PROVIDER_VLAN | OLD_PROVIDER_VLAN => {
                let Some(has_id) = has_id(frame, at, look) else { return Content::Other(Source::Malformed) };
                (tags, ids) = (tags + 1, ids + u32::from(has_id));
                if tags > MOST_TAGS || ids > MOST_IDS {
                    return Content::Other(Source::TooManyTags);
                }
                at += TAG;
            }
            _ => return Content::Other(Source::NotIp),
        }
    }
}

/// Has the tag at `at` an id? None if the frame does not reach that far.
#[inline(always)]
fn has_id(frame: &(impl Frame + ?Sized), at: usize, look: Look) -> Option<bool> {
    const ID: u16 = 0x0FFF;
    match look {
        Look::Quick => Some(true),
        Look::Thorough => frame.u16(at + TYPE).map(|tag| tag & ID != 0),
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

    fn thoroughly(&self) -> impl Frame {
        (**self).thoroughly()
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

    fn thoroughly(&self) -> impl Frame {
        self
    }
}
