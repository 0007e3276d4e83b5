//! A prefix: all addresses of one family whose first bits are equal. A single address is the longest prefix.

use core::fmt;
use core::hash::Hash;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::ops::{BitAnd, BitOr, Not, Sub};

/// A prefix of IPv4 addresses.
pub type Prefix4 = Prefix<u32>;

/// A prefix of IPv6 addresses.
pub type Prefix6 = Prefix<u128>;

/// All addresses whose first `length` bits equal those of `address`. The other bits of `address` are always
/// zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix<A> {
    // The order of these fields defines the order of prefixes.
    address: A,
    length: u8,
}

impl<A: Address> Prefix<A> {
    /// The prefix of that length that begins at `address`.
    ///
    /// # Errors
    /// If the family has fewer bits, or `address` has a bit set beyond the length.
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

    /// The prefix that is a single address.
    #[must_use]
    pub fn host(address: A) -> Self {
        Self { address, length: A::BITS }
    }

    /// The prefix of that length that covers `address`. Too large lengths count as the longest possible one.
    #[must_use]
    pub fn covering(address: A, length: u8) -> Self {
        let length = length.min(A::BITS);
        Self { address: address & !A::beyond(length), length }
    }

    /// The common bits of its addresses, followed by zeros.
    #[must_use]
    pub fn address(&self) -> A {
        self.address
    }

    /// The number of bits that its addresses share.
    #[must_use]
    pub fn length(&self) -> u8 {
        self.length
    }

    /// The lowest address in the prefix.
    #[must_use]
    pub fn first(&self) -> A {
        self.address
    }

    /// The highest address in the prefix.
    #[must_use]
    pub fn last(&self) -> A {
        self.address | A::beyond(self.length)
    }

    /// True if `address` is in this prefix.
    #[must_use]
    pub fn contains(&self, address: A) -> bool {
        address & !A::beyond(self.length) == self.address
    }

    /// True if every address of `other` is in this prefix.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.length <= other.length && self.contains(other.address)
    }

    /// True for a single address.
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.length == A::BITS
    }
}

/// The reason why an address and a length are not a prefix.
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

/// An address as an integer in host byte order: `u32` for IPv4, `u128` for IPv6, and no other type.
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
    /// The number of bits in an address.
    const BITS: u8;

    /// A mask of all bits beyond the first `length`.
    #[must_use]
    fn beyond(length: u8) -> Self;

    /// The next address, unless this is the last one.
    #[must_use]
    fn next(self) -> Option<Self>;

    /// The number of trailing zero bits.
    #[must_use]
    fn zeros_at_end(self) -> u8;

    /// The number of leading zero bits.
    #[must_use]
    fn zeros_at_start(self) -> u8;

    /// The standard library's form, for output.
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
