//! A clause says on which ports the packets of listed sources are dropped. It refers to the TCP or UDP port
//! that a packet is sent to, which is the service that the sender wants.

mod packet;

use core::fmt;

pub use packet::{header, port, port_behind};

/// The most ports and ranges in one clause, after adjacent ones are merged. A packet from a listed source is
/// compared with each.
pub const MOST_RANGES: usize = 32;

/// All ports from the first to the last, inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    first: u16,
    last: u16,
}

/// The ports on which packets of listed sources are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clause {
    is_except: bool,
    /// Sorted and disjoint. All ranges after the last used one are empty.
    ranges: [Range; MOST_RANGES],
}

/// The destination port of a packet, or why it has none. This is a number so that separately verified
/// functions can pass it. It is not an optional value, because compiled programs copy those even where they
/// are absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port(u32);

/// Whether a clause wants a packet dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Wants {
    /// The clause wants the packet dropped.
    Drop,
    /// The clause does not apply: the packet is sent to another port.
    Pass,
    /// The port is unknown, because the packet is a later fragment. It is useless without its first fragment.
    Fragment,
}

impl Port {
    /// The packet's protocol is neither TCP nor UDP.
    pub const NONE: Self = Self(1 << 16);
    /// The packet is a later fragment. Only the first fragment has the port.
    pub const ELSEWHERE: Self = Self(2 << 16);
    /// The packet should have a port, but ends before it or cannot be read that far.
    pub const HIDDEN: Self = Self(3 << 16);

    /// A TCP or UDP packet to this port.
    #[inline(always)]
    pub const fn to(port: u16) -> Self {
        Self(port as u32)
    }

    /// The port as a number.
    #[inline(always)]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The port that such a number stands for.
    #[inline(always)]
    pub const fn of(number: u32) -> Self {
        Self(number)
    }
}

/// The error for a clause with more than [`MOST_RANGES`] ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

impl Wants {
    /// The answer with this number.
    #[inline(always)]
    pub const fn of(number: u32) -> Self {
        const DROP: u32 = Wants::Drop as u32;
        const FRAGMENT: u32 = Wants::Fragment as u32;
        match number {
            DROP => Self::Drop,
            FRAGMENT => Self::Fragment,
            _ => Self::Pass,
        }
    }
}

impl Range {
    /// A range without any port.
    pub const EMPTY: Self = Self { first: u16::MAX, last: 0 };

    /// The range from `first` to `last`. None if `first` is greater than `last`.
    pub const fn new(first: u16, last: u16) -> Option<Self> {
        if first <= last { Some(Self { first, last }) } else { None }
    }

    /// The range as one word of a judge's settings.
    pub const fn word(self) -> u64 {
        (self.first as u64) << 16 | self.last as u64
    }

    /// The first port of the range.
    pub const fn first(self) -> u16 {
        self.first
    }

    /// The last port of the range.
    pub const fn last(self) -> u16 {
        self.last
    }

    const fn is_empty(self) -> bool {
        self.first > self.last
    }
}

impl Clause {
    /// A clause for these ports only, or for all other ports. The ranges may be in any order and overlap.
    pub fn new(is_except: bool, said: impl IntoIterator<Item = Range> + Clone) -> Result<Self, TooMany> {
        let mut ranges = [Range::EMPTY; MOST_RANGES];
        let (mut count, mut from) = (0, 0);
        // The next range is searched each time: nothing can be sorted here, and there are few ranges.
        while let Some(first) = next_port(said.clone(), from) {
            let last = end_of(said.clone(), first);
            *ranges.get_mut(count).ok_or(TooMany)? = Range { first, last };
            count += 1;
            let Some(behind) = last.checked_add(1) else { break };
            from = behind;
        }
        Ok(Self { is_except, ranges })
    }

    /// True if the clause applies to all ports except its ranges.
    pub const fn is_except(&self) -> bool {
        self.is_except
    }

    /// The ranges, sorted and disjoint.
    pub fn ranges(&self) -> impl Iterator<Item = Range> + '_ {
        self.ranges.iter().copied().filter(|range| !range.is_empty())
    }

    /// The ranges as words of a judge's settings. Unused words contain no port.
    pub fn words(&self) -> [u64; MOST_RANGES] {
        self.ranges.map(Range::word)
    }

    /// Whether this clause wants a packet with this port dropped.
    pub fn wants(&self, port: Port) -> Wants {
        wants(self.is_except, |number| self.ranges[number].word(), port)
    }
}

/// Whether a clause wants a packet dropped, for callers that read the clause's words one by one.
#[inline(always)]
pub fn wants(is_except: bool, range: impl Fn(usize) -> u64, port: Port) -> Wants {
    if port.0 == Port::ELSEWHERE.0 {
        return Wants::Fragment;
    }
    let is_wanted = if port.0 == Port::NONE.0 {
        is_except
    } else {
        // A packet that hides its port has no port that could save it.
        port.0 == Port::HIDDEN.0 || is_among(range, port.0 as u16) != is_except
    };
    if is_wanted { Wants::Drop } else { Wants::Pass }
}

/// Has no branch for each range, because a verifier would follow every one.
#[inline(always)]
fn is_among(range: impl Fn(usize) -> u64, port: u16) -> bool {
    const LAST: u64 = 0xFFFF;
    let mut outside_all = u64::MAX;
    let mut number = 0;
    while number < MOST_RANGES {
        let word = range(number);
        let port = u64::from(port);
        // The highest bit of a difference is set if the difference is negative.
        let below = port.wrapping_sub(word >> 16);
        let above = (word & LAST).wrapping_sub(port);
        outside_all &= below | above;
        number += 1;
    }
    outside_all >> 63 == 0
}

/// The first port from `from` on that is in one of these ranges.
fn next_port(said: impl IntoIterator<Item = Range>, from: u16) -> Option<u16> {
    let ahead = said.into_iter().filter(|range| !range.is_empty() && range.last >= from);
    ahead.map(|range| range.first.max(from)).min()
}

/// The last port of the uninterrupted run that begins at `first` in these ranges.
fn end_of(said: impl IntoIterator<Item = Range> + Clone, first: u16) -> u16 {
    let mut last = first;
    loop {
        let next = last.saturating_add(1);
        let reaching = said.clone().into_iter().filter(|range| range.first <= next && range.last > last);
        let Some(further) = reaching.map(|range| range.last).max() else { return last };
        last = further;
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { first, last } if first == last => write!(f, "{first}"),
            Self { first, last } => write!(f, "{first}-{last}"),
        }
    }
}

/// Written so that it can follow "dropped": `on port 22 only`, `on ports 22, 8000-8100 only`, `on all but
/// port 443`.
impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_one = self.ranges().count() == 1 && self.ranges().all(|range| range.first == range.last);
        let noun = if is_one { "port" } else { "ports" };
        write!(f, "on {}{noun}", if self.is_except { "all but " } else { "" })?;
        for (number, range) in self.ranges().enumerate() {
            write!(f, "{}{range}", if number == 0 { " " } else { ", " })?;
        }
        f.write_str(if self.is_except { "" } else { " only" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;
    use std::vec::Vec;

    fn range(first: u16, last: u16) -> Range {
        Range::new(first, last).unwrap()
    }

    fn only(ranges: &[Range]) -> Clause {
        Clause::new(false, ranges.iter().copied()).unwrap()
    }

    fn except(ranges: &[Range]) -> Clause {
        Clause::new(true, ranges.iter().copied()).unwrap()
    }

    /// Compares random clauses with the simple definition, port by port.
    #[test]
    fn clause_wants_exactly_its_ports() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (state >> 33) % below
        };
        for round in 0..200 {
            let wide = [1, 50, 60_000][round % 3];
            let said: Vec<Range> = (0..random(12) + 1)
                .map(|_| {
                    let first = [0, 65_000, random(65_536)][random(3) as usize] as u16;
                    range(first, first.saturating_add(random(wide) as u16))
                })
                .collect();
            let (only, except) = (only(&said), except(&said));
            for port in 0..=u16::MAX {
                let is_said = said.iter().any(|range| (range.first..=range.last).contains(&port));
                let expected = if is_said { [Wants::Drop, Wants::Pass] } else { [Wants::Pass, Wants::Drop] };
                assert_eq!(
                    [only, except].map(|clause| clause.wants(Port::to(port))),
                    expected,
                    "{port} of {said:?}"
                );
            }
        }
    }

    #[test]
    fn equal_ports_make_equal_clauses() {
        let said = [range(8000, 8100), range(22, 22), range(8050, 8200), range(8201, 8300), range(22, 22)];
        assert_eq!(only(&said), only(&[range(22, 22), range(8000, 8300)]));
        assert_ne!(only(&said), except(&said));
        assert_eq!(only(&[range(0, 65_535), range(3, 4)]).ranges().collect::<Vec<_>>(), [range(0, 65_535)]);
    }

    #[test]
    fn portless_packets_are_dropped_only_by_except() {
        let (ssh, not_https) = (only(&[range(22, 22)]), except(&[range(443, 443)]));
        assert_eq!([ssh, not_https].map(|clause| clause.wants(Port::NONE)), [Wants::Pass, Wants::Drop]);
        assert_eq!([ssh, not_https].map(|clause| clause.wants(Port::ELSEWHERE)), [Wants::Fragment; 2]);
        assert_eq!([ssh, not_https].map(|clause| clause.wants(Port::HIDDEN)), [Wants::Drop; 2]);
    }

    #[test]
    fn more_than_32_ranges_are_refused() {
        let apart = |count: u16| (0..count).map(|number| range(2 * number, 2 * number));
        assert_eq!(Clause::new(false, apart(32)).unwrap().ranges().count(), MOST_RANGES);
        assert_eq!(Clause::new(false, apart(33)), Err(TooMany));
    }

    #[test]
    fn clause_text_follows_the_word_dropped() {
        assert_eq!(only(&[range(22, 22)]).to_string(), "on port 22 only");
        assert_eq!(only(&[range(8000, 8100), range(22, 22)]).to_string(), "on ports 22, 8000-8100 only");
        assert_eq!(except(&[range(443, 443)]).to_string(), "on all but port 443");
        assert_eq!(except(&[range(80, 80), range(443, 443)]).to_string(), "on all but ports 80, 443");
    }
}
