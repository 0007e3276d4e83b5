//! Formats a moment as a date in UTC, which logs, the status and users in other places have in common.

/// Formats seconds since 1970 as `2026-11-21 21:28:00 UTC`.
#[must_use]
pub fn utc(seconds: u64) -> String {
    let moment = i64::try_from(seconds).ok().and_then(|second| jiff::Timestamp::from_second(second).ok());
    let told = |moment: jiff::Timestamp| moment.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    moment.map_or_else(|| "the end of time".to_owned(), told)
}

/// Formats seconds since 1970 as `2026-11-21`.
#[must_use]
pub fn day(seconds: u64) -> String {
    utc(seconds).split_once(' ').map_or_else(|| utc(seconds), |(day, _)| day.to_owned())
}

/// The start of that day in seconds since 1970, or none if there is no such day.
#[must_use]
pub fn midnight(year: u32, month: u32, day: u32) -> Option<u64> {
    let (year, month, day) = (i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    let date = jiff::civil::Date::new(year, month, day).ok()?;
    let moment = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    u64::try_from(moment.as_second()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_the_same_everywhere() {
        assert_eq!(utc(1_795_296_480), "2026-11-21 21:28:00 UTC");
        assert_eq!(utc(u64::MAX), "the end of time");
    }

    #[test]
    fn a_day_begins_at_midnight() {
        assert_eq!(midnight(2026, 11, 21).map(utc).as_deref(), Some("2026-11-21 00:00:00 UTC"));
        assert_eq!(day(1_795_296_480), "2026-11-21");
        assert_eq!([midnight(2026, 2, 29), midnight(2026, 13, 1), midnight(1969, 1, 1)], [None; 3]);
    }
}
