//! Converts the times of records to those of this process.
//!
//! Each row records the boot in which it was written, and how far the time of its writer was ahead of the
//! time since boot. `clock::moment` explains how such times are shifted. The shifts of consecutive writers
//! are added up.
//!
//! A filterd in another time than the last row must therefore write a row, even if nothing changes. Its
//! successor learns from that row alone how much time has passed.
//!
//! Rows of older versions record none of this, and are in wall time.

use crate::blocklist::{Record, Timestamp};
use crate::clock::{Moment, Shift};

/// The times of the changes of a journal, in their order.
#[derive(Debug, Default)]
pub struct WriterTimes {
    runs: Vec<WriterRun>,
}

/// Consecutive changes in the time of one process.
#[derive(Debug)]
struct WriterRun {
    /// When the last of them was written.
    last: Option<Moment>,
    changes: usize,
}

impl WriterTimes {
    /// Adds a number of changes that were written at this moment.
    pub fn add(&mut self, moment: Option<Moment>, changes: usize) {
        match self.runs.last_mut() {
            Some(run) if is_same_time(run.last.as_ref(), moment.as_ref()) => {
                run.last = moment;
                run.changes += changes;
            }
            _ => self.runs.push(WriterRun { last: moment, changes }),
        }
    }

    /// True if `here` is in another time than the last row, because of another boot or because the clock
    /// was set since.
    pub fn end_in_another_time(&self, here: &Moment) -> bool {
        let is_here = |last: Moment| last.says_the_same_as(here);
        self.runs.last().is_some_and(|run| !run.last.is_some_and(is_here))
    }

    /// Converts `changes`, which must be all that were added, to the time of `here`. Returns how many
    /// seconds the clock is behind the last record, if it is unknown how much time has passed since.
    pub fn translate(&self, changes: &mut [Record], here: &Moment) -> Option<u64> {
        let mut behind = None;
        let mut shifts = Vec::with_capacity(self.runs.len());
        let (mut shift, mut next) = (0, Some(here));
        for run in self.runs.iter().rev() {
            // Rows without a moment are in wall time, and older versions read everything as wall time.
            let by = run.last.zip(next).map_or_else(Shift::default, |(last, next)| last.shift_to(next));
            if shifts.is_empty() {
                behind = by.behind;
            }
            shift += by.seconds;
            shifts.push((run.changes, shift));
            next = run.last.as_ref();
        }
        let mut rest = changes;
        for (changes, by) in shifts.into_iter().rev() {
            let (those, behind) = rest.split_at_mut(changes);
            those.iter_mut().for_each(|change| shift_by(by, change));
            rest = behind;
        }
        behind
    }
}

fn is_same_time(one: Option<&Moment>, other: Option<&Moment>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.is_in_the_time_of(other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// An expiry before the first second becomes the first second, because zero would mean permanent.
fn shift_by(by: i64, change: &mut Record) {
    if let Record::Want { since, until, .. } = change {
        *since = since.later_by(by);
        *until = until.map(|until| until.later_by(by).max(Timestamp::from_secs(1)));
    }
}

#[cfg(test)]
mod tests;
