//! Own flows: flows that this host began. They are recorded when it sends, and looked up when a listed source
//! answers.
//!
//! A sent packet begins a flow if it is a TCP SYN without ACK or an echo request. UDP begins one if its port
//! is one that the host uses for flows that it begins. All other sent packets only keep a known flow young.
//! An incoming packet is part of a flow if it can be an answer in it. A SYN without ACK or an echo request
//! never is.

pub(crate) mod headers;
pub use headers::length as length_of_headers;

use crate::hash::Address6;
pub use headers::{Bytes, Upper as Protocol};
use headers::{Carried, End, Upper};

/// The recorded own flows: when each last sent something, in nanoseconds.
pub trait Memory {
    /// When this flow was last sent something.
    fn last(&self, key: &Key) -> Option<u64>;

    /// Records that this flow is sent something now.
    fn note(&self, key: &Key, now: u64);
}

/// The number of words in a key.
pub const KEY_WORDS: usize = 3;

/// The key of a flow: the other end's address (an IPv4 address as its mapped IPv6 address), the protocol, and
/// both ports. An echo has its identifier in place of our port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Key(pub [u64; KEY_WORDS]);

/// Marks the key that stands for all flows of a protocol with an address.
const ANY_PORTS: u64 = 1 << 40;

/// The smallest number of flows that are remembered. Each flow takes one entry, and one more for fragments,
/// which all flows of its protocol to the same address share. A host that begins more flows loses the least
/// recently used ones.
pub const ROOM: usize = 1 << 16;

/// The number of entries in the map.
pub const ENTRIES: usize = 2 * ROOM;

const SECOND: u64 = 1_000_000_000;

/// The shortest time between two records of one flow.
const APART: u64 = SECOND;

/// The words of the second map that hold one bit for each UDP port from which this host begins flows.
pub const PORT_WORDS: u32 = 1 << 16 >> 6;

/// The first word after the bits. The number of begun flows is counted from there in [`COUNTERS`] words.
pub const BEGUN: u32 = PORT_WORDS;

/// Processors beyond this number share counters, which may then miss some flows.
pub const COUNTERS: u32 = 64;

/// The total number of words in that map.
pub const WORDS: u32 = PORT_WORDS + COUNTERS;

impl Key {
    /// The key of the flow between our port and a port of theirs.
    #[inline(always)]
    pub const fn new(peer: Address6, protocol: Upper, ours: u16, theirs: u16) -> Self {
        Self([peer.high, peer.low, (protocol as u64) << 32 | (ours as u64) << 16 | theirs as u64])
    }

    /// The key of all flows of a protocol with this address, because later fragments have no ports.
    #[inline(always)]
    pub const fn fragments(peer: Address6, protocol: Upper) -> Self {
        Self([peer.high, peer.low, ANY_PORTS | (protocol as u64) << 32])
    }

    /// The key for fragments of this flow.
    #[inline(always)]
    pub const fn its_fragments(&self) -> Self {
        let Self([high, low, rest]) = *self;
        Self([high, low, ANY_PORTS | rest >> 32 << 32])
    }

    /// How long after the last sent packet an incoming packet is still part of the flow, in nanoseconds.
    #[inline(always)]
    pub const fn age(&self) -> u64 {
        let Self([_, _, rest]) = *self;
        let is_tcp = rest >> 32 == Upper::Tcp as u64;
        if is_tcp { TCP_AGE } else { OTHER_AGE }
    }
}

/// As long as Linux's connection tracking keeps an open connection: longer than the interval of keepalives.
pub const TCP_AGE: u64 = 5 * 24 * 60 * 60 * SECOND;

/// The lifetime of UDP flows, echoes and fragments.
pub const OTHER_AGE: u64 = 3 * 60 * SECOND;

/// The IPv6 address that stands for an IPv4 address.
#[inline(always)]
pub const fn mapped(address: u32) -> Address6 {
    Address6 { high: 0, low: 0xFFFF << 32 | address as u64 }
}

/// True if this incoming frame is part of a flow that this host began and still keeps up.
#[inline(always)]
pub fn is_reply(frame: &impl Bytes, flows: &impl Memory, now: impl Fn() -> u64) -> bool {
    let Some(key) = answered(frame) else { return false };
    flows.last(&key).is_some_and(|last| now().saturating_sub(last) <= key.age())
}

/// Records the flow that this sent frame begins or keeps up. `begins` says whether this host begins flows
/// from a UDP port. Returns true if the flow is new.
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

/// The flow of a sent frame, and whether the frame may begin it.
struct Sent {
    key: Key,
    may_begin: Begin,
}

enum Begin {
    Yes,
    No,
    /// True if this host begins flows from this port.
    From(u16),
}

/// The flow of a frame that this host sends.
#[inline(always)]
fn sent(frame: &impl Bytes) -> Option<Sent> {
    let Carried { peer, upper, at } = headers::carried(frame, End::Destination)?;
    // A later fragment begins no flow, and the first one was recorded already.
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

/// The flow that an incoming frame would be part of.
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

/// The flow of the packet that an ICMP error quotes: a packet that this host sent, according to any sender of
/// the error.
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
