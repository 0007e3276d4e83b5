//! Networks selected from a database: adjacent ones are joined, and the result is written as plain lines.

use std::fmt::Write as _;
use std::io::{self, Read};

use filter_common::target::{Address, Prefix, Prefix6, Span, Target};

/// The prefix lengths that limit lines. Every list accepts prefixes of these lengths, so joining never makes
/// a line that looks like a mistake.
const WIDEST_LINE: (u8, u8) = (8, 16);

/// A single record wider than these prefixes is not a country's. Its line stays whole, so that the check for
/// wide prefixes sees it.
const WIDEST_RECORD: (u8, u8) = (6, 12);

/// The selected ranges of both families.
#[derive(Debug)]
pub struct Spans {
    four: JoinedRanges<u32>,
    six: JoinedRanges<u128>,
    wide: Vec<Span>,
    /// The most ranges to keep.
    most: usize,
}

/// Ranges that include both ends.
#[derive(Debug)]
struct JoinedRanges<A> {
    ranges: Vec<(A, A)>,
    is_sorted: bool,
}

impl Spans {
    /// An empty collection that never holds many more than `most` ranges.
    #[must_use]
    pub fn new(most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self { four: JoinedRanges::new(), six: JoinedRanges::new(), wide: Vec::new(), most }
    }

    /// Adds IPv4 addresses, including both ends.
    pub fn push4(&mut self, first: u32, last: u32) {
        if u64::from(last - first) < 1 << (32 - WIDEST_RECORD.0) {
            self.four.push(first, last);
        } else {
            self.wide.extend(Span::new(first.to_ip(), last.to_ip()));
        }
    }

    /// Adds an IPv6 prefix. Addresses below ::/16 are skipped: they are assigned to no one, and include
    /// several forms of IPv4 addresses.
    pub fn push6(&mut self, prefix: Prefix6) {
        if prefix.length() < WIDEST_RECORD.1 {
            self.wide.push(Target::V6(prefix).into());
        } else if prefix.first() >> 112 != 0 {
            self.six.push(prefix.first(), prefix.last());
        }
    }

    /// True if there are more ranges than allowed, even after joining.
    pub fn join_if_full(&mut self) -> bool {
        if self.len() <= self.most.saturating_add(self.most / 4) {
            return false;
        }
        self.join();
        self.len() > self.most
    }

    /// Sorts the ranges, and joins adjacent and overlapping ones.
    pub fn join(&mut self) {
        self.four.join();
        self.six.join();
    }

    /// The plain lines, generated while they are read.
    pub fn lines(&self) -> impl Read {
        let (four, six) = WIDEST_LINE;
        let lines4 = self.four.ranges.iter().flat_map(move |range| cut(*range, four));
        let lines6 = self.six.ranges.iter().flat_map(move |range| cut(*range, six));
        let narrow = lines4.chain(lines6).flatten().map(Span::from);
        SpanLines { spans: narrow.chain(self.wide.iter().copied()), line: String::new(), at: 0 }
    }

    fn len(&self) -> usize {
        self.four.ranges.len() + self.six.ranges.len() + self.wide.len()
    }
}

/// Divides a range so that no piece extends beyond a prefix of this length.
fn cut<A: Address>((first, last): (A, A), length: u8) -> impl Iterator<Item = Span> {
    let mut begin = Some(first);
    std::iter::from_fn(move || {
        let from = begin?;
        let end = Prefix::covering(from, length).last().min(last);
        begin = end.next().filter(|next| *next <= last);
        Some(
            Span::new(from.to_ip(), end.to_ip())
                .expect("its ends are in order, and IPv4 in disguise is left out"),
        )
    })
}

impl<A: Address + Ord> JoinedRanges<A> {
    fn new() -> Self {
        Self { ranges: Vec::new(), is_sorted: true }
    }

    /// Most ranges arrive in order, and many are adjacent.
    fn push(&mut self, first: A, last: A) {
        if let Some((_, before)) = self.ranges.last_mut() {
            if before.next() == Some(first) {
                *before = last;
                return;
            }
            self.is_sorted &= *before < first;
        }
        self.ranges.push((first, last));
    }

    fn join(&mut self) {
        if self.is_sorted {
            return;
        }
        self.ranges.sort_unstable();
        self.ranges.dedup_by(|(first, last), (_, before)| {
            let meets = *first <= *before || before.next() == Some(*first);
            if meets && *last > *before {
                *before = *last;
            }
            meets
        });
        self.is_sorted = true;
    }
}

/// Generates lines as they are read.
struct SpanLines<I> {
    spans: I,
    line: String,
    at: usize,
}

impl<I: Iterator<Item = Span>> Read for SpanLines<I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            if self.at == self.line.len() {
                let Some(span) = self.spans.next() else { break };
                (self.at, _) = (0, self.line.clear());
                writeln!(self.line, "{span}").expect("a string takes it");
            }
            let now = (self.line.len() - self.at).min(buffer.len() - filled);
            buffer[filled..filled + now].copy_from_slice(&self.line.as_bytes()[self.at..self.at + now]);
            (self.at, filled) = (self.at + now, filled + now);
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests;
