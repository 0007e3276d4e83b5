//! Reads the files that regional internet registries publish: `delegated-*-latest` and
//! `delegated-*-extended-latest`. They have one line for each allocation, as in
//! `apnic|CN|ipv4|1.0.1.0|256|20110414|allocated`.

use std::io::{self, Read};
use std::net::{Ipv4Addr, Ipv6Addr};

use filter_common::target::Prefix;

use super::spans::Spans;
use crate::source::chosen::Country;
use crate::text::date;
use crate::text::lines::{Content, Lines};

/// One file of a registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delegated {
    /// The name of the registry.
    pub registry: String,
    /// The last day that the file covers, as in 20261120.
    pub day: Option<u32>,
    /// The number of network lines that the file announces.
    told: u64,
    /// The number of network lines in the file.
    found: u64,
}

/// The share of announced lines, in percent, that must be there. Registries have miscounted by a few.
const ENOUGH: u64 = 99;

/// True if a file with this beginning comes from a registry. The first line that is not a comment has the
/// version of the format.
#[must_use]
pub fn is_one(beginning: &[u8]) -> bool {
    let lines = beginning.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.into_iter().find(|line| !line.is_empty() && !line.starts_with(b"#"));
    first.and_then(header).is_some()
}

/// Reads a file, and adds the networks of the wanted countries to `spans`.
///
/// # Errors
/// If the file cannot be read.
pub fn read(
    input: impl Read,
    mut is_wanted: impl FnMut(Country) -> bool,
    spans: &mut Spans,
) -> io::Result<Delegated> {
    let (mut lines, mut file) = (Lines::new(input), Delegated::default());
    while let Some(line) = lines.read()? {
        let Content::Says(line) = line.content() else { continue };
        if file.registry.is_empty() {
            file = header(line).unwrap_or_default();
            continue;
        }
        let mut fields = line.split(|byte| *byte == b'|');
        let mut next = || fields.next().unwrap_or_default();
        let (_, country, kind, first, count) = (next(), next(), next(), next(), next());
        if kind != b"ipv4" && kind != b"ipv6" {
            continue;
        }
        let (_, status) = (next(), next());
        if status == b"" && country == b"*" {
            file.told = file.told.saturating_add(number(count).unwrap_or(0));
            continue;
        }
        file.found += 1;
        // An available or reserved network belongs to no country, even if the country field has a code.
        let is_given = status == b"allocated" || status == b"assigned";
        let Some(country) = Country::of_bytes(country).filter(|_| is_given) else { continue };
        if is_wanted(country) {
            take(kind, first, count, spans);
        }
        if spans.join_if_full() {
            break;
        }
    }
    Ok(file)
}

impl Delegated {
    /// The last day that the file covers, in seconds since 1970.
    pub fn built(&self) -> Option<u64> {
        let day = self.day?;
        date::midnight(day / 10_000, day / 100 % 100, day % 100)
    }

    /// If the file has far fewer lines than it announces: the lines found and the lines announced.
    #[must_use]
    pub fn is_truncated(&self) -> Option<(u64, u64)> {
        let has_enough = self.found.saturating_mul(100) >= self.told.saturating_mul(ENOUGH);
        (!has_enough).then_some((self.found, self.told))
    }
}

/// `2|apnic|20261120|76543|19830613|20261120|+1000`: version, registry, serial, lines, first and last day,
/// zone.
fn header(line: &[u8]) -> Option<Delegated> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b'|').collect();
    let [version, registry, serial, _, _, last, ..] = fields[..] else { return None };
    let is_version = version == b"2" || version.starts_with(b"2.") && version.len() <= 4;
    let is_name = !registry.is_empty() && registry.len() <= 16 && registry.iter().all(u8::is_ascii_lowercase);
    let day = |field: &[u8]| number(field).filter(|day| (19_800_000..=99_991_231).contains(day));
    let day = day(last).or_else(|| day(serial)).and_then(|day| u32::try_from(day).ok());
    let registry = String::from_utf8_lossy(registry).into_owned();
    (is_version && is_name).then_some(Delegated { registry, day, ..Delegated::default() })
}

/// Adds a range of IPv4 addresses, whose count need not be a power of two, or an IPv6 prefix of this length.
/// Invalid lines are skipped.
fn take(kind: &[u8], first: &[u8], count: &[u8], spans: &mut Spans) {
    let (Ok(first), Some(count)) = (str::from_utf8(first), number(count)) else { return };
    if kind == b"ipv4" {
        let Ok(first) = first.parse::<Ipv4Addr>().map(Ipv4Addr::to_bits) else { return };
        let last = u32::try_from(count).ok().and_then(|count| first.checked_add(count.checked_sub(1)?));
        last.into_iter().for_each(|last| spans.push4(first, last));
    } else {
        let Ok(first) = first.parse::<Ipv6Addr>().map(Ipv6Addr::to_bits) else { return };
        let prefix = u8::try_from(count).ok().and_then(|length| Prefix::new(first, length).ok());
        prefix.into_iter().for_each(|prefix| spans.push6(prefix));
    }
}

fn number(field: &[u8]) -> Option<u64> {
    let is_number = !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    str::from_utf8(field).ok().filter(|_| is_number)?.parse().ok()
}

#[cfg(test)]
mod tests;
