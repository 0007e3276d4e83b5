//! The journal: what was added and removed live, on disk before anybody is told that it was done.
//!
//! A file of rows, each a few changes in the order in which they were made; reading them all again makes the live lists
//! what they were. It is cleaned by compaction: what is wanted now is written once more at the end, page by page between
//! other changes, and then all rows before are removed. Changes say what is, not by how much it differs, so it does no
//! harm that some of them are read twice.
//!
//! A second, older copy is kept beside it, and read where the file cannot be.

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
use behind::Behind;
pub use behind::Lost;
pub use error::{JournalError, NotWritten};
pub use found::{Damage, Found, Instead};
use sign::{Beside, Sign};
use store::Store;
use writer::{Order, Writer};

/// Told when something is on disk, or why it is not.
pub type Done = Box<dyn FnOnce(Result<(), NotWritten>) + Send>;

/// How long changes lie that nobody waits for: the processor is for the answer first, and what comes meanwhile goes with
/// them.
const SOON: Duration = Duration::from_millis(2);

/// How old the copy may become while there is something new, in seconds: once an hour it costs next to nothing, and no
/// more than this is lost with the file.
const COPY_AGE: u64 = 60 * 60;

/// The journal, as its one writer sees it.
pub struct Journal {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
    /// Changes that nobody waits for, and when they are handed on.
    soon: Vec<Record>,
    due: Option<Instant>,
    behind: Behind,
    /// Targets named since the last compaction began.
    written: u64,
    /// When the last copy was begun, if there is one.
    copied: Option<Timestamp>,
    /// Has anything been written since?
    is_newer: bool,
    /// Does it hold every row that was written to it? Else a copy would take the place of one that may.
    is_whole: bool,
}

impl Journal {
    /// Opens the journal in `directory`, and hands `take` every change in it, under the names they were written with and
    /// in the time of whoever is `here`. Where the disk refuses to make one, that is tried again with whatever is written;
    /// where it refuses to read what is there, it goes on without: then nothing that is written to it succeeds.
    pub fn open(
        directory: &Path,
        here: &Moment,
        take: &mut dyn FnMut(Record),
    ) -> Result<(Self, Found, Option<JournalError>), JournalError> {
        match recover::open(directory, here, take) {
            Ok((store, mut found)) => {
                let (is_open, sign);
                (is_open, (sign, found.behind)) = (store.is_open(), Sign::find(directory));
                let mut journal = Self::start(Ok(store), sign, directory)?;
                journal.written = found.targets;
                journal.is_whole = found.damaged_rows == 0;
                if !is_open {
                    // So that it is known from here on that nothing can be written, and why.
                    journal.write(Vec::new(), Box::new(drop));
                }
                if found.targets > 0 && journal.is_whole {
                    journal.copy(here.own);
                }
                Ok((journal, found, None))
            }
            Err(error @ JournalError::Directory { .. }) => {
                let store = Err(NotWritten::until_a_start(directory, &error));
                let (sign, behind) = Sign::find(directory);
                let found = Found { behind, ..Found::default() };
                Ok((Self::start(store, sign, directory)?, found, Some(error)))
            }
            Err(error @ (JournalError::InUse(_) | JournalError::Newer { .. })) => Err(error),
        }
    }

    fn start(store: Result<Store, NotWritten>, sign: Sign, directory: &Path) -> Result<Self, JournalError> {
        let (orders, received) = mpsc::channel();
        let behind = Behind::default();
        let writer = Writer::new(store, received, behind.clone(), sign);
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

    /// Writes these changes, together with whatever others come meanwhile, and then tells `done`.
    pub fn write(&mut self, changes: Vec<Record>, done: Done) {
        self.count(&changes);
        self.order(Order::Write(changes, done));
    }

    /// Tells `done` once it is known of all that was ordered before whether it is on disk.
    pub fn once_known(&mut self, done: Done) {
        self.order(Order::Known(done));
    }

    /// Writes these changes within milliseconds of `now`, and in any case before what is ordered later. Nobody is told.
    pub fn write_soon(&mut self, changes: Vec<Record>, now: Instant) {
        self.count(&changes);
        self.soon.extend(changes);
        self.due.get_or_insert(now + SOON);
    }

    /// How long after `now` changes that nobody waits for should be handed on.
    pub fn until_due(&self, now: Instant) -> Option<Duration> {
        Some(self.due?.saturating_duration_since(now))
    }

    /// Hands those changes on, if it is time.
    pub fn keep_up(&mut self, now: Instant) {
        if self.until_due(now).is_some_and(|left| left.is_zero()) {
            self.hand_on();
        }
    }

    /// Lets another process have the file, with everything in it. What is written here later begins with a compaction.
    pub fn let_go(&mut self) {
        let (tell, told) = mpsc::channel();
        self.order(Order::LetGo(tell));
        // The thread ends only after this end is dropped.
        _ = told.recv();
    }

    /// Begins a compaction: what is written from here on makes all before it superfluous.
    pub fn mark(&mut self) {
        self.written = 0;
        self.order(Order::Mark);
    }

    /// Ends a compaction: removes what was written before the mark, and then tells `done`.
    pub fn trim(&mut self, now: Timestamp, done: Done) {
        self.order(Order::Trim(now, done));
        self.is_whole = true;
        self.has_copied(now);
    }

    /// Makes a new copy, if there is something new and the last one has become old.
    pub fn keep_copy(&mut self, now: Timestamp) {
        let is_old = self.copied.is_none_or(|copied| copied.secs().abs_diff(now.secs()) >= COPY_AGE);
        if self.is_newer && self.is_whole && is_old {
            self.copy(now);
        }
    }

    fn copy(&mut self, now: Timestamp) {
        self.order(Order::Copy(now));
        self.has_copied(now);
    }

    fn has_copied(&mut self, now: Timestamp) {
        self.copied = Some(now);
        self.is_newer = false;
    }

    /// Is a compaction due, now that there are so many live targets? Then as much is removed as is written.
    pub fn is_long(&self, live: u64) -> bool {
        const ALWAYS_FINE: u64 = 100_000;
        self.written > 2 * live + ALWAYS_FINE
    }

    /// Is something missing from it because the disk failed? A compaction makes up for it.
    pub fn is_behind(&self) -> bool {
        self.lost().is_some()
    }

    /// What is missing from it, since when and why.
    pub fn lost(&self) -> Option<Lost> {
        self.behind.get()
    }

    /// That it was behind when its last filterd ended is noted where it lasts.
    pub fn has_noted(&mut self) {
        self.order(Order::Noted);
    }

    /// Where else it can be said that something is not on disk.
    pub fn has_beside(&mut self, beside: Beside) {
        self.order(Order::Beside(beside));
    }

    /// Sees to it that the file is looked at: somebody may have removed it, or its disk may have become read-only.
    pub fn check(&mut self) {
        self.order(Order::Check(mpsc::channel().0));
    }

    /// Waits until all that was ordered is written or lost, and the file has been looked at.
    pub fn settle(&mut self) {
        let (tell, told) = mpsc::channel();
        self.order(Order::Check(tell));
        // The thread ends only after this end is dropped.
        _ = told.recv();
    }

    fn count(&mut self, changes: &[Record]) {
        self.is_newer = true;
        self.written += changes.iter().map(|change| change.len().max(1) as u64).sum::<u64>();
    }

    fn order(&mut self, order: Order) {
        self.hand_on();
        self.send(order);
    }

    fn hand_on(&mut self) {
        if self.due.take().is_some() {
            let changes = std::mem::take(&mut self.soon);
            self.send(Order::Write(changes, Box::new(drop)));
        }
    }

    fn send(&self, order: Order) {
        let orders = self.orders.as_ref().expect("it is open until it is dropped");
        orders.send(order).expect("the thread ends only after this end is dropped");
    }
}

/// Waits until everything is written.
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
