//! Networks on their way out of a database: joined where they lie side by side, and written as plain lines.

use std::fmt::Write as _;
use std::io::{self, Read};

use filter_common::target::{Address, Prefix, Prefix6, Span, Target};

/// No line is wider than these, which every list may have: what is joined is a slip of nobody's.
const WIDEST_LINE: (u8, u8) = (8, 16);

/// A single record that is wider than these is no country's, and its line is left to whoever doubts wide ones.
const WIDEST_RECORD: (u8, u8) = (6, 12);

/// What was chosen, both families.
#[derive(Debug)]
pub struct Spans {
    four: Joined<u32>,
    six: Joined<u128>,
    wide: Vec<Span>,
    /// As many ranges may be kept.
    most: usize,
}

/// Ranges with both ends in them.
#[derive(Debug)]
struct Joined<A> {
    ranges: Vec<(A, A)>,
    is_sorted: bool,
}

impl Spans {
    /// None yet, and never many more than so many ranges.
    #[must_use]
    pub fn new(most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self { four: Joined::new(), six: Joined::new(), wide: Vec::new(), most }
    }

    /// IPv4 addresses, both ends included.
    pub fn push4(&mut self, first: u32, last: u32) {
        if u64::from(last - first) < 1 << (32 - WIDEST_RECORD.0) {
            self.four.push(first, last);
        } else {
            self.wide.extend(Span::new(first.to_ip(), last.to_ip()));
        }
    }

    /// An IPv6 prefix. What lies below ::/16 is nobody's, and IPv4 in many disguises.
    pub fn push6(&mut self, prefix: Prefix6) {
        if prefix.length() < WIDEST_RECORD.1 {
            self.wide.push(Target::V6(prefix).into());
        } else if prefix.first() >> 112 != 0 {
            self.six.push(prefix.first(), prefix.last());
        }
    }

    /// Are there more than there may be? What can be joined is joined before.
    pub fn is_full(&mut self) -> bool {
        if self.len() <= self.most.saturating_add(self.most / 4) {
            return false;
        }
        self.join();
        self.len() > self.most
    }

    /// Sorts what has come in no order, and joins what meets.
    pub fn join(&mut self) {
        self.four.join();
        self.six.join();
    }

    /// The plain lines, made while they are read.
    pub fn lines(&self) -> impl Read {
        let (four, six) = WIDEST_LINE;
        let lines4 = self.four.ranges.iter().flat_map(move |range| cut(*range, four));
        let lines6 = self.six.ranges.iter().flat_map(move |range| cut(*range, six));
        let narrow = lines4.chain(lines6).flatten().map(Span::from);
        Lines { spans: narrow.chain(self.wide.iter().copied()), line: String::new(), at: 0 }
    }

    fn len(&self) -> usize {
        self.four.ranges.len() + self.six.ranges.len() + self.wide.len()
    }
}

/// A range in pieces none of which reaches beyond a prefix of this length.
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

impl<A: Address + Ord> Joined<A> {
    fn new() -> Self {
        Self { ranges: Vec::new(), is_sorted: true }
    }

    /// Most come in order, and many lie side by side.
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

/// Writes a line when one is asked for.
struct Lines<I> {
    spans: I,
    line: String,
    at: usize,
}

impl<I: Iterator<Item = Span>> Read for Lines<I> {
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
