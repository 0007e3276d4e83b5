//! Formats points in time for users: how long ago, how soon, and the time of day.

use std::cell::OnceCell;
use std::time::Duration;
use std::{env, fs};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::clock;
use crate::control::wire::Entry;

/// The current time in the local time zone.
pub struct Clock {
    now: u64,
    /// The second that begins next. Ends are full seconds, so the remaining time is counted from there. An
    /// entry just added for 10 s therefore shows 10 s.
    next: u64,
    /// Looked up when it is first needed.
    zone: OnceCell<TimeZone>,
}

/// Seconds within which a moment is shown with seconds.
const NEAR: u64 = 600;

/// Units of time with their seconds, longest first.
const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")];

/// The beginning of the phrase that says since when a target is blocked.
pub const SINCE: &str = "since ";
/// The same phrase of an older filterd, for lists that are read again at every start.
pub const READ: &str = "read ";
/// The phrase for an entry that does not expire.
pub const PERMANENT: &str = "permanent";
/// The beginning of the phrase for an entry that expires.
pub const EXPIRES: &str = "expires ";

impl Clock {
    /// The system's clock and time zone.
    pub fn system() -> Self {
        let [now, next] = [clock::now(), clock::after(Duration::ZERO)].map(|moment| moment.secs());
        Self { now, next, zone: OnceCell::new() }
    }

    /// The time zone of this machine.
    pub fn zone(&self) -> &TimeZone {
        self.zone.get_or_init(local_zone)
    }

    /// Formats `since 2 h ago`, or `since 2 h ago or before`.
    pub fn of(&self, entry: &Entry) -> String {
        let since = self.since(entry.since);
        if entry.or_before { format!("{since} or before") } else { since }
    }

    /// Formats `since 2 h ago`.
    pub fn since(&self, then: u64) -> String {
        format!("{SINCE}{}", self.ago(then))
    }

    /// Formats `2 h ago`.
    pub fn ago(&self, then: u64) -> String {
        match self.now.saturating_sub(then) {
            0 => "just now".to_owned(),
            seconds => format!("{} ago", length(seconds)),
        }
    }

    /// Formats `expires 21:40 (in 12 min)` or `permanent`.
    pub fn until(&self, then: Option<u64>) -> String {
        match then {
            None => PERMANENT.to_owned(),
            Some(then) => format!("{EXPIRES}{}", self.at(then)),
        }
    }

    /// Formats `21:40 (in 12 min)`.
    pub fn at(&self, then: u64) -> String {
        match then.saturating_sub(self.next) {
            0 => "now".to_owned(),
            left => format!("{} (in {})", self.on_the_wall(then), length(left)),
        }
    }

    /// Returns whether this is long enough ago to be mentioned.
    pub fn is_long_ago(&self, then: u64) -> bool {
        self.now.saturating_sub(then) >= NEAR
    }

    /// How much time has passed since then.
    pub fn elapsed(&self, then: u64) -> String {
        length(self.now.saturating_sub(then))
    }

    /// The time of day, with the date unless it is today.
    pub fn on_the_wall(&self, then: u64) -> String {
        let local = |seconds: u64| {
            let time = Timestamp::from_second(seconds.try_into().ok()?).ok()?;
            Some(time.to_zoned(self.zone().clone()))
        };
        let (Some(now), Some(then)) = (local(self.now), local(then)) else {
            return "the end of time".to_owned();
        };
        let near = then.timestamp().as_second() - now.timestamp().as_second() < NEAR as i64;
        let seconds = if near && then.second() != 0 { ":%S" } else { "" };
        let date = if then.date() == now.date() { "" } else { "%Y-%m-%d " };
        then.strftime(&format!("{date}%H:%M{seconds}")).to_string()
    }
}

/// Returns the system's time zone. The library walks the whole zone database to find the zone's name, which
/// is not needed here and takes as long as the rest of a command. The zone file is therefore read first.
fn local_zone() -> TimeZone {
    let file = if env::var_os("TZ").is_none() { fs::read("/etc/localtime").ok() } else { None };
    file.and_then(|data| TimeZone::tzif("local", &data).ok()).unwrap_or_else(TimeZone::system)
}

/// Formats a duration like `12 s`, `1 h 50 min` or `12 d`: the longest unit, and the next one unless it is
/// zero.
pub fn length(seconds: u64) -> String {
    let Some(first) = UNITS.iter().position(|(unit, _)| seconds >= *unit) else { return "0 s".to_owned() };
    let (unit, name) = UNITS[first];
    let whole = seconds / unit;
    let rest = UNITS.get(first + 1).map(|(next, name)| (seconds % unit / next, name));
    match rest {
        Some((rest, next)) if whole < 10 && rest > 0 => format!("{whole} {name} {rest} {next}"),
        _ => format!("{whole} {name}"),
    }
}

#[cfg(test)]
impl Clock {
    /// A clock that always shows the same time.
    pub fn standing(now: u64) -> Self {
        Self { now, next: now, zone: TimeZone::UTC.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::quantity;

    /// NOW is 2026-11-21 21:28:00 UTC.
    const NOW: u64 = 1_795_296_480;

    #[test]
    fn lengths_have_one_unit_or_two() {
        let lengths = [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (119, "1 min 59 s"),
            (720, "12 min"),
            (725, "12 min"),
            (7200, "2 h"),
            (6600, "1 h 50 min"),
            (3 * 86_400 + 4 * 3600 + 5, "3 d 4 h"),
            (40 * 86_400, "40 d"),
        ];
        for (seconds, text) in lengths {
            assert_eq!(length(seconds), text);
            // A duration written here is understood as an argument, to the unit.
            let back = quantity::duration(text).unwrap().as_secs();
            assert!(back <= seconds && length(back) == text, "{text}");
        }
    }

    #[test]
    fn times_are_relative_and_on_the_wall() {
        let clock = Clock::standing(NOW);
        assert_eq!(clock.ago(NOW - 7200), "2 h ago");
        assert_eq!(clock.ago(NOW), "just now");
        assert_eq!(clock.until(Some(NOW + 720)), "expires 21:40 (in 12 min)");
        assert_eq!(clock.until(Some(NOW + 90)), "expires 21:29:30 (in 1 min 30 s)");
        assert_eq!(clock.until(Some(NOW + 730)), "expires 21:40 (in 12 min)");
        assert_eq!(clock.until(Some(NOW + 2 * 86_400)), "expires 2026-11-23 21:28 (in 2 d)");
        assert_eq!(clock.until(None), "permanent");
    }

    #[test]
    fn remaining_time_is_shown_as_requested() {
        // Begun within a second, and ended by the first full second after it.
        let clock = Clock { next: NOW + 1, ..Clock::standing(NOW) };
        assert_eq!(clock.until(Some(NOW + 11)), "expires 21:28:11 (in 10 s)");
        assert_eq!(clock.at(NOW + 61), "21:29:01 (in 1 min)");
        assert_eq!(clock.until(Some(NOW + 1)), "expires now");
        assert_eq!(clock.ago(NOW), "just now");
    }

    #[test]
    fn clocks_that_disagree_and_absurd_times_break_nothing() {
        let clock = Clock::standing(NOW);
        assert_eq!(clock.ago(NOW + 5), "just now");
        assert_eq!(clock.until(Some(NOW - 5)), "expires now");
        assert!(clock.until(Some(u64::MAX)).starts_with("expires the end of time"));
    }
}
