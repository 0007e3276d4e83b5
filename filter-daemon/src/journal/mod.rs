//! The journal stores changes to live lists. A change is on disk before the client gets its reply.
//!
//! The file contains rows, each with a few changes in the order in which they were made. Reading all rows
//! restores the live lists. Compaction keeps the file short: it appends all current entries page by page
//! between other changes, and then removes the earlier rows. A record states the new value and not a
//! difference, so reading some records twice does no harm.
//!
//! A second, older copy is kept beside the file, and is read if the file cannot be read.

mod behind;
mod copy;
mod error;
mod found;
mod mark;
mod own_file;
pub mod record;
mod recover;
mod sign;
pub mod store;
mod times;
mod writer;

use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::blocklist::{Record, Timestamp};
use crate::clock::Moment;
pub use behind::JournalLoss;
use behind::LossRecord;
pub use error::{JournalError, NotWritten};
pub use found::{JournalDamage, JournalFindings, Replacement};
use sign::{LossNote, SecondPlace};
use store::JournalStore;
use writer::{JournalWriter, WriterOrder};

/// Called when a change is on disk, or with the reason why it is not.
pub type Done = Box<dyn FnOnce(Result<(), NotWritten>) + Send>;

/// How long changes may wait that no client waits for. The processor serves the reply first, and changes
/// that arrive meanwhile share the write.
const SOON: Duration = Duration::from_millis(2);

/// The greatest age of the copy while there are new changes, in seconds. One copy an hour costs next to
/// nothing, and if the file is lost, no more than the changes of an hour are.
const COPY_AGE: u64 = 60 * 60;

/// The journal, as its single user sees it.
pub struct Journal {
    orders: Option<Sender<WriterOrder>>,
    thread: Option<JoinHandle<()>>,
    /// Changes that no client waits for; `due` says when they are handed to the writer.
    soon: Vec<Record>,
    due: Option<Instant>,
    behind: LossRecord,
    /// Targets named since the last compaction started.
    written: u64,
    /// When the last copy was started, if there is one.
    copied: Option<Timestamp>,
    /// True if anything was written since then.
    is_newer: bool,
    /// True if it contains every row that was written to it. If not, a copy could replace a better one.
    is_whole: bool,
}

impl Journal {
    /// Opens the journal in `directory`. It passes every change to `take`, with the list names of the
    /// records and with times converted to those of `here`. If the disk refuses to create the file, each
    /// later write tries again. If the disk refuses to read an existing file, filterd continues without it,
    /// and every write fails.
    pub fn open(
        directory: &Path,
        here: &Moment,
        take: &mut dyn FnMut(Record),
    ) -> Result<(Self, JournalFindings, Option<JournalError>), JournalError> {
        match recover::open(directory, here, take) {
            Ok((store, mut found)) => {
                let (is_open, sign);
                (is_open, (sign, found.behind)) = (store.is_open(), LossNote::find(directory));
                let mut journal = Self::start(Ok(store), sign, directory)?;
                journal.written = found.targets;
                journal.is_whole = found.damaged_rows == 0;
                if !is_open {
                    // A write without changes finds out that nothing can be written, and why.
                    journal.write(Vec::new(), Box::new(drop));
                }
                if found.targets > 0 && journal.is_whole {
                    journal.copy(here.own);
                }
                Ok((journal, found, None))
            }
            Err(error @ JournalError::Directory { .. }) => {
                let store = Err(NotWritten::until_a_start(directory, &error));
                let (sign, behind) = LossNote::find(directory);
                let found = JournalFindings { behind, ..JournalFindings::default() };
                Ok((Self::start(store, sign, directory)?, found, Some(error)))
            }
            Err(error @ (JournalError::InUse(_) | JournalError::Newer { .. })) => Err(error),
        }
    }

    fn start(
        store: Result<JournalStore, NotWritten>,
        sign: LossNote,
        directory: &Path,
    ) -> Result<Self, JournalError> {
        let (orders, received) = mpsc::channel();
        let behind = LossRecord::default();
        let writer = JournalWriter::new(store, received, behind.clone(), sign);
        let thread = thread::Builder::new().name("journal".to_owned()).spawn(move || writer.work());
        let thread =
            thread.map_err(|source| JournalError::Directory { path: directory.to_owned(), source })?;
        Ok(Self {
            orders: Some(orders),
            thread: Some(thread),
            soon: Vec::new(),
            due: None,
            behind,
            written: 0,
            copied: None,
            is_newer: false,
            is_whole: true,
        })
    }

    /// Writes these changes, together with others that arrive meanwhile, and then calls `done`.
    pub fn write(&mut self, changes: Vec<Record>, done: Done) {
        self.count(&changes);
        self.order(WriterOrder::Write(changes, done));
    }

    /// Calls `done` when it is known for all earlier orders whether they are on disk.
    pub fn once_known(&mut self, done: Done) {
        self.order(WriterOrder::Known(done));
    }

    /// Writes these changes within milliseconds of `now`, and before any later order. No result is
    /// reported.
    pub fn write_soon(&mut self, changes: Vec<Record>, now: Instant) {
        self.count(&changes);
        self.soon.extend(changes);
        self.due.get_or_insert(now + SOON);
    }

    /// How long after `now` the changes from `write_soon` are due.
    pub fn until_due(&self, now: Instant) -> Option<Duration> {
        Some(self.due?.saturating_duration_since(now))
    }

    /// Hands those changes to the writer when they are due.
    pub fn keep_up(&mut self, now: Instant) {
        if self.until_due(now).is_some_and(|left| left.is_zero()) {
            self.hand_on();
        }
    }

    /// Starts a compaction: the rows written from here on replace all earlier ones.
    pub fn mark(&mut self) {
        self.written = 0;
        self.order(WriterOrder::Mark);
    }

    /// Ends a compaction: removes the rows before the mark, and then calls `done`.
    pub fn trim(&mut self, now: Timestamp, done: Done) {
        self.order(WriterOrder::Trim(now, done));
        self.is_whole = true;
        self.note_copy(now);
    }

    /// Starts a new copy if there are changes and the last copy is old.
    pub fn keep_copy(&mut self, now: Timestamp) {
        let is_old = self.copied.is_none_or(|copied| copied.secs().abs_diff(now.secs()) >= COPY_AGE);
        if self.is_newer && self.is_whole && is_old {
            self.copy(now);
        }
    }

    fn copy(&mut self, now: Timestamp) {
        self.order(WriterOrder::Copy(now));
        self.note_copy(now);
    }

    fn note_copy(&mut self, now: Timestamp) {
        self.copied = Some(now);
        self.is_newer = false;
    }

    /// True if a compaction is due with this number of live targets. It then removes at least as much as it
    /// writes.
    pub fn is_long(&self, live: u64) -> bool {
        const ALWAYS_FINE: u64 = 100_000;
        self.written > 2 * live + ALWAYS_FINE
    }

    /// True if something is missing because the disk failed. A compaction restores it.
    pub fn is_behind(&self) -> bool {
        self.lost().is_some()
    }

    /// The loss, with its start and reason.
    pub fn lost(&self) -> Option<JournalLoss> {
        self.behind.get()
    }

    /// Records that the loss before the last start was noted permanently elsewhere.
    pub fn forget_earlier_loss(&mut self) {
        self.order(WriterOrder::Noted);
    }

    /// Sets a second place to note that something is not on disk.
    pub fn set_second_place(&mut self, beside: SecondPlace) {
        self.order(WriterOrder::Beside(beside));
    }

    /// Starts a check of the file: it may have been removed, or its disk may have become read-only.
    pub fn check(&mut self) {
        self.order(WriterOrder::Check(mpsc::channel().0));
    }

    /// Waits until all orders are written or lost, and the file was checked.
    pub fn settle(&mut self) {
        let (tell, told) = mpsc::channel();
        self.order(WriterOrder::Check(tell));
        // The thread ends only after this end is dropped.
        _ = told.recv();
    }

    fn count(&mut self, changes: &[Record]) {
        self.is_newer = true;
        self.written += changes.iter().map(|change| change.len().max(1) as u64).sum::<u64>();
    }

    fn order(&mut self, order: WriterOrder) {
        self.hand_on();
        self.send(order);
    }

    fn hand_on(&mut self) {
        if self.due.take().is_some() {
            let changes = std::mem::take(&mut self.soon);
            self.send(WriterOrder::Write(changes, Box::new(drop)));
        }
    }

    fn send(&self, order: WriterOrder) {
        let orders = self.orders.as_ref().expect("it is open until it is dropped");
        orders.send(order).expect("the thread ends only after this end is dropped");
    }
}

/// Waits until all changes are written.
impl Drop for Journal {
    fn drop(&mut self) {
        self.hand_on();
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
