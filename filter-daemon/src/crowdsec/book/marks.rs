//! When decisions were first absent from a full answer.

use std::collections::BTreeMap;

use crate::blocklist::Timestamp;

/// The seconds after which a second full answer confirms an absence.
const CONFIRMED_AFTER: i64 = 60;

/// The times at which decisions were first absent, each with the number of those decisions.
#[derive(Debug, Default)]
pub struct AbsenceMarks {
    counts: BTreeMap<Timestamp, u64>,
    /// The last full answer.
    last_full: Option<Timestamp>,
}

impl AbsenceMarks {
    /// Counts a decision that is absent since then.
    pub fn add(&mut self, since: Timestamp) {
        *self.counts.entry(since).or_default() += 1;
    }

    /// Counts one decision less.
    pub fn remove(&mut self, since: Timestamp) {
        if let Some(count) = self.counts.get_mut(&since) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&since);
            }
        }
    }

    /// Notes the time of a full answer.
    pub fn set_last_full(&mut self, now: Timestamp) {
        self.last_full = Some(now);
    }

    /// When a full answer would first confirm an absence that the last one could not.
    pub fn next_confirmation(&self) -> Option<Timestamp> {
        let mut ends = self.counts.keys().map(|since| since.later_by(CONFIRMED_AFTER));
        ends.find(|end| self.last_full.is_none_or(|last| *end > last))
    }
}

/// Whether a decision that is absent since then may go.
pub fn is_confirmed(since: Timestamp, now: Timestamp) -> bool {
    now.after(since) >= CONFIRMED_AFTER
}
