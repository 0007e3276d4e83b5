//! In whose time a record is, and how it is turned into one's own.
//!
//! Each row says in which boot it was written and what its writer's time was ahead of the time since boot (`clock::moment`
//! tells how such times are shifted). What several writers did one after another is a sum of shifts.
//!
//! So a filterd that finds itself in another time than the last row must leave one, even if nothing changes: whoever starts
//! after it knows by that row alone how long it is since.
//!
//! Rows of older filterds say nothing of this: they are in the time of the wall.

use crate::blocklist::{Record, Timestamp};
use crate::clock::{Moment, Shift};

/// In which times the changes of a journal are, in their order.
#[derive(Debug, Default)]
pub struct Times {
    runs: Vec<Run>,
}

/// Changes in a row that are in one time.
#[derive(Debug)]
struct Run {
    /// When the last of them was written.
    last: Option<Moment>,
    changes: usize,
}

impl Times {
    /// So many more changes were written at this moment.
    pub fn add(&mut self, moment: Option<Moment>, changes: usize) {
        match self.runs.last_mut() {
            Some(run) if is_same_time(run.last.as_ref(), moment.as_ref()) => {
                run.last = moment;
                run.changes += changes;
            }
            _ => self.runs.push(Run { last: moment, changes }),
        }
    }

    /// Is whoever is `here` in another time than the last row, be it that the clock was set since or in another boot?
    pub fn end_in_another_time(&self, here: &Moment) -> bool {
        let is_here = |last: Moment| last.says_the_same_as(here);
        self.runs.last().is_some_and(|run| !run.last.is_some_and(is_here))
    }

    /// Brings `changes`, all that were added, into the time of whoever is `here`. Tells by how many seconds the clock lies
    /// before the last record, if nobody knows how long it is since.
    pub fn translate(&self, changes: &mut [Record], here: &Moment) -> Option<u64> {
        let mut behind = None;
        let mut shifts = Vec::with_capacity(self.runs.len());
        let (mut shift, mut next) = (0, Some(here));
        for run in self.runs.iter().rev() {
            // Whoever knows of no such thing takes everything for the time on the wall, and so is taken.
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

/// What was over before the scale begins is over in its first second: zero would be permanent.
fn shift_by(by: i64, change: &mut Record) {
    if let Record::Want { since, until, .. } = change {
        *since = since.later_by(by);
        *until = until.map(|until| until.later_by(by).max(Timestamp::from_secs(1)));
    }
}

#[cfg(test)]
mod tests;
