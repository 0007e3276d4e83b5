//! The clock on the wall, as far as anybody must be told of it. Deadlines follow the time since boot while filterd runs, so
//! that a clock that is set moves none of them; only what people are shown does. Between two boots nothing else is known.

use tracing::info;

use super::notices::notice;
use crate::blocklist::Timestamp;
use crate::clock;
use crate::command::render::moment::length;
use crate::control::wire::{About, Fault};

/// Less than this is no matter to anybody: leap seconds are not told.
const NOTEWORTHY: i64 = 2000;

/// What is known of the clock.
pub struct Time {
    /// What it was ahead of the time since boot when it was last looked at, in milliseconds.
    offset: i64,
    /// When the journal was read, the clock lay before its last record: by so many seconds, and since when that is so.
    behind: Option<(u64, Timestamp)>,
}

impl Time {
    /// As it is now, `behind` the journal's last record by so many seconds.
    pub fn begin(behind: Option<u64>) -> Self {
        Self { offset: clock::offset(), behind: behind.map(|behind| (behind, clock::now())) }
    }

    /// Was it set since? The journal is to know it: in another boot nothing else tells when its records were.
    pub fn look(&mut self) -> bool {
        self.compare(clock::offset())
    }

    /// Somebody has looked at it.
    pub fn acknowledge(&mut self) {
        self.behind = None;
    }

    /// That nobody knows how long the machine was off, while entries have deadlines.
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

/// Also for the log.
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
    fn a_clock_that_is_set_is_told_once() {
        let mut time = Time { offset: 1_000_000, behind: None };
        let told = [0, 5, -900, 3_600_000, 3_600_010, -7_200_000, -7_200_001, 100]
            .map(|offset| time.compare(1_000_000 + offset));
        assert_eq!(told, [false, false, false, true, false, true, false, true]);
    }

    #[test]
    fn a_clock_that_was_behind_is_told_until_the_operator_has_looked_and_only_while_something_expires() {
        let mut time = Time::begin(Some(3600));
        assert!(time.fault(false).is_none());
        let told = time.fault(true).unwrap().told.message;
        assert!(told.contains("1 h before the journal's last record"), "{told}");
        time.acknowledge();
        assert!(time.fault(true).is_none());
    }
}
