//! A moment as a date, in the one zone that a log, a status and a person elsewhere have in common.

/// `2026-11-21 21:28:00 UTC`, of seconds since 1970.
#[must_use]
pub fn utc(seconds: u64) -> String {
    let moment = i64::try_from(seconds).ok().and_then(|second| jiff::Timestamp::from_second(second).ok());
    let told = |moment: jiff::Timestamp| moment.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    moment.map_or_else(|| "the end of time".to_owned(), told)
}

/// `2026-11-21`, of seconds since 1970.
#[must_use]
pub fn day(seconds: u64) -> String {
    utc(seconds).split_once(' ').map_or_else(|| utc(seconds), |(day, _)| day.to_owned())
}

/// When that day began, in seconds since 1970; none where there is no such day.
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
