//! What is blocked, as a plain pair of numbers: nothing here is shared with filterd.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address or a prefix of either family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    /// IPv6, not IPv4.
    pub is_six: bool,
    /// The first address; an IPv4 one stands in the lowest 32 bits.
    pub first: u128,
    /// How many leading bits count.
    pub length: u8,
}

impl Prefix {
    /// The prefix of this length around an address.
    pub fn around(is_six: bool, address: u128, length: u8) -> Self {
        Self { is_six, first: address & !tail(is_six, length), length }
    }

    /// A single address.
    pub fn host(is_six: bool, address: u128) -> Self {
        Self::around(is_six, address, width(is_six))
    }

    /// This address.
    pub fn of(address: IpAddr) -> Self {
        let (is_six, address) = number(address);
        Self::host(is_six, address)
    }

    /// Is it a single address?
    pub fn is_host(self) -> bool {
        self.length == width(self.is_six)
    }

    /// The last address of it.
    pub fn last(self) -> u128 {
        self.first | tail(self.is_six, self.length)
    }

    /// Is all of `other` in it?
    pub fn covers(self, other: Self) -> bool {
        self.is_six == other.is_six && self.first <= other.first && other.last() <= self.last()
    }

    /// Its two ends, the addresses on either side, and one at this place inside.
    pub fn edges(self, inside: u128) -> Vec<IpAddr> {
        let (first, last) = (self.first, self.last());
        let mut edges = vec![first, last, first | (inside & tail(self.is_six, self.length))];
        edges.extend(first.checked_sub(1));
        edges.extend(last.checked_add(1).filter(|next| *next <= tail(self.is_six, 0)));
        edges.dedup();
        edges.into_iter().map(|address| ip(self.is_six, address)).collect()
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", ip(self.is_six, self.first))?;
        if self.length < width(self.is_six) { write!(out, "/{}", self.length) } else { Ok(()) }
    }
}

/// The prefixes that make up a range, found in the plainest way: the widest that begins there and fits.
pub fn pieces(is_six: bool, first: u128, last: u128) -> Vec<Prefix> {
    let (mut pieces, mut next) = (Vec::new(), Some(first));
    while let Some(begin) = next.filter(|begin| *begin <= last) {
        let fits = |length: &u8| {
            let piece = Prefix::around(is_six, begin, *length);
            piece.first == begin && piece.last() <= last
        };
        let piece = Prefix::around(is_six, begin, (0..=width(is_six)).find(fits).expect("one address fits"));
        next = piece.last().checked_add(1);
        pieces.push(piece);
    }
    pieces
}

/// How many bits an address has.
pub fn width(is_six: bool) -> u8 {
    if is_six { 128 } else { 32 }
}

/// The number as an address.
pub fn ip(is_six: bool, address: u128) -> IpAddr {
    if is_six {
        IpAddr::V6(Ipv6Addr::from_bits(address))
    } else {
        IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(address).expect("IPv4 has 32 bits")))
    }
}

/// An address as a number, and whether it is an IPv6 one.
pub fn number(address: IpAddr) -> (bool, u128) {
    match address {
        IpAddr::V4(address) => (false, address.to_bits().into()),
        IpAddr::V6(address) => (true, address.to_bits()),
    }
}

/// The bits behind the first `length`.
fn tail(is_six: bool, length: u8) -> u128 {
    let all = if is_six { u128::MAX } else { u32::MAX.into() };
    if length == 0 { all } else { all.checked_shr(length.into()).unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_knows_its_ends_and_its_neighbours() {
        let net = Prefix::around(false, 0xc633_6407, 25);
        assert_eq!(net.to_string(), "198.51.100.0/25");
        let edges: Vec<_> = net.edges(9).iter().map(IpAddr::to_string).collect();
        assert_eq!(
            edges,
            ["198.51.100.0", "198.51.100.127", "198.51.100.9", "198.51.99.255", "198.51.100.128"]
        );
        assert!(
            net.covers(Prefix::host(false, 0xc633_647f)) && !net.covers(Prefix::host(false, 0xc633_6480))
        );
        assert_eq!(Prefix::around(true, 1, 0).last(), u128::MAX);
        assert_eq!(Prefix::host(true, 7).last(), 7);
    }

    #[test]
    fn a_range_is_made_of_the_fewest_prefixes() {
        let told: Vec<_> = pieces(false, 3, 9).iter().map(Prefix::to_string).collect();
        assert_eq!(told, ["0.0.0.3", "0.0.0.4/30", "0.0.0.8/31"]);
        assert_eq!(pieces(true, 0, u128::MAX).len(), 1);
    }
}
