//! A contiguous range of addresses, which can be divided into the smallest possible number of prefixes.

use core::fmt;
use core::net::IpAddr;

use super::{Address, ParseTargetError, Prefix, Target};

/// The addresses that one word names: an address, a prefix, or a range `a-b` including both ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span(Ends);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Ends {
    V4(u32, u32),
    V6(u128, u128),
}

impl Span {
    /// The addresses from `first` to `last`, including both.
    ///
    /// # Errors If the ends have two families or the wrong order, or the range includes IPv4-mapped
    /// addresses.
    pub fn new(first: IpAddr, last: IpAddr) -> Result<Self, ParseTargetError> {
        let ends = match (first, last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => Ends::V4(first.to_bits(), last.to_bits()),
            (IpAddr::V6(first), IpAddr::V6(last)) => Ends::V6(first.to_bits(), last.to_bits()),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => {
                return Err(ParseTargetError::MixedFamilies);
            }
        };
        if first > last {
            return Err(ParseTargetError::Backwards { first, last });
        }
        if let Ends::V6(first, last) = ends
            && first <= LAST_MAPPED
            && last >= FIRST_MAPPED
        {
            return Err(ParseTargetError::MappedRange);
        }
        Ok(Self(ends))
    }
}

/// The IPv4-mapped prefix `::ffff:0:0/96`. No piece of a range may be in it, because its text would be
/// refused.
const FIRST_MAPPED: u128 = 0xffff_0000_0000;
const LAST_MAPPED: u128 = 0xffff_ffff_ffff;

impl From<Target> for Span {
    fn from(target: Target) -> Self {
        match target {
            Target::V4(prefix) => Self(Ends::V4(prefix.first(), prefix.last())),
            Target::V6(prefix) => Self(Ends::V6(prefix.first(), prefix.last())),
        }
    }
}

impl IntoIterator for Span {
    type Item = Target;
    type IntoIter = Pieces;

    fn into_iter(self) -> Pieces {
        Pieces(Some(self))
    }
}

/// The fewest targets that make up a span, in ascending order: at most 62 for IPv4, and 254 for IPv6.
#[derive(Clone, Debug)]
pub struct Pieces(Option<Span>);

impl Iterator for Pieces {
    type Item = Target;

    fn next(&mut self) -> Option<Target> {
        let (target, rest) = match self.0?.0 {
            Ends::V4(first, last) => {
                let prefix = largest_piece(first, last);
                (Target::V4(prefix), after(&prefix, last).map(|next| Ends::V4(next, last)))
            }
            Ends::V6(first, last) => {
                let prefix = largest_piece(first, last);
                (Target::V6(prefix), after(&prefix, last).map(|next| Ends::V6(next, last)))
            }
        };
        self.0 = rest.map(Span);
        Some(target)
    }
}

impl core::iter::FusedIterator for Pieces {}

/// The widest prefix that begins at `first` and does not extend beyond `last`.
fn largest_piece<A: Address>(first: A, last: A) -> Prefix<A> {
    let aligned = A::BITS - first.zeros_at_end();
    let within = (last - first).zeros_at_start();
    let widest = Prefix::covering(first, aligned.max(within));
    if widest.last() <= last { widest } else { Prefix::covering(first, widest.length() + 1) }
}

fn after<A: Address>(piece: &Prefix<A>, last: A) -> Option<A> {
    piece.last().next().filter(|next| *next <= last)
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pieces = self.into_iter();
        match (pieces.next(), pieces.next()) {
            (Some(only), None) => only.fmt(f),
            _ => match self.0 {
                Ends::V4(first, last) => write!(f, "{}-{}", first.to_ip(), last.to_ip()),
                Ends::V6(first, last) => write!(f, "{}-{}", first.to_ip(), last.to_ip()),
            },
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn pieces(word: &str) -> Vec<std::string::String> {
        word.parse::<Span>().expect(word).into_iter().map(|target| target.to_string()).collect()
    }

    #[test]
    fn a_range_becomes_the_fewest_prefixes() {
        assert_eq!(pieces("10.0.0.0-10.0.0.255"), ["10.0.0.0/24"]);
        assert_eq!(pieces("10.0.0.1-10.0.0.6"), ["10.0.0.1", "10.0.0.2/31", "10.0.0.4/31", "10.0.0.6"]);
        assert_eq!(pieces("0.0.0.0-255.255.255.255"), ["0.0.0.0/0"]);
        assert_eq!(pieces("255.255.255.254-255.255.255.255"), ["255.255.255.254/31"]);
        assert_eq!(pieces("2001:db8::-2001:db8::2"), ["2001:db8::/127", "2001:db8::2"]);
        assert_eq!(pieces("ffff::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), ["ffff::/16"]);
    }

    #[test]
    fn worst_ranges_reach_the_piece_limits() {
        assert_eq!(pieces("0.0.0.1-255.255.255.254").len(), 62);
        let all_but_the_ends = Span(Ends::V6(1, u128::MAX - 1));
        assert_eq!(all_but_the_ends.into_iter().count(), 254);
    }

    #[test]
    fn addresses_and_prefixes_are_one_piece() {
        assert_eq!(pieces("192.0.2.1"), ["192.0.2.1"]);
        assert_eq!(pieces("::/0"), ["::/0"]);
        assert_eq!("10.0.0.0-10.255.255.255".parse::<Span>().unwrap().to_string(), "10.0.0.0/8");
    }

    /// The fewest aligned blocks that tile `first..=last`, found in the simplest way: a block is split until
    /// it is completely inside or outside.
    fn tiled(first: u32, last: u32, block: Prefix<u32>, found: &mut Vec<Target>) {
        if block.first() >= first && block.last() <= last {
            found.push(Target::V4(block));
        } else if block.first() <= last && block.last() >= first {
            let longer = block.length() + 1;
            tiled(first, last, Prefix::covering(block.first(), longer), found);
            tiled(first, last, Prefix::covering(block.last(), longer), found);
        }
    }

    #[test]
    fn every_range_of_small_windows_is_tiled_exactly() {
        for base in [0, 0x0a00_00f0, u32::MAX - 63] {
            for (first, last) in (0..64u32).flat_map(|first| (first..64).map(move |last| (first, last))) {
                let (first, last) = (base + first, base + last);
                let mut expected = Vec::new();
                tiled(first, last, Prefix::covering(0, 0), &mut expected);
                assert_eq!(Span(Ends::V4(first, last)).into_iter().collect::<Vec<_>>(), expected);
            }
        }
    }

    proptest! {
        #[test]
        fn any_ipv4_range_is_tiled_exactly(a: u32, b: u32) {
            let mut expected = Vec::new();
            tiled(a.min(b), a.max(b), Prefix::covering(0, 0), &mut expected);
            prop_assert_eq!(Span(Ends::V4(a.min(b), a.max(b))).into_iter().collect::<Vec<_>>(), expected);
        }

        #[test]
        fn ipv6_pieces_adjoin_and_cannot_merge(a: u128, b: u128, shift in 0u32..128) {
            let (a, b) = (a.min(b), a.max(b));
            let (first, last) = (a, a.saturating_add((b - a) >> shift));
            let pieces: Vec<_> = Span(Ends::V6(first, last)).into_iter().map(six).collect();
            prop_assert_eq!(pieces[0].first(), first);
            prop_assert_eq!(pieces[pieces.len() - 1].last(), last);
            for pair in pieces.windows(2) {
                prop_assert_eq!(pair[0].last() + 1, pair[1].first());
                let parent = Prefix::covering(pair[0].first(), pair[0].length().saturating_sub(1));
                prop_assert!(pair[0].length() != pair[1].length() || !parent.covers(&pair[1]));
            }
        }

        #[test]
        fn any_span_reads_back_from_its_text(a: u32, b: u32, c: u128, d: u128) {
            // From 8000:: on, far from the IPv4-mapped addresses.
            let (c, d) = (c | 1 << 127, d | 1 << 127);
            for span in [Ends::V4(a.min(b), a.max(b)), Ends::V6(c.min(d), c.max(d))] {
                prop_assert_eq!(Span(span).to_string().parse::<Span>(), Ok(Span(span)));
            }
        }
    }

    fn six(target: Target) -> Prefix<u128> {
        match target {
            Target::V6(prefix) => prefix,
            Target::V4(prefix) => unreachable!("{prefix} out of an IPv6 range"),
        }
    }
}
