//! Watches the system clock. Deadlines follow the time since boot while filterd runs, so that setting the
//! clock does not move them; only displayed times change. Across a reboot, the system clock is the only
//! source.

use tracing::info;

use super::notices::notice;
use crate::blocklist::Timestamp;
use crate::clock;
use crate::command::render::moment::length;
use crate::control::wire::{About, Fault};

/// Smaller differences in milliseconds, such as leap seconds, are not reported.
const NOTEWORTHY: i64 = 2000;

/// The state of the system clock.
pub struct Time {
    /// How far the system clock was ahead of the time since boot at the last check, in milliseconds.
    offset: i64,
    /// How many seconds the clock was before the journal's last record at the start, and since when.
    behind: Option<(u64, Timestamp)>,
}

impl Time {
    /// Begins with the present offset, and with the seconds that the clock is `behind` the journal.
    pub fn begin(behind: Option<u64>) -> Self {
        Self { offset: clock::offset(), behind: behind.map(|behind| (behind, clock::now())) }
    }

    /// Returns whether the clock was set since the last call. The journal then records the new time, because
    /// after a reboot nothing else dates its records.
    pub fn look(&mut self) -> bool {
        self.compare(clock::offset())
    }

    pub fn acknowledge(&mut self) {
        self.behind = None;
    }

    /// The fault that the duration of the power-off is unknown. It counts only while entries have deadlines.
    pub fn fault(&self, has_deadlines: bool) -> Option<Fault> {
        let (behind, since) = self.behind.filter(|_| has_deadlines)?;
        let remedy = "set the clock (does it keep time while the machine is off?)\nto see what expires when: filterd list --expiring 1w\nto end an entry sooner: filterd add ADDRESS --ttl TIME --shorten";
        Some(notice(About::Time, since, &words(behind), remedy))
    }

    fn compare(&mut self, offset: i64) -> bool {
        let by = offset - self.offset;
        if by.abs() < NOTEWORTHY {
            return false;
        }
        self.offset = offset;
        let direction = if by > 0 { "forward" } else { "back" };
        let by = length(by.unsigned_abs() / 1000);
        info!("the clock was set {direction} by {by}; expiry of entries does not change");
        true
    }
}

/// The message, which is also logged.
pub fn words(behind: u64) -> String {
    let by = length(behind);
    format!(
        "after a reboot the clock was {by} before the journal's last record: entries expire as if the machine had been off for no time"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_change_is_reported_once() {
        let mut time = Time { offset: 1_000_000, behind: None };
        let told = [0, 5, -900, 3_600_000, 3_600_010, -7_200_000, -7_200_001, 100]
            .map(|offset| time.compare(1_000_000 + offset));
        assert_eq!(told, [false, false, false, true, false, true, false, true]);
    }

    #[test]
    fn clock_warning_lasts_until_acknowledged() {
        let mut time = Time::begin(Some(3600));
        assert!(time.fault(false).is_none());
        let told = time.fault(true).unwrap().told.message;
        assert!(told.contains("1 h before the journal's last record"), "{told}");
        time.acknowledge();
        assert!(time.fault(true).is_none());
    }
}
