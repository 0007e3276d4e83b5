//! In whose time a record is, and how it is turned into one's own.
//!
//! Each row says in which boot it was written and what its writer's time was ahead of the time since boot. In the same boot
//! the time since boot counts, whatever was done to the clock. From one boot to the next only the clock on the wall goes on:
//! it counts, unless it lies before the last record. Then nobody knows how long the machine was off, and what was left at
//! that record is left still. In each case times are shifted as a whole, so that what several writers did one after another
//! is a sum of shifts. A writer's time and the wall's were the same when it began; what the wall was ahead of it later is
//! what the clock was set by meanwhile.
//!
//! So the first filterd of a boot must leave a row, even if nothing changes: whoever starts after it in the same boot knows
//! by that row alone how long it is since.
//!
//! Rows of older filterds say nothing of this: they are in the time of the wall.

use crate::blocklist::{Record, Timestamp};
use crate::clock::{self, Moment};

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

    /// Has nobody written anything in the boot of whoever is `here`, as far as is known, but somebody before?
    pub fn end_before(&self, here: &Moment) -> bool {
        self.runs.last().is_some_and(|run| !run.last.is_some_and(|last| is_same_boot(&last, here)))
    }

    /// Brings `changes`, all that were added, into the time of whoever is `here`. Tells by how many seconds the clock lies
    /// before the last record, if nobody knows how long it is since.
    pub fn translate(&self, changes: &mut [Record], here: &Moment) -> Option<u64> {
        let mut behind = None;
        let mut shifts = Vec::with_capacity(self.runs.len());
        let (mut shift, mut next) = (0, Some(here));
        for run in self.runs.iter().rev() {
            let by = Shift::between(run.last.as_ref(), next);
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

/// What is to be added to times of one writer to have them in the time of the next.
#[derive(Debug, Default, PartialEq, Eq)]
struct Shift {
    seconds: i64,
    /// By how many seconds the clock was before the last record.
    behind: Option<u64>,
}

impl Shift {
    fn between(last: Option<&Moment>, next: Option<&Moment>) -> Self {
        // Whoever knows of no such thing takes everything for the time on the wall, and so is taken.
        let (Some(last), Some(next)) = (last, next) else { return Self::default() };
        if is_same_boot(last, next) {
            return Self { seconds: clock::seconds(next.offset - last.offset), behind: None };
        }
        let lies_behind = seconds(last.wall) - seconds(next.begun);
        if lies_behind > 0 {
            let behind = Some(lies_behind.unsigned_abs());
            return Self { seconds: seconds(next.begun) - seconds(last.own), behind };
        }
        Self { seconds: seconds(last.wall) - seconds(last.own), behind: None }
    }
}

fn is_same_boot(one: &Moment, other: &Moment) -> bool {
    one.boot == other.boot && one.boot.is_known()
}

fn is_same_time(one: Option<&Moment>, other: Option<&Moment>) -> bool {
    let time = |moment: &Moment| (moment.boot, moment.offset, moment.begun);
    one.map(time) == other.map(time)
}

fn seconds(time: Timestamp) -> i64 {
    i64::try_from(time.secs()).unwrap_or(i64::MAX)
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
