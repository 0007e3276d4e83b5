//! Remarks for operators about the database that a list was selected from.

use crate::text::date;

/// The age at which a database is reported as old. Networks change hands: database publishers release every
/// week, and registries every day.
const OLD: u64 = 90 * DAY;
const DAY: u64 = 24 * 60 * 60;

/// Empty for most lists, which have no database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// When the database was made, in seconds since 1970, if known.
    pub built: Option<u64>,
    /// The selected codes or numbers that are not in the database.
    pub absent: Option<String>,
}

impl Remarks {
    /// The remarks as whole sentences, at the time `now` in seconds since 1970.
    #[must_use]
    pub fn told(&self, list: &str, now: u64) -> Vec<String> {
        let absent = self.absent.as_ref().map(|absent| format!("list \"{list}\": {absent}"));
        absent.into_iter().chain(self.age(list, now)).collect()
    }

    fn age(&self, list: &str, now: u64) -> Option<String> {
        let built = self.built.filter(|built| now.saturating_sub(*built) > OLD)?;
        let (days, day) = ((now - built) / DAY, date::day(built));
        Some(format!("list \"{list}\": its database was made on {day}, {days} days ago: get a newer one"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_database_is_reported_with_age() {
        let remarks = Remarks { built: Some(1_795_296_480), absent: Some("nothing is there".into()) };
        assert_eq!(remarks.told("far", 1_795_296_480 + OLD), ["list \"far\": nothing is there"]);
        let told = remarks.told("far", 1_795_296_481 + OLD);
        assert_eq!(
            told[1],
            "list \"far\": its database was made on 2026-11-21, 90 days ago: get a newer one"
        );
        assert!(Remarks { absent: None, ..remarks }.told("far", 0).is_empty(), "a clock that is behind");
        assert!(Remarks::default().told("far", u64::MAX).is_empty());
    }
}
