//! Handles sleep of the machine. Some drivers lose the filter during sleep while the kernel still reports it.
//! All interfaces are therefore attached again after a sleep.

use std::time::Duration;

use tracing::error;

use crate::blocklist::Timestamp;
use crate::clock;
use crate::control::wire::{About, Fault};
use crate::text::Explanation;

/// The shortest gap that counts as sleep. The two clocks are not read at the same instant, and a real sleep
/// takes longer.
const DOZE: Duration = Duration::from_millis(500);

/// The sleep that was handled.
#[derive(Default)]
pub struct Sleep {
    /// How long the machine had slept in total at that time.
    seen_to: Duration,
    /// Why the filter could not be attached again, and since when.
    failed: Option<(Timestamp, Explanation)>,
}

impl Sleep {
    /// A sleep before the filter was attached does not matter.
    pub fn begin() -> Self {
        Self { seen_to: clock::asleep(), failed: None }
    }

    /// The total time of sleep, if the machine has slept since the last handled one.
    pub fn slept(&self) -> Option<Duration> {
        self.slept_by(clock::asleep())
    }

    fn slept_by(&self, asleep: Duration) -> Option<Duration> {
        (asleep >= self.seen_to + DOZE).then_some(asleep)
    }

    /// Records that this total of sleep is handled.
    pub fn note_handled(&mut self, asleep: Duration) {
        *self = Self { seen_to: asleep, failed: None };
    }

    /// Records a failure; the next check tries again.
    pub fn note_failure(&mut self, why: Explanation, now: Timestamp) {
        if self.failed.as_ref().is_none_or(|(_, before)| *before != why) {
            error!("after the machine was asleep: {why}");
        }
        let since = self.failed.as_ref().map_or(now, |(since, _)| *since);
        self.failed = Some((since, why));
    }

    /// The fault that a driver may let everything pass.
    pub fn fault(&self) -> Option<Fault> {
        let (since, why) = self.failed.as_ref()?;
        let message = format!(
            "the machine was asleep and its drivers may have lost the filter, which cannot be attached again: {}",
            why.message
        );
        let first = why.remedy.as_ref().map_or_else(String::new, |remedy| format!("{remedy}; "));
        let remedy = format!("{first}filterd retries every few seconds");
        Some(Fault {
            about: About::Protection,
            since: clock::on_the_wall(*since),
            told: Explanation::new(message, remedy),
            id: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_is_seen_to_once() {
        let mut sleep = Sleep { seen_to: Duration::from_secs(10), failed: None };
        assert_eq!(sleep.slept_by(Duration::from_millis(10_200)), None, "that was none");
        let slept = sleep.slept_by(Duration::from_secs(40)).expect("it was half a minute");
        sleep.note_handled(slept);
        assert_eq!(sleep.slept_by(slept), None);
    }

    #[test]
    fn missing_filter_after_sleep_is_reported_until_fixed() {
        let mut sleep = Sleep::default();
        assert!(sleep.fault().is_none());
        for at in [7, 12] {
            sleep.note_failure("there is no memory".into(), Timestamp::from_secs(at));
        }
        let fault = sleep.fault().expect("it is told");
        assert_eq!(fault.about, About::Protection);
        assert_eq!(fault.since, clock::on_the_wall(Timestamp::from_secs(7)));
        assert!(fault.told.message.ends_with("which cannot be attached again: there is no memory"));
        sleep.note_handled(Duration::from_secs(1));
        assert!(sleep.fault().is_none());
    }
}
