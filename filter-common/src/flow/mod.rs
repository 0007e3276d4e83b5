//! Own flows: what this host began itself, remembered when it sends and asked for when a listed source answers.
//!
//! What begins a flow is told by a packet alone: a TCP SYN without ACK, an echo request, and UDP from a port that the host
//! uses for what it begins. Everything else that is sent only keeps a flow young that is known. What comes in is part of a flow
//! if it could be its answer: never a SYN without ACK, never an echo request.

pub(crate) mod headers;

use crate::hash::Address6;
pub use headers::{Bytes, Upper as Protocol};
use headers::{Carried, End, Upper};

/// Own flows as they are remembered: when each was last sent something, in nanoseconds.
pub trait Memory {
    /// When was that?
    fn last(&self, key: &Key) -> Option<u64>;

    /// It was now.
    fn note(&self, key: &Key, now: u64);
}

/// Words of a key.
pub const KEY_WORDS: usize = 3;

/// What a flow is known by: the other end's address (of IPv4 as the IPv6 address that stands for it), and the protocol with
/// both ports. An echo has its identifier in place of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Key(pub [u64; KEY_WORDS]);

/// Marks the key of all flows of a protocol with an address.
const ANY_PORTS: u64 = 1 << 40;

/// How many flows are remembered at least: each takes an entry for itself, and one with those of its protocol to the same
/// address, for fragments. Who begins more forgets those that were least lately in use.
pub const ROOM: usize = 1 << 16;

/// Entries of the map.
pub const ENTRIES: usize = 2 * ROOM;

const SECOND: u64 = 1_000_000_000;

/// A flow is noted at most so often.
const APART: u64 = SECOND;

/// Words of the map beside it: a bit for each UDP port from which this host begins flows, and how many it has begun.
pub const PORT_WORDS: u32 = 1 << 16 >> 6;

/// The first word behind the bits: how many flows were begun, counted in as many words as there are [`COUNTERS`].
pub const BEGUN: u32 = PORT_WORDS;

/// Processors beyond these share counters, which may then miss some.
pub const COUNTERS: u32 = 64;

/// All words of that map.
pub const WORDS: u32 = PORT_WORDS + COUNTERS;

impl Key {
    /// The flow between our port and a port of theirs.
    #[inline(always)]
    pub const fn new(peer: Address6, protocol: Upper, ours: u16, theirs: u16) -> Self {
        Self([peer.high, peer.low, (protocol as u64) << 32 | (ours as u64) << 16 | theirs as u64])
    }

    /// All flows of a protocol with this address: fragments behind the first have no ports.
    #[inline(always)]
    pub const fn fragments(peer: Address6, protocol: Upper) -> Self {
        Self([peer.high, peer.low, ANY_PORTS | (protocol as u64) << 32])
    }

    /// The same of the flow that this is.
    #[inline(always)]
    pub const fn its_fragments(&self) -> Self {
        let Self([high, low, rest]) = *self;
        Self([high, low, ANY_PORTS | rest >> 32 << 32])
    }

    /// For how long after the last packet sent a packet that comes in is still part of it, in nanoseconds.
    #[inline(always)]
    pub const fn age(&self) -> u64 {
        let Self([_, _, rest]) = *self;
        let is_tcp = rest >> 32 == Upper::Tcp as u64;
        if is_tcp { TCP_AGE } else { OTHER_AGE }
    }
}

/// As long as Linux's connection tracking keeps one that is open: longer than keepalives are apart.
pub const TCP_AGE: u64 = 5 * 24 * 60 * 60 * SECOND;

/// Of UDP, of echoes, and of fragments.
pub const OTHER_AGE: u64 = 3 * 60 * SECOND;

/// The IPv6 address that stands for an IPv4 one.
#[inline(always)]
pub const fn mapped(address: u32) -> Address6 {
    Address6 { high: 0, low: 0xFFFF << 32 | address as u64 }
}

/// Is this frame that comes in part of a flow that this host has begun, and still keeps up?
#[inline(always)]
pub fn is_reply(frame: &impl Bytes, flows: &impl Memory, now: impl Fn() -> u64) -> bool {
    let Some(key) = answered(frame) else { return false };
    flows.last(&key).is_some_and(|last| now().saturating_sub(last) <= key.age())
}

/// Remembers what this frame, which this host sends, begins or keeps up. `begins` tells of an UDP port whether this host
/// begins flows from it. True if the flow is new.
#[inline(always)]
pub fn record(
    frame: &impl Bytes,
    flows: &impl Memory,
    begins: impl Fn(u16) -> bool,
    now: impl Fn() -> u64,
) -> bool {
    let Some(Sent { key, may_begin }) = sent(frame) else { return false };
    let may_begin = match may_begin {
        Begin::Yes => true,
        Begin::No => false,
        Begin::From(port) => begins(port),
    };
    let last = flows.last(&key);
    if last.is_none() && !may_begin {
        return false;
    }
    let now = now();
    let is_known = last.is_some_and(|last| now.saturating_sub(last) <= key.age());
    let is_young = last.is_some_and(|last| now.saturating_sub(last) < APART);
    if is_young || !is_known && !may_begin {
        return false;
    }
    flows.note(&key, now);
    flows.note(&key.its_fragments(), now);
    !is_known
}

/// What a frame that is sent may begin.
struct Sent {
    key: Key,
    may_begin: Begin,
}

enum Begin {
    Yes,
    No,
    /// If this port of ours is one to begin from.
    From(u16),
}

/// The flow of a frame that this host sends.
#[inline(always)]
fn sent(frame: &impl Bytes) -> Option<Sent> {
    let Carried { peer, upper, at } = headers::carried(frame, End::Destination)?;
    // A later fragment begins nothing, and the first one has told all there is.
    let at = at?;
    match upper {
        Upper::Tcp => {
            let (ours, theirs) = headers::ports(frame, at)?;
            let may_begin = if headers::is_opening(frame, at)? { Begin::Yes } else { Begin::No };
            Some(Sent { key: Key::new(peer, upper, ours, theirs), may_begin })
        }
        Upper::Udp => {
            let (ours, theirs) = headers::ports(frame, at)?;
            Some(Sent { key: Key::new(peer, upper, ours, theirs), may_begin: Begin::From(ours) })
        }
        Upper::Icmp | Upper::Icmp6 => {
            let echo = headers::echo_request(frame, at, upper)?;
            Some(Sent { key: Key::new(peer, upper, echo, 0), may_begin: Begin::Yes })
        }
    }
}

/// The flow that a frame which comes in would be part of.
#[inline(always)]
fn answered(frame: &impl Bytes) -> Option<Key> {
    let Carried { peer, upper, at } = headers::carried(frame, End::Source)?;
    let Some(at) = at else { return Some(Key::fragments(peer, upper)) };
    match upper {
        Upper::Tcp if headers::is_opening(frame, at)? => None,
        Upper::Tcp | Upper::Udp => {
            let (theirs, ours) = headers::ports(frame, at)?;
            Some(Key::new(peer, upper, ours, theirs))
        }
        Upper::Icmp | Upper::Icmp6 => match headers::echo_reply(frame, at, upper) {
            Some(echo) => Some(Key::new(peer, upper, echo, 0)),
            None => quoted(frame, at, upper),
        },
    }
}

/// The flow of the packet that an ICMP error quotes: one that this host is said to have sent, whoever says so.
#[inline(always)]
fn quoted(frame: &impl Bytes, at: usize, upper: Upper) -> Option<Key> {
    let Carried { peer, upper, at } = headers::quoted(frame, at, upper)?;
    let Some(at) = at else { return Some(Key::fragments(peer, upper)) };
    match upper {
        Upper::Tcp | Upper::Udp => {
            let (ours, theirs) = headers::ports(frame, at)?;
            Some(Key::new(peer, upper, ours, theirs))
        }
        Upper::Icmp | Upper::Icmp6 => {
            Some(Key::new(peer, upper, headers::echo_request(frame, at, upper)?, 0))
        }
    }
}

#[cfg(test)]
mod tests;
