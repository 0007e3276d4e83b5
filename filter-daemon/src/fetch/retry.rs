//! When a server wants to be asked again. It gives a number of seconds, or a time of its own clock. With a
//! time, it also sends its current time, so this host's clock is not needed.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// The waiting time from the headers `Retry-After` and `Date`.
pub fn after(retry_after: &str, date: Option<&str>) -> Option<Duration> {
    if let Ok(seconds) = retry_after.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let then = time(retry_after)?;
    // A time in the past means now.
    Some(Duration::try_from(then.duration_since(time(date?)?)).unwrap_or_default())
}

/// The date format that all servers use today.
fn time(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_times_are_both_understood() {
        let date = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        let cases = [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Sun, 06 Nov 1994 08:51:37 GMT", Some(120)),
            ("Sun, 06 Nov 1994 08:40:37 GMT", Some(0)),
            ("-1", None),
            ("soon", None),
            ("", None),
        ];
        for (said, seconds) in cases {
            assert_eq!(after(said, date), seconds.map(Duration::from_secs), "{said}");
        }
        assert_eq!(after("Sun, 06 Nov 1994 08:51:37 GMT", None), None, "nobody says what time it is there");
    }
}
