//! Decides when a feed is fetched. After a success it waits for the feed's interval, slightly varied so that
//! not all hosts ask at once. After a failure it retries soon, then less and less often, or when the server
//! says. Pure functions: callers pass the time and the chance.

use std::time::Duration;

use crate::source::feeds::FeedNote;

/// The delay after the first failure.
const SOON: Duration = Duration::from_secs(15);

/// A server cannot ask for a longer delay.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// A start waits at most this long because of an earlier failure, unless the server asked for more. A restart
/// after a fix retries soon, and repeated restarts do not ask more often.
const LONGEST_OVER_A_START: Duration = Duration::from_secs(5 * 60);

/// A random number out of the full range.
#[derive(Clone, Copy, Debug)]
pub struct RandomNumber(pub u16);

impl RandomNumber {
    /// A number from the kernel, or the middle of the range if there is none.
    pub fn new() -> Self {
        let mut bytes = [0x00, 0x80];
        _ = getrandom::fill(&mut bytes);
        Self(u16::from_le_bytes(bytes))
    }

    /// This time, varied by up to a tenth.
    fn around(self, time: Duration) -> Duration {
        time.mul_f64(0.9 + 0.2 * f64::from(self.0) / f64::from(u16::MAX))
    }
}

/// The delay after a successful fetch.
pub fn after_success(refresh: Duration, chance: RandomNumber) -> Duration {
    chance.around(refresh)
}

/// The delay after this many failures in a row; `asked` is the delay that the server wants.
pub fn after_failure(
    times: u32,
    refresh: Duration,
    asked: Option<Duration>,
    chance: RandomNumber,
) -> Duration {
    let doubled = SOON.saturating_mul(1 << times.saturating_sub(1).min(20)).min(refresh);
    chance.around(doubled).max(asked.unwrap_or_default().min(LONGEST))
}

/// The part of the delay that a restart must respect, too.
pub fn over_a_start(wait: Duration, asked: Option<Duration>) -> Duration {
    wait.min(LONGEST_OVER_A_START).max(asked.unwrap_or_default().min(LONGEST))
}

/// The delay after a start. It is zero if a fetch is due, if nothing was ever fetched, or if the clock was
/// changed.
///
/// `now` and `not_before` are wall-clock times. A `not_before` was stored by a failure after the last
/// success, so it counts instead of the time of that success.
pub fn after_start(
    note: Option<&FeedNote>,
    not_before: Option<u64>,
    now: u64,
    refresh: Duration,
    chance: RandomNumber,
) -> Duration {
    if let Some(then) = not_before {
        let asked = Duration::from_secs(then.saturating_sub(now));
        return if asked <= LONGEST { asked } else { Duration::ZERO };
    }
    let age = note.and_then(|note| now.checked_sub(note.checked)).map(Duration::from_secs);
    age.map_or(Duration::ZERO, |age| after_success(refresh, chance).saturating_sub(age))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const EXACTLY: RandomNumber = RandomNumber(u16::MAX / 2 + 1);

    fn seconds(time: Duration) -> u64 {
        time.as_secs_f64().round() as u64
    }

    #[test]
    fn downloads_are_spread_randomly() {
        let times = [RandomNumber(0), EXACTLY, RandomNumber(u16::MAX)]
            .map(|chance| seconds(after_success(HOUR, chance)));
        assert_eq!(times, [3240, 3600, 3960]);
    }

    #[test]
    fn failures_are_retried_with_growing_pauses() {
        let after = |times| seconds(after_failure(times, HOUR, None, EXACTLY));
        assert_eq!([1, 2, 3, 8, 9, 99].map(after), [15, 30, 60, 1920, 3600, 3600]);
    }

    #[test]
    fn retry_after_is_respected_within_limits() {
        let after = |asked: u64| seconds(after_failure(1, HOUR, Some(Duration::from_secs(asked)), EXACTLY));
        assert_eq!([1, 7200, 31_536_000].map(after), [15, 7200, 86_400]);
    }

    #[test]
    fn start_continues_the_earlier_schedule() {
        let now = 1_000_000;
        let after = |checked: Option<u64>, not_before| {
            let note = checked.map(|checked| FeedNote { checked, ..FeedNote::default() });
            seconds(after_start(note.as_ref(), not_before, now, HOUR, EXACTLY))
        };
        assert_eq!(after(None, None), 0, "it was never fetched");
        assert_eq!(after(None, Some(now + 60)), 60, "nor is it to be yet");
        assert_eq!(after(Some(now - 600), None), 3000);
        assert_eq!(after(Some(now - 7200), None), 0);
        assert_eq!(after(Some(now + 600), None), 0, "the clock was set back");
        assert_eq!(after(Some(now - 7200), Some(now + 60)), 60, "its server wants to be left alone");
        assert_eq!(after(Some(now - 7200), Some(now - 60)), 0);
        assert_eq!(after(Some(now - 7200), Some(now + 999_999)), 0, "the clock was set");
        assert_eq!(after(Some(now - 600), Some(now + 12)), 12, "it has failed since");
        assert_eq!(after(Some(now - 600), Some(now - 1)), 0);
    }

    #[test]
    fn start_waits_for_failed_download_within_limits() {
        let over = |wait, asked: Option<u64>| {
            seconds(over_a_start(Duration::from_secs(wait), asked.map(Duration::from_secs)))
        };
        assert_eq!([over(15, None), over(7200, None), over(7200, Some(7200))], [15, 300, 7200]);
        assert_eq!(over(86_400, Some(u64::MAX)), 86_400);
    }
}
