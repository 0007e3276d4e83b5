//! A prefix: all addresses of one family that begin with the same bits, or a single one.

use core::fmt;
use core::hash::Hash;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::ops::{BitAnd, BitOr, Not, Sub};

/// An IPv4 prefix.
pub type Prefix4 = Prefix<u32>;

/// An IPv6 prefix.
pub type Prefix6 = Prefix<u128>;

/// All addresses whose first bits are those of one address. No bit beyond them is ever set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix<A> {
    // Their order gives the order of prefixes.
    address: A,
    length: u8,
}

impl<A: Address> Prefix<A> {
    /// The prefix of that length that begins at `address`.
    ///
    /// # Errors
    /// When the family has fewer bits, or `address` has a bit set beyond the length.
    pub fn new(address: A, length: u8) -> Result<Self, PrefixError> {
        if length > A::BITS {
            return Err(PrefixError::TooLong);
        }
        let prefix = Self::covering(address, length);
        if prefix.address != address {
            return Err(PrefixError::HostBits);
        }
        Ok(prefix)
    }

    /// A single address.
    #[must_use]
    pub fn host(address: A) -> Self {
        Self { address, length: A::BITS }
    }

    /// The prefix of that length around `address`; lengths beyond the family's stand for the longest.
    #[must_use]
    pub fn covering(address: A, length: u8) -> Self {
        let length = length.min(A::BITS);
        Self { address: address & !A::beyond(length), length }
    }

    /// The bits that its addresses share, the others being zero.
    #[must_use]
    pub fn address(&self) -> A {
        self.address
    }

    /// How many bits its addresses share.
    #[must_use]
    pub fn length(&self) -> u8 {
        self.length
    }

    /// The lowest of its addresses.
    #[must_use]
    pub fn first(&self) -> A {
        self.address
    }

    /// The highest of its addresses.
    #[must_use]
    pub fn last(&self) -> A {
        self.address | A::beyond(self.length)
    }

    /// Is `address` one of these?
    #[must_use]
    pub fn contains(&self, address: A) -> bool {
        address & !A::beyond(self.length) == self.address
    }

    /// Is every address of `other` one of these?
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.length <= other.length && self.contains(other.address)
    }

    /// Is this a single address?
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.length == A::BITS
    }
}

/// Why an address and a length make no prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixError {
    /// The family's addresses have fewer bits.
    TooLong,
    /// The address has a bit set beyond the length.
    HostBits,
}

impl fmt::Display for PrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "the prefix length is too long",
            Self::HostBits => "bits are set beyond the prefix length",
        })
    }
}

impl core::error::Error for PrefixError {}

impl<A: Address> fmt::Display for Prefix<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address.to_ip();
        if self.is_host() { write!(f, "{address}") } else { write!(f, "{address}/{}", self.length) }
    }
}

impl<A: Address> fmt::Debug for Prefix<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An address as an integer in host order: `u32` for IPv4, `u128` for IPv6, and nothing else.
pub trait Address:
    Copy
    + Ord
    + Hash
    + fmt::Debug
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Not<Output = Self>
    + Sub<Output = Self>
    + sealed::Sealed
{
    /// How many bits an address has.
    const BITS: u8;

    /// All bits beyond the first `length`.
    #[must_use]
    fn beyond(length: u8) -> Self;

    /// The address after this one, unless this is the last.
    #[must_use]
    fn next(self) -> Option<Self>;

    /// How many of its last bits are zero.
    #[must_use]
    fn zeros_at_end(self) -> u8;

    /// How many of its first bits are zero.
    #[must_use]
    fn zeros_at_start(self) -> u8;

    /// The standard library's form, for people to read.
    #[must_use]
    fn to_ip(self) -> IpAddr;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! address {
    ($integer:ty, $bits:literal, $ip:ty) => {
        impl sealed::Sealed for $integer {}

        impl Address for $integer {
            const BITS: u8 = $bits;

            fn beyond(length: u8) -> Self {
                Self::MAX.checked_shr(length.into()).unwrap_or(0)
            }

            fn next(self) -> Option<Self> {
                self.checked_add(1)
            }

            fn zeros_at_end(self) -> u8 {
                self.trailing_zeros() as u8
            }

            fn zeros_at_start(self) -> u8 {
                self.leading_zeros() as u8
            }

            fn to_ip(self) -> IpAddr {
                <$ip>::from_bits(self).into()
            }
        }
    };
}

address!(u32, 32, Ipv4Addr);
address!(u128, 128, Ipv6Addr);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_bits_and_impossible_lengths_make_no_prefix() {
        assert_eq!(Prefix4::new(0x0a00_0001, 8), Err(PrefixError::HostBits));
        assert_eq!(Prefix4::new(0x0a00_0000, 33), Err(PrefixError::TooLong));
        assert_eq!(Prefix6::new(0, 129), Err(PrefixError::TooLong));
        assert_eq!(Prefix4::covering(0x0a01_0203, 8), Prefix4::new(0x0a00_0000, 8).unwrap());
    }

    #[test]
    fn a_prefix_knows_its_ends() {
        let ten = Prefix4::covering(0x0a01_0203, 8);
        assert_eq!((ten.first(), ten.last()), (0x0a00_0000, 0x0aff_ffff));
        let all = Prefix4::covering(7, 0);
        assert_eq!((all.first(), all.last()), (0, u32::MAX));
        let one = Prefix6::host(7);
        assert_eq!((one.first(), one.last(), one.is_host()), (7, 7, true));
    }

    #[test]
    fn the_wider_covers_the_narrower_and_itself() {
        let (wide, narrow) = (Prefix4::covering(0x0a00_0000, 8), Prefix4::covering(0x0a01_0000, 16));
        assert!(wide.covers(&narrow) && wide.covers(&wide));
        assert!(!narrow.covers(&wide));
        assert!(!Prefix4::covering(0x0a00_0000, 16).covers(&wide), "not even where both begin alike");
        assert!(!narrow.covers(&Prefix4::covering(0x0a02_0000, 16)));
    }
}
