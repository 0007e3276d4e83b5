//! The clock, as far as deadlines depend on it. They are absolute, so a clock that is set moves all of them; that is told.

use std::time::{Duration, Instant};

use tracing::{info, warn};

use crate::clock;
use crate::control::wire::{About, Fault};
use crate::text::Explanation;

/// Less than this is no matter to anybody: leap seconds are not told.
const NOTEWORTHY: Duration = Duration::from_secs(2);

/// For so long a status tells it.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// By how much the clock was set since the daemon began, or since everybody knew.
pub struct Time {
    /// What the clock was ahead of the time since boot, in milliseconds. Only setting it changes that: where a clock is
    /// made to run faster or slower, both do.
    offset: i64,
    moved: Option<Moved>,
}

struct Moved {
    milliseconds: i64,
    at: Instant,
}

impl Time {
    /// As it is now.
    pub fn begin() -> Self {
        Self { offset: clock::offset(), moved: None }
    }

    /// Was it set since?
    pub fn look(&mut self) {
        self.compare(clock::offset());
    }

    /// The operator has looked at everything.
    pub fn accept(&mut self) {
        *self = Self::begin();
    }

    /// That it was set, while entries have deadlines.
    pub fn faults(&self, has_deadlines: bool) -> impl Iterator<Item = Fault> {
        let moved = self.moved.as_ref().filter(|_| has_deadlines);
        moved.map(|Moved { milliseconds, at }| {
            let remedy = "add again with --ttl what must last as long as was meant; `filterd reload` ends this notice, \
                          and so does an hour";
            let told = Explanation::new(words(*milliseconds), remedy);
            Fault { about: About::Time, since: clock::then(*at).secs(), told }
        })
        .into_iter()
    }

    fn compare(&mut self, offset: i64) {
        let milliseconds = offset - self.offset;
        let is_noteworthy = u128::from(milliseconds.unsigned_abs()) >= NOTEWORTHY.as_millis();
        match &self.moved {
            Some(moved) if moved.at.elapsed() >= HOUR => *self = Self { offset, moved: None },
            Some(moved) if (moved.milliseconds - milliseconds).unsigned_abs() < 1000 => {}
            Some(_) if !is_noteworthy => {
                info!("the clock was set back to what it was: entries end when they were to end");
                self.moved = None;
            }
            _ if is_noteworthy => {
                warn!("{}", words(milliseconds));
                self.moved = Some(Moved { milliseconds, at: clock::instant() });
            }
            _ => {}
        }
    }
}

fn words(milliseconds: i64) -> String {
    let seconds = milliseconds.unsigned_abs() / 1000;
    let (direction, when) = if milliseconds > 0 { ("forward", "earlier") } else { ("back", "later") };
    format!(
        "the clock was set {direction} by {seconds} s: entries that expire do so {seconds} s {when} than was meant"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(offsets: &[i64]) -> Option<String> {
        let mut time = Time { offset: 1_000_000, moved: None };
        offsets.iter().for_each(|offset| time.compare(1_000_000 + offset));
        time.faults(true).next().map(|fault| fault.told.message)
    }

    #[test]
    fn a_clock_that_is_set_is_told_until_it_is_set_back() {
        assert_eq!(told(&[0, 5, -900]), None);
        let forward =
            "the clock was set forward by 3600 s: entries that expire do so 3600 s earlier than was meant";
        assert_eq!(told(&[3_600_000]).as_deref(), Some(forward));
        assert_eq!(told(&[3_600_000, 3_600_010]).as_deref(), Some(forward), "it is told once");
        let back = "the clock was set back by 7200 s: entries that expire do so 7200 s later than was meant";
        assert_eq!(told(&[3_600_000, -7_200_000]).as_deref(), Some(back));
        assert_eq!(told(&[3_600_000, 100]), None);
    }

    #[test]
    fn without_deadlines_no_clock_does_harm() {
        let mut time = Time { offset: 0, moved: None };
        time.compare(60_000);
        assert_eq!(time.faults(false).count(), 0);
        time.accept();
        assert_eq!(time.faults(true).count(), 0);
    }
}
