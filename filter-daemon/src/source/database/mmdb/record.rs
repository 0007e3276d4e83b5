//! Reads the record of a network, in the layouts of several database publishers.

use super::value::{DataSection, DatabaseDamage};
use crate::source::chosen::{Autonomous, Country};

/// The facts about a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkRecord {
    /// The country of its location, or else of its registration.
    pub country: Option<Country>,
    /// The autonomous system that announces it.
    pub autonomous: Option<Autonomous>,
}

/// The places of the country code: first those of `MaxMind` and DB-IP, then those of `IPinfo` and others.
const COUNTRY: [&[&str]; 4] =
    [&["country", "iso_code"], &["country_code"], &["country"], &["registered_country", "iso_code"]];

/// The places of the number: first those of `MaxMind` and DB-IP, then those of `IPinfo`.
const AUTONOMOUS: [&[&str]; 3] =
    [&["autonomous_system_number"], &["asn"], &["traits", "autonomous_system_number"]];

impl NetworkRecord {
    /// Reads the record that begins at this offset.
    pub fn read(values: &mut DataSection<'_>, at: usize) -> Result<Self, DatabaseDamage> {
        let mut record = Self::default();
        for path in COUNTRY {
            let Some(at) = find(values, at, path)? else { continue };
            record.country =
                record.country.or(values.text(at)?.and_then(|code| Country::of_bytes(code.as_bytes())));
        }
        for path in AUTONOMOUS {
            let Some(at) = find(values, at, path)? else { continue };
            let number = match values.text(at)? {
                Some(word) => word.parse().ok(),
                None => values.number(at)?.and_then(Autonomous::new),
            };
            record.autonomous = record.autonomous.or(number);
        }
        Ok(record)
    }
}

fn find(values: &mut DataSection<'_>, mut at: usize, path: &[&str]) -> Result<Option<usize>, DatabaseDamage> {
    for name in path {
        let Some(found) = values.field(at, name)? else { return Ok(None) };
        at = found;
    }
    Ok(Some(at))
}
