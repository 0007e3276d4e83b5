//! A moment as a date, in the one zone that a log, a status and a person elsewhere have in common.

/// `2026-11-21 21:28:00 UTC`, of seconds since 1970.
#[must_use]
pub fn utc(seconds: u64) -> String {
    let moment = i64::try_from(seconds).ok().and_then(|second| jiff::Timestamp::from_second(second).ok());
    let told = |moment: jiff::Timestamp| moment.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    moment.map_or_else(|| "the end of time".to_owned(), told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_the_same_everywhere() {
        assert_eq!(utc(1_795_296_480), "2026-11-21 21:28:00 UTC");
        assert_eq!(utc(u64::MAX), "the end of time");
    }
}
