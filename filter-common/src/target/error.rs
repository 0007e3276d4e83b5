//! Explains why a word is not a valid target, and what was probably meant.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Prefix, Target};

/// The reason why a word is not a valid target.
///
/// `Display` gives a whole sentence. [`fault`](Self::fault) and [`hint`](Self::hint) are its halves, for
/// callers that print the word and the advice themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseTargetError {
    /// There is no word.
    Empty,
    /// The address has bits set beyond the length of its prefix.
    HostBits {
        /// The address as written.
        address: IpAddr,
        /// The prefix that covers it.
        prefix: Target,
    },
    /// The prefix is longer than an address of its family.
    TooLong {
        /// The length as written.
        length: u32,
        /// The longest possible length.
        longest: u8,
    },
    /// The text after the slash is not a number.
    NoLength {
        /// The longest possible length.
        longest: u8,
    },
    /// The text after the slash is a netmask.
    Netmask {
        /// The prefix with this netmask.
        prefix: Target,
    },
    /// The range ends before it begins.
    Backwards {
        /// The end that is written first.
        first: IpAddr,
        /// The end that is written last.
        last: IpAddr,
    },
    /// The two ends of the range have different families.
    MixedFamilies,
    /// The word is a range, but only a single prefix is possible here.
    Range,
    /// An IPv4 target written as an IPv4-mapped IPv6 one.
    Mapped {
        /// The IPv4 target that it stands for.
        target: Target,
    },
    /// An IPv6 range that includes the IPv4-mapped addresses.
    MappedRange,
    /// Numbers of the address begin with zeros.
    LeadingZeros {
        /// The address without the leading zeros.
        address: Ipv4Addr,
    },
    /// The address names an interface.
    Zone {
        /// The address without the interface.
        address: Ipv6Addr,
    },
    /// The address has a port, or the brackets that precede one.
    Port {
        /// The address without the port.
        address: IpAddr,
    },
    /// The word is a host name.
    Name,
    /// The word has only digits and dots, but is not an address.
    NoIpv4,
    /// The word has only hexadecimal digits, dots and colons, but is not an address.
    NoIpv6,
    /// The word is none of these.
    Unknown,
}

use ParseTargetError as E;

impl ParseTargetError {
    /// The fault, written to follow the word: `has host bits set`.
    #[must_use]
    pub fn fault(&self) -> impl fmt::Display + '_ {
        Half(self, Self::write_fault)
    }

    /// The probable meaning or the correct form: `did you mean 10.0.0.0/8 or 10.0.0.1?`
    #[must_use]
    pub fn hint(&self) -> impl fmt::Display + '_ {
        Half(self, Self::write_hint)
    }

    fn write_fault(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            E::Empty => f.write_str("is empty"),
            E::HostBits { .. } => f.write_str("has host bits set"),
            E::TooLong { length, longest } => {
                write!(f, "has the prefix length {length}, but addresses of its family have {longest} bits")
            }
            E::NoLength { .. } => f.write_str("has no number as its prefix length"),
            E::Netmask { .. } => f.write_str("has a netmask in place of a prefix length"),
            E::Backwards { .. } => f.write_str("ends before it begins"),
            E::MixedFamilies => f.write_str("begins in one address family and ends in the other"),
            E::Range => f.write_str("is a range"),
            E::Mapped { .. } => f.write_str("is IPv4 in the form of IPv6, which no packet carries"),
            E::MappedRange => f.write_str("takes in ::ffff:0:0/96, which stands for IPv4"),
            E::LeadingZeros { .. } => f.write_str("has leading zeros, which may mean octal"),
            E::Zone { .. } => f.write_str("names an interface, which no packet carries"),
            E::Port { .. } => f.write_str("is written as if it had a port"),
            E::Name => f.write_str("is a host name, not an address"),
            E::NoIpv4 => f.write_str("is no IPv4 address"),
            E::NoIpv6 => f.write_str("is no IPv6 address"),
            E::Unknown => f.write_str("is no address, prefix or range"),
        }
    }

    fn write_hint(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            E::HostBits { address, prefix } => write!(f, "did you mean {prefix} or {address}?"),
            E::TooLong { longest, .. } | E::NoLength { longest } => {
                write!(f, "write a number from 0 to {longest}")
            }
            E::Netmask { prefix } => write!(f, "did you mean {prefix}?"),
            E::Backwards { first, last } => write!(f, "did you mean {last}-{first}?"),
            E::MixedFamilies => f.write_str("write one range for each family"),
            E::Range => f.write_str("write one address or prefix"),
            E::Mapped { target } => write!(f, "write {target}"),
            E::MappedRange => f.write_str("write IPv4 addresses as such, and the rest as two ranges"),
            E::LeadingZeros { address } => write!(f, "did you mean {address}?"),
            E::Zone { address } => write!(f, "did you mean {address}?"),
            E::Port { address } => write!(f, "did you mean {address}?"),
            E::Name => f.write_str("look it up and write its addresses"),
            E::NoIpv4 => f.write_str("it has four numbers from 0 to 255, as in 192.0.2.1"),
            E::NoIpv6 => f.write_str("it has eight groups, or :: for a run of zeros, as in 2001:db8::1"),
            E::Empty | E::Unknown => {
                f.write_str("write an address, a prefix such as 192.0.2.0/24, or a range a-b")
            }
        }
    }
}

impl fmt::Display for ParseTargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (fault, hint) = (self.fault(), self.hint());
        if let E::HostBits { address, prefix } = self {
            write!(f, "{address}/{}", length(prefix))?;
        } else if let E::Backwards { first, last } = self {
            write!(f, "{first}-{last}")?;
        } else {
            f.write_str("this")?;
        }
        write!(f, " {fault}: {hint}")
    }
}

impl core::error::Error for ParseTargetError {}

fn length(target: &Target) -> u8 {
    match target {
        Target::V4(prefix) => Prefix::length(prefix),
        Target::V6(prefix) => Prefix::length(prefix),
    }
}

/// One half of the sentence, formatted when it is printed.
struct Half<'a>(&'a ParseTargetError, fn(&ParseTargetError, &mut fmt::Formatter<'_>) -> fmt::Result);

impl fmt::Display for Half<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.1)(self.0, f)
    }
}
