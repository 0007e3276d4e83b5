//! The thread that writes: whatever has come while it wrote goes into one row, so that many share one wait for the disk.

use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use tracing::{error, info};

use super::behind::Behind;
use super::copy::Copier;
use super::sign::{Beside, Sign};
use super::store::Rows;
use super::{Done, NotWritten};
use crate::blocklist::{Record, Timestamp};
use crate::clock;

/// Targets in one row; more go into the next.
const MOST_TARGETS: usize = 1 << 18;

/// What the thread is told to do, in this order.
pub enum Order {
    /// Write these, and then tell.
    Write(Vec<Record>, Done),
    /// Tell what the disk has refused that is still missing, if anything is.
    Known(Done),
    /// What is written from here on makes all rows before it superfluous.
    Mark,
    /// Remove the rows before the mark, begin a copy of what is left, and tell.
    Trim(Timestamp, Done),
    /// Begin a copy of what is there.
    Copy(Timestamp),
    /// Let another process have the file until something is written again, and tell.
    LetGo(Sender<()>),
    /// What was not on disk when the last filterd ended is noted elsewhere.
    Noted,
    /// There is another place to say what is not on disk.
    Beside(Beside),
    /// See whether rows could still be written, and tell when that is known.
    Check(Sender<()>),
}

/// Does what it is told until nobody is left to tell it anything.
pub struct Writer<R> {
    rows: Result<R, NotWritten>,
    orders: Receiver<Order>,
    behind: Behind,
    /// The same for whoever starts next.
    sign: Sign,
    /// How often something was lost that was to be written.
    losses: u64,
    mark: Mark,
    copier: Copier,
}

/// Where a compaction began.
#[derive(Default)]
struct Mark {
    row: u64,
    /// What was lost before it, the compaction makes up for.
    losses: u64,
}

impl<R: Rows> Writer<R> {
    /// Writes to `rows`, or tells everybody why there are none.
    pub fn new(rows: Result<R, NotWritten>, orders: Receiver<Order>, behind: Behind, sign: Sign) -> Self {
        let (mark, copier) = (Mark::default(), Copier::default());
        Self { rows, orders, behind, sign, losses: 0, mark, copier }
    }

    /// Works until the other end is dropped, and everything that was ordered is done.
    pub fn work(mut self) {
        let mut ahead = None;
        while let Some(order) = ahead.take().or_else(|| self.orders.recv().ok()) {
            match order {
                Order::Write(changes, done) => ahead = self.write(changes, done),
                Order::Known(done) => self.tell(done),
                Order::Mark => {
                    let row = self.rows.as_ref().map_or(0, Rows::next);
                    self.mark = Mark { row, losses: self.losses };
                }
                Order::Trim(now, done) => self.trim(now, done),
                Order::Copy(now) => self.copy(now),
                Order::LetGo(told) => self.let_go(&told),
                Order::Noted => self.has_noted(),
                Order::Beside(beside) => {
                    let behind = self.behind.get().map(|_| clock::moment().wall);
                    self.sign.has_beside(beside, behind);
                }
                Order::Check(told) => self.check(&told),
            }
        }
        self.copier.stop();
    }

    /// Writes these changes and all that wait behind them. Returns the order that ended the group, if one did.
    fn write(&mut self, mut changes: Vec<Record>, done: Done) -> Option<Order> {
        let (mut told, mut others) = (vec![done], Vec::new());
        let mut targets: usize = changes.iter().map(Record::len).sum();
        let mut ahead = None;
        while targets < MOST_TARGETS {
            match self.orders.try_recv() {
                Ok(Order::Write(more, done)) => {
                    targets += more.iter().map(Record::len).sum::<usize>();
                    changes.extend(more);
                    told.push(done);
                }
                Ok(Order::Known(done)) => others.push(done),
                Ok(
                    other @ (Order::Mark
                    | Order::Trim(..)
                    | Order::Copy(_)
                    | Order::Noted
                    | Order::Beside(_)
                    | Order::Check(_)
                    | Order::LetGo(_)),
                ) => {
                    ahead = Some(other);
                    break;
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        let written = self
            .rows
            .as_mut()
            .map_err(|error| error.clone())
            .and_then(|rows| rows.append(&changes, &clock::moment()));
        self.note(&written);
        told.into_iter().for_each(|done| done(written.clone()));
        others.into_iter().for_each(|done| self.tell(done));
        ahead
    }

    fn tell(&self, done: Done) {
        done(self.behind.refusal().map_or(Ok(()), Err));
    }

    /// A compaction says what was wanted when it came to it, so it makes up for what was lost before its mark, and not for
    /// what was lost behind it.
    fn trim(&mut self, now: Timestamp, done: Done) {
        let before = self.mark.row;
        let trimmed = self.rows.as_mut().map_err(|error| error.clone()).and_then(|rows| rows.trim(before));
        let is_whole = trimmed.is_ok() && self.losses == self.mark.losses;
        if is_whole && self.behind.end() {
            self.sign.end();
            info!("all live entries are on disk again");
        }
        match &trimmed {
            Ok(()) => self.copy(now),
            Err(_) => self.copier.stop(),
        }
        done(trimmed);
    }

    /// A file that is gone has lost what was in it.
    fn check(&mut self, told: &Sender<()>) {
        let checked = self.rows.as_mut().map_or(Ok(()), Rows::check);
        self.note(&checked);
        // Most do not wait for it.
        _ = told.send(());
    }

    fn copy(&mut self, now: Timestamp) {
        if let Ok(rows) = &self.rows {
            self.copier.begin(rows.store(), now);
        }
    }

    /// What another process writes meanwhile may be anything, so that all of it is to be written anew.
    fn let_go(&mut self, told: &Sender<()>) {
        self.copier.stop();
        if let Ok(rows) = &mut self.rows {
            self.behind.begin(&rows.close(), false);
        }
        // Nothing is lost by that: what ends here was all on disk.
        self.sign.let_go();
        self.losses += 1;
        // Whoever asked may have given up.
        _ = told.send(());
    }

    fn has_noted(&mut self) {
        self.sign.forget_before(self.behind.get().is_some());
    }

    fn note(&mut self, written: &Result<(), NotWritten>) {
        let Err(failure) = written else { return };
        self.losses += 1;
        // It reads from a database that has to be opened again, and may be what fills the disk.
        self.copier.stop();
        if self.behind.begin(failure, true) {
            error!("{failure}: live changes work, but would be lost in a restart");
        }
        self.sign.begin(clock::moment().wall);
    }
}

#[cfg(test)]
mod tests;
