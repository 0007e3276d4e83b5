//! The thread that writes the journal. Changes that arrive during a write share the next row, so that many
//! wait for the disk only once.

use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use tracing::{error, info};

use super::behind::LossRecord;
use super::copy::Copier;
use super::sign::{LossNote, SecondPlace};
use super::store::RowStore;
use super::{Done, NotWritten};
use crate::blocklist::{Record, Timestamp};
use crate::clock;

/// The most targets in one row; more go into the next one.
const MOST_TARGETS: usize = 1 << 18;

/// The orders to the thread, which it carries out as they arrive.
pub enum WriterOrder {
    /// Writes these changes, and then reports.
    Write(Vec<Record>, Done),
    /// Reports the refusal of the disk that is still unresolved, if there is one.
    Known(Done),
    /// Marks a place: rows written after it replace all earlier ones.
    Mark,
    /// Removes the rows before the mark, starts a copy of the rest, and reports.
    Trim(Timestamp, Done),
    /// Starts a copy of the present contents.
    Copy(Timestamp),
    /// The loss of the last run was noted elsewhere.
    Noted,
    /// Sets the second place for the note of a loss.
    Beside(SecondPlace),
    /// Checks whether rows can still be written, and reports when that is known.
    Check(Sender<()>),
}

/// Carries out orders until the sending end is dropped.
pub struct JournalWriter<R> {
    rows: Result<R, NotWritten>,
    orders: Receiver<WriterOrder>,
    behind: LossRecord,
    /// The note of a loss for the next start.
    sign: LossNote,
    /// The number of losses so far.
    losses: u64,
    mark: CompactionMark,
    copier: Copier,
}

/// The start of a compaction.
#[derive(Default)]
struct CompactionMark {
    row: u64,
    /// The losses before the mark, which the compaction makes up for.
    losses: u64,
}

impl<R: RowStore> JournalWriter<R> {
    /// Writes to `rows`, or reports to each caller why there are none.
    pub fn new(
        rows: Result<R, NotWritten>,
        orders: Receiver<WriterOrder>,
        behind: LossRecord,
        sign: LossNote,
    ) -> Self {
        let (mark, copier) = (CompactionMark::default(), Copier::default());
        Self { rows, orders, behind, sign, losses: 0, mark, copier }
    }

    /// Works until the other end is dropped and all orders are done.
    pub fn work(mut self) {
        let mut ahead = None;
        while let Some(order) = ahead.take().or_else(|| self.orders.recv().ok()) {
            match order {
                WriterOrder::Write(changes, done) => ahead = self.write(changes, done),
                WriterOrder::Known(done) => self.tell(done),
                WriterOrder::Mark => {
                    let row = self.rows.as_ref().map_or(0, RowStore::next);
                    self.mark = CompactionMark { row, losses: self.losses };
                }
                WriterOrder::Trim(now, done) => self.trim(now, done),
                WriterOrder::Copy(now) => self.copy(now),
                WriterOrder::Noted => self.forget_earlier_loss(),
                WriterOrder::Beside(beside) => {
                    let behind = self.behind.get().map(|_| clock::moment().wall);
                    self.sign.set_second_place(beside, behind);
                }
                WriterOrder::Check(told) => self.check(&told),
            }
        }
        self.copier.stop();
    }

    /// Writes these changes and all that wait behind them. Returns the order that ended the group, if one
    /// did.
    fn write(&mut self, mut changes: Vec<Record>, done: Done) -> Option<WriterOrder> {
        let (mut told, mut others) = (vec![done], Vec::new());
        let mut targets: usize = changes.iter().map(Record::len).sum();
        let mut ahead = None;
        while targets < MOST_TARGETS {
            match self.orders.try_recv() {
                Ok(WriterOrder::Write(more, done)) => {
                    targets += more.iter().map(Record::len).sum::<usize>();
                    changes.extend(more);
                    told.push(done);
                }
                Ok(WriterOrder::Known(done)) => others.push(done),
                Ok(
                    other @ (WriterOrder::Mark
                    | WriterOrder::Trim(..)
                    | WriterOrder::Copy(_)
                    | WriterOrder::Noted
                    | WriterOrder::Beside(_)
                    | WriterOrder::Check(_)),
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

    /// A compaction writes the entries as they are when it reads them. It therefore makes up for losses
    /// before its mark, and not for later ones.
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

    /// A missing file has lost its contents.
    fn check(&mut self, told: &Sender<()>) {
        let checked = self.rows.as_mut().map_or(Ok(()), RowStore::check);
        self.note(&checked);
        // Most callers do not wait for it.
        _ = told.send(());
    }

    fn copy(&mut self, now: Timestamp) {
        if let Ok(rows) = &self.rows {
            self.copier.begin(rows.store(), now);
        }
    }

    fn forget_earlier_loss(&mut self) {
        self.sign.forget_before(self.behind.get().is_some());
    }

    fn note(&mut self, written: &Result<(), NotWritten>) {
        let Err(failure) = written else { return };
        self.losses += 1;
        // A copy reads from a database that must be opened again, and may itself fill the disk.
        self.copier.stop();
        if self.behind.begin(failure, true) {
            error!("{failure}: live changes work, but would be lost in a restart");
        }
        self.sign.begin(clock::moment().wall);
    }
}

#[cfg(test)]
mod tests;
