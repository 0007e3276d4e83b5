//! Parses targets and spans as operators write them, and explains words that are neither.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::str::FromStr;

use super::{Address, ParseTargetError as E, Prefix, PrefixError, Span, Target};

/// Parses an address, a prefix or a range `a-b`. Blanks may surround the dash.
impl FromStr for Span {
    type Err = E;

    fn from_str(word: &str) -> Result<Self, E> {
        // Nearly every word is a plain address.
        if let Ok(address) = word.parse() {
            return host(address).map(Target::into);
        }
        match ends(word) {
            Some((first, last)) => range(word, first, last),
            None => single(word).map(Target::into),
        }
    }
}

/// Parses an address or a prefix.
impl FromStr for Target {
    type Err = E;

    fn from_str(word: &str) -> Result<Self, E> {
        single(word).map_err(|error| match ends(word) {
            Some((first, last)) if range(word, first, last).is_ok() => E::Range,
            _ => error,
        })
    }
}

/// The two ends of a word that looks like a range. The name of an interface may contain a dash as well.
fn ends(word: &str) -> Option<(&str, &str)> {
    let (first, last) = word.split_once('-')?;
    (!word.contains('%')).then_some((first.trim_end(), last.trim_start()))
}

fn range(word: &str, first: &str, last: &str) -> Result<Span, E> {
    match (address(first), address(last)) {
        (Ok(first), Ok(last)) => {
            host(first)?;
            host(last)?;
            Span::new(first, last)
        }
        (Err(_), Err(_)) => Err(explain(word)),
        (Err(E::Empty), Ok(_)) | (Ok(_), Err(E::Empty)) => Err(E::Unknown),
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
    }
}

fn single(word: &str) -> Result<Target, E> {
    let Some((address_part, length_part)) = word.split_once('/') else {
        return host(address(word)?);
    };
    if address_part.is_empty() {
        return Err(E::Unknown);
    }
    match address(address_part)? {
        IpAddr::V4(address) => match length::<u32>(length_part) {
            Ok(length) => prefix(address.to_bits(), length).map(Target::V4),
            Err(error) => Err(netmask(address, length_part).unwrap_or(error)),
        },
        IpAddr::V6(address) => {
            let prefix = prefix(address.to_bits(), length::<u128>(length_part)?)?;
            unmapped(address, prefix.length()).map(|()| Target::V6(prefix))
        }
    }
}

fn address(word: &str) -> Result<IpAddr, E> {
    word.parse().map_err(|_| explain(word))
}

fn host(address: IpAddr) -> Result<Target, E> {
    if let IpAddr::V6(address) = address {
        unmapped(address, u128::BITS as u8)?;
    }
    Ok(address.into())
}

fn prefix<A: Address>(address: A, length: u8) -> Result<Prefix<A>, E>
where
    Target: From<Prefix<A>>,
{
    Prefix::new(address, length).map_err(|error| match error {
        PrefixError::TooLong => E::TooLong { length: length.into(), longest: A::BITS },
        PrefixError::HostBits => {
            E::HostBits { address: address.to_ip(), prefix: Prefix::covering(address, length).into() }
        }
    })
}

/// Refuses targets that could only match packets that no host sends.
fn unmapped(address: Ipv6Addr, length: u8) -> Result<(), E> {
    match (address.to_ipv4_mapped(), length.checked_sub(96)) {
        (Some(mapped), Some(length)) => {
            Err(E::Mapped { target: Prefix::covering(mapped.to_bits(), length).into() })
        }
        _ => Ok(()),
    }
}

/// Accepts only digits: neither a sign nor a leading zero.
fn length<A: Address>(digits: &str) -> Result<u8, E> {
    let plain =
        digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    match digits.parse::<u32>() {
        Ok(length) if plain && length <= A::BITS.into() => Ok(length as u8),
        Ok(length) if plain => Err(E::TooLong { length, longest: A::BITS }),
        _ => Err(E::NoLength { longest: A::BITS }),
    }
}

fn netmask(address: Ipv4Addr, mask: &str) -> Option<E> {
    let mask = mask.parse::<Ipv4Addr>().ok()?.to_bits();
    let length = mask.leading_ones() as u8;
    let prefix = Prefix::covering(address.to_bits(), length);
    (mask == !u32::beyond(length)).then_some(E::Netmask { prefix: prefix.into() })
}

/// Explains a word that is not an address.
fn explain(word: &str) -> E {
    let every = |allowed: fn(&u8) -> bool| word.bytes().all(|byte| allowed(&byte));
    if word.is_empty() {
        E::Empty
    } else if let Some(address) = without_zone(word) {
        E::Zone { address }
    } else if let Some(address) = without_port(word) {
        E::Port { address }
    } else if let Some(address) = without_zeros(word) {
        E::LeadingZeros { address }
    } else if every(|byte| matches!(byte, b'0'..=b'9' | b'.')) {
        E::NoIpv4
    } else if word.contains(':') && every(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.')) {
        E::NoIpv6
    } else if word.starts_with('-') || word.starts_with("0x") {
        E::Unknown
    } else if every(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')) {
        E::Name
    } else {
        E::Unknown
    }
}

fn without_zone(word: &str) -> Option<Ipv6Addr> {
    word.split_once('%')?.0.parse().ok()
}

fn without_port(word: &str) -> Option<IpAddr> {
    let bare = word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match bare {
        Some(bare) => bare.parse().ok(),
        None => word.parse::<SocketAddr>().ok().map(|socket| socket.ip()),
    }
}

fn without_zeros(word: &str) -> Option<Ipv4Addr> {
    let mut numbers = word.split('.').map(|number| match number.trim_start_matches('0') {
        "" if !number.is_empty() => Some(0),
        stripped if stripped.starts_with(|first: char| first.is_ascii_digit()) => stripped.parse::<u8>().ok(),
        _ => None,
    });
    let mut octets = [0; 4];
    for octet in &mut octets {
        *octet = numbers.next()??;
    }
    numbers.next().is_none().then_some(octets.into())
}

#[cfg(test)]
mod tests;
