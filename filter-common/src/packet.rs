//! Finds the sender of a frame: Ethernet, VLAN tags, IPv4 or IPv6, and nothing after the source address.

use crate::hash::Address6;
use crate::ports::{self, Port};

/// The most VLAN tags that a frame may have.
pub const MOST_TAGS: u32 = 8;

/// The most tags with an ID. Tags without one (ID 0) carry only a priority, and the kernel removes any number
/// of them at any position. Each ID needs its own VLAN device.
pub const MOST_IDS: u32 = 4;

/// A frame that can be read up to its end. Numbers are returned in host byte order.
pub trait Frame {
    /// The 16 bits at `at`, or none if the frame ends before.
    fn u16(&self, at: usize) -> Option<u16>;
    /// The IPv4 header at `at`: the byte with version and header length, and the address to judge by. That is
    /// the source, or the destination of a sent frame. None unless the whole header without options is in
    /// the frame.
    fn ipv4(&self, at: usize) -> Option<(u8, u32)>;
    /// The IPv6 header at `at`: the first byte, and that address. None unless the whole header is in the frame.
    fn ipv6(&self, at: usize) -> Option<(u8, Address6)>;
    /// The port that the frame is sent to. Called only for frames from listed sources, and so reads
    /// thoroughly.
    fn port(&self) -> Port;
    /// The VLAN tags that are not in the frame any more, because the kernel has removed them, and how many of
    /// them have an ID.
    #[inline(always)]
    fn removed_tags(&self) -> (u32, u32) {
        (0, 0)
    }
    /// The same frame for thorough reading: at any position, and without using what was learned before. If a
    /// program kept such knowledge, its verifier would check it once for every place at which a header can
    /// begin.
    fn thoroughly(&self) -> impl Frame;
}

/// The sender of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// An IPv4 packet from this address.
    V4(u32),
    /// An IPv6 packet from this address.
    V6(Address6),
    /// Another protocol, such as ARP, LLDP or PPPoE.
    NotIp,
    /// The frame ends too early, or its header contradicts its type.
    Malformed,
    /// The frame has too many VLAN tags.
    TooManyTags,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
const VLAN: u16 = 0x8100;
const PROVIDER_VLAN: u16 = 0x88A8;
/// The type of 802.1ad tags before the standard, still sent by some switches.
const OLD_PROVIDER_VLAN: u16 = 0x9100;

/// The length of an Ethernet header without its type, and of a tag.
const ADDRESSES: usize = 12;
const TAG: usize = 4;
const TYPE: usize = 2;
const BEHIND_ALL_TAGS: usize = ADDRESSES + TAG * MOST_TAGS as usize;

/// Finds the sender of `frame`. A quick look is enough for nearly all frames. A frame that it cannot read, or
/// that seems to have too many tags, is read thoroughly.
#[inline(always)]
pub fn source(frame: &(impl Frame + ?Sized)) -> Source {
    match sender(frame, Look::Quick) {
        Source::Malformed | Source::TooManyTags => sender(&frame.thoroughly(), Look::Thorough),
        source @ (Source::V4(_) | Source::V6(_) | Source::NotIp) => source,
    }
}

const ICMPV6_UNROUTED: u16 = 58 << 8 | 255;
/// The offset of the next header and hop limit in an IPv6 header.
const NEXT_HEADER: usize = 6;

/// The result of reading an IPv6 packet a second time, after its source was found listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again6 {
    /// The address of the sender.
    pub source: Address6,
    /// Whether it is neighbour discovery, by which hosts on one link find each other. Only a packet that was
    /// never routed can be: its hop limit is still 255 (RFC 4861).
    pub is_neighbour_discovery: bool,
}

/// Reads `frame`, an IPv6 packet, a second time. A program therefore need not keep what it read while it does
/// the lookup.
#[inline(always)]
pub fn again6(frame: &(impl Frame + ?Sized)) -> Option<Again6> {
    const IPV6_HEADER: usize = 40;
    let frame = &frame.thoroughly();
    let (at, is_neighbour_discovery) = if is_plainly_something_else(frame) {
        (ADDRESSES + TYPE, false)
    } else {
        let Content::V6(at) = content(frame, Look::Thorough) else { return None };
        let is_unrouted = frame.u16(at + NEXT_HEADER) == Some(ICMPV6_UNROUTED);
        let kind = frame.u16(at + IPV6_HEADER);
        (at, is_unrouted && kind.is_some_and(|kind| matches!(kind >> 8, 133..=137)))
    };
    let (_, source) = frame.ipv6(at)?;
    Some(Again6 { source, is_neighbour_discovery })
}

/// True for nearly all frames: IPv6 without a tag, and not ICMPv6 that was never routed.
#[inline(always)]
fn is_plainly_something_else(frame: &(impl Frame + ?Sized)) -> bool {
    match frame.u16(ADDRESSES + TYPE + NEXT_HEADER) {
        Some(ICMPV6_UNROUTED) | None => false,
        Some(_) => frame.u16(ADDRESSES) == Some(IPV6),
    }
}

/// The content after the Ethernet header and the tags, and its position.
enum Content {
    V4(usize),
    V6(usize),
    Other(Source),
}

/// How closely tags are read.
#[derive(Clone, Copy)]
enum Look {
    /// Every tag counts as one with an ID.
    Quick,
    /// The IDs of tags are read.
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
    let mut ids = 0;
    loop {
        let Some(kind) = frame.u16(at) else { return Content::Other(Source::Malformed) };
        match kind {
            IPV4 => return Content::V4(at + TYPE),
            IPV6 => return Content::V6(at + TYPE),
            VLAN | PROVIDER_VLAN | OLD_PROVIDER_VLAN => {
                let Some(more) = ids_of(frame, at, look) else { return Content::Other(Source::Malformed) };
                (ids, at) = (ids + more, at + TAG);
                let (removed, removed_ids) = frame.removed_tags();
                if ids + removed_ids > MOST_IDS || at + TAG * removed as usize > BEHIND_ALL_TAGS {
                    return Content::Other(Source::TooManyTags);
                }
            }
            _ => return Content::Other(Source::NotIp),
        }
    }
}

/// The number of IDs of the tag at `at`: one or zero. None if the frame ends before. It is computed without a
/// branch, so a verifier follows one path instead of two for each tag.
#[inline(always)]
fn ids_of(frame: &(impl Frame + ?Sized), at: usize, look: Look) -> Option<u32> {
    const ID: u32 = 0x0FFF;
    match look {
        Look::Quick => Some(1),
        Look::Thorough => frame.u16(at + TYPE).map(|tag| (u32::from(tag) & ID).wrapping_add(ID) >> 12),
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

    fn port(&self) -> Port {
        (**self).port()
    }

    fn removed_tags(&self) -> (u32, u32) {
        (**self).removed_tags()
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

    fn port(&self) -> Port {
        ports::port(&self)
    }

    fn thoroughly(&self) -> impl Frame {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const SENDER: u32 = 0xCB00_7107;

    /// An IPv4 packet after these tags.
    fn tagged(tags: impl Iterator<Item = u16>) -> Vec<u8> {
        let mut frame = Vec::from([0; ADDRESSES]);
        for tag in tags {
            frame.extend([VLAN.to_be_bytes(), tag.to_be_bytes()].concat());
        }
        frame.extend(IPV4.to_be_bytes());
        frame.extend([0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0]);
        frame.extend([SENDER.to_be_bytes(), [0; 4]].concat());
        frame
    }

    /// Tests every arrangement of tags with and without an ID, up to two tags more than allowed.
    #[test]
    fn eight_tags_and_four_ids_are_accepted() {
        for count in 0..=MOST_TAGS + 2 {
            for arrangement in 0_u32..1 << count {
                let tag = |place| if arrangement >> place & 1 == 1 { 0x0064 } else { 0xF000 };
                let source = source(&tagged((0..count).map(tag))[..]);
                let few = count <= MOST_TAGS && arrangement.count_ones() <= MOST_IDS;
                let expected = if few { Source::V4(SENDER) } else { Source::TooManyTags };
                assert_eq!(source, expected, "{count} tags, with ids: {arrangement:b}");
            }
        }
    }

    #[test]
    fn frame_ending_within_tags_is_malformed() {
        let whole = tagged([0; 8].into_iter());
        for end in ADDRESSES..whole.len() {
            assert_eq!(source(&whole[..end]), Source::Malformed, "cut at {end}");
        }
    }

    /// A frame whose first `reach` bytes can be read at once. The others need a thorough look.
    struct InPieces<'a> {
        whole: &'a [u8],
        reach: usize,
    }

    impl InPieces<'_> {
        fn first(&self) -> &[u8] {
            &self.whole[..self.reach]
        }
    }

    impl Frame for InPieces<'_> {
        fn u16(&self, at: usize) -> Option<u16> {
            self.first().u16(at)
        }

        fn ipv4(&self, at: usize) -> Option<(u8, u32)> {
            self.first().ipv4(at)
        }

        fn ipv6(&self, at: usize) -> Option<(u8, Address6)> {
            self.first().ipv6(at)
        }

        fn port(&self) -> Port {
            self.whole.port()
        }

        fn thoroughly(&self) -> impl Frame {
            self.whole
        }
    }

    #[test]
    fn unreadable_frames_are_read_thoroughly() {
        for tags in 0..=8 {
            let whole = &tagged([0; 8].into_iter().take(tags))[..];
            for reach in 0..=whole.len() {
                let sender = source(&InPieces { whole, reach });
                assert_eq!(sender, Source::V4(SENDER), "{tags} tags, {reach} bytes at once");
            }
        }
    }
}
