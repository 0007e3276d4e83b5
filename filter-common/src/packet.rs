//! Who sent this frame? Ethernet, VLAN tags, IPv4 or IPv6, and nothing beyond the source address.

use crate::hash::Address6;
use crate::ports::{self, Port};

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
    /// To which port is it sent? Asked of what comes from a listed source only, and so read thoroughly.
    fn port(&self) -> Port;
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
const BEHIND_ALL_TAGS: usize = ADDRESSES + TAG * MOST_TAGS as usize;

/// Who sent `frame`? A quick look tells it of nearly all. What that cannot read, or finds too many tags on, is looked at
/// thoroughly.
#[inline(always)]
pub fn source(frame: &(impl Frame + ?Sized)) -> Source {
    match sender(frame, Look::Quick) {
        Source::Malformed | Source::TooManyTags => sender(&frame.thoroughly(), Look::Thorough),
        source @ (Source::V4(_) | Source::V6(_) | Source::NotIp) => source,
    }
}

const ICMPV6_UNROUTED: u16 = 58 << 8 | 255;
/// From the beginning of an IPv6 header to its next header and hop limit.
const NEXT_HEADER: usize = 6;

/// What an IPv6 packet says when it is looked at once more, thoroughly: for those whose source is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again6 {
    /// Who sent it.
    pub source: Address6,
    /// Is it neighbour discovery, by which hosts on one link find each other? Only what was never routed can be: its hop
    /// limit is still 255 (RFC 4861).
    pub is_neighbour_discovery: bool,
}

/// Looks once more at `frame`, an IPv6 packet. So a program need not keep what it has read while it looks for it.
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

/// Nearly all that is asked about: IPv6 behind no tag, and no ICMPv6 that was never routed.
#[inline(always)]
fn is_plainly_something_else(frame: &(impl Frame + ?Sized)) -> bool {
    match frame.u16(ADDRESSES + TYPE + NEXT_HEADER) {
        Some(ICMPV6_UNROUTED) | None => false,
        Some(_) => frame.u16(ADDRESSES) == Some(IPV6),
    }
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
    let mut ids = 0;
    loop {
        let Some(kind) = frame.u16(at) else { return Content::Other(Source::Malformed) };
        match kind {
            IPV4 => return Content::V4(at + TYPE),
            IPV6 => return Content::V6(at + TYPE),
            VLAN | PROVIDER_VLAN | OLD_PROVIDER_VLAN => {
                let Some(more) = ids_of(frame, at, look) else { return Content::Other(Source::Malformed) };
                (ids, at) = (ids + more, at + TAG);
                if ids > MOST_IDS || at > BEHIND_ALL_TAGS {
                    return Content::Other(Source::TooManyTags);
                }
            }
            _ => return Content::Other(Source::NotIp),
        }
    }
}

/// How many ids the tag at `at` has: one or none. None at all if the frame does not reach that far. This is calculated, not
/// asked: a verifier goes one way instead of two for each tag.
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

    /// An IPv4 packet behind these tags.
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

    /// Every arrangement of tags with and without an id, to two more than are looked behind.
    #[test]
    fn up_to_eight_tags_are_looked_behind_and_up_to_four_ids() {
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
    fn a_frame_that_ends_within_its_tags_is_malformed() {
        let whole = tagged([0; 8].into_iter());
        for end in ADDRESSES..whole.len() {
            assert_eq!(source(&whole[..end]), Source::Malformed, "cut at {end}");
        }
    }

    /// A frame of which so many bytes can be read at once; the others take a second look.
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
    fn what_cannot_be_read_at_once_takes_a_second_look() {
        for tags in 0..=8 {
            let whole = &tagged([0; 8].into_iter().take(tags))[..];
            for reach in 0..=whole.len() {
                let sender = source(&InPieces { whole, reach });
                assert_eq!(sender, Source::V4(SENDER), "{tags} tags, {reach} bytes at once");
            }
        }
    }
}
