//! Finds the port that a packet is sent to. It reads past everything that could hide the port from a quick
//! look: tags, options, and extension headers.

use super::Port;
use crate::flow::Bytes;
use crate::flow::headers::{
    self, AUTHENTICATION, DESTINATION, FRAGMENT, FRAGMENT_OFFSET, HOP_BY_HOP, MOST_HEADERS, ROUTING, Upper,
};
use crate::packet::MOST_TAGS;

/// The port that this frame, an IP packet, is sent to.
#[inline(always)]
pub fn port(frame: &impl Bytes) -> Port {
    port_behind(frame, header(frame))
}

/// The position and the family of a frame's IP header: twice its offset, plus one for IPv6. 0 if there is
/// none.
#[inline(always)]
pub fn header(frame: &impl Bytes) -> u32 {
    const IPV4: u32 = 0x0800;
    const IPV6: u32 = 0x86DD;
    let mut at = 12;
    let mut tags = 0;
    while tags <= MOST_TAGS {
        let Some([word]) = frame.kind(at) else { return 0 };
        let kind = u32::from_be(word) >> 16;
        if kind == IPV4 || kind == IPV6 {
            return 2 * (at as u32 + 2) + (kind == IPV6) as u32;
        }
        if kind != 0x8100 && kind != 0x88A8 && kind != 0x9100 {
            return 0;
        }
        at += 4;
        tags += 1;
    }
    0
}

/// The port, for callers that found the header before. In one function, a verifier would continue from each
/// possible place of the header.
#[inline(always)]
pub fn port_behind(frame: &impl Bytes, header: u32) -> Port {
    if header == 0 { Port::HIDDEN } else { read(frame, header).unwrap_or(Port::HIDDEN) }
}

#[inline(always)]
fn read(frame: &impl Bytes, header: u32) -> Option<Port> {
    let at = (header >> 1) as usize;
    let (protocol, at, end) = if header & 1 == 0 { ipv4(frame, at)? } else { ipv6(frame, at)? };
    if at == NOWHERE {
        return Some(Port::ELSEWHERE);
    }
    match Upper::of(protocol) {
        // Bytes after the packet's end only pad the frame.
        Some(Upper::Tcp | Upper::Udp) if at + PORTS > end => None,
        Some(Upper::Tcp | Upper::Udp) => headers::ports(frame, at).map(|(_, to)| Port::to(to)),
        Some(Upper::Icmp | Upper::Icmp6) | None => Some(Port::NONE),
    }
}

/// The number of bytes of both ports.
const PORTS: usize = 4;

/// The protocol, where its header begins (`NOWHERE` in a later fragment), and where the packet ends.
#[inline(always)]
fn ipv4(frame: &impl Bytes, at: usize) -> Option<(u32, usize, usize)> {
    const OFFSET: u32 = 0x1FFF;
    let [first, second, third] = frame.words(at)?;
    let (first, second, third) = (u32::from_be(first), u32::from_be(second), u32::from_be(third));
    let header = 4 * (first >> 24 & 0xF) as usize;
    if header < 20 {
        return None;
    }
    let behind = if second & OFFSET != 0 { NOWHERE } else { at + header };
    Some((third >> 16 & 0xFF, behind, end(at, first & 0xFFFF)))
}

/// The protocol, position and end of an IPv6 packet, as for IPv4.
#[inline(always)]
fn ipv6(frame: &impl Bytes, at: usize) -> Option<(u32, usize, usize)> {
    const HEADER: usize = 40;
    let [_, second] = frame.words(at)?;
    let second = u32::from_be(second);
    let (protocol, behind) = behind_headers(frame, second >> 8 & 0xFF, at + HEADER)?;
    Some((protocol, behind, end(at + HEADER, second >> 16)))
}

/// The position of the transport header in a later fragment. It is a number, because a verifier refuses a
/// value that is only sometimes present.
const NOWHERE: usize = 0;

/// The protocol after the extension headers, and its position. As many headers are skipped as for own flows.
/// `flow/headers` has the same loop, but returns an `Option`. With this function's answer, a verifier needs
/// more than a million instructions for own flows. With an `Option`, it refuses the program that checks
/// ports.
#[inline(always)]
fn behind_headers(frame: &impl Bytes, first: u32, at: usize) -> Option<(u32, usize)> {
    let (mut next, mut at) = (first, at);
    let mut headers = 0;
    while headers < MOST_HEADERS {
        let is_one = next == HOP_BY_HOP || next == ROUTING || next == DESTINATION;
        if !is_one && next != FRAGMENT && next != AUTHENTICATION {
            return Some((next, at));
        }
        let [word] = frame.words(at)?;
        let word = u32::from_be(word);
        if next == FRAGMENT && word & FRAGMENT_OFFSET != 0 {
            return Some((word >> 24, NOWHERE));
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

/// A packet too long to state its length has length zero, and so no end.
#[inline(always)]
const fn end(from: usize, length: u32) -> usize {
    if length == 0 { usize::MAX } else { from + length as usize }
}

#[cfg(test)]
mod tests;
