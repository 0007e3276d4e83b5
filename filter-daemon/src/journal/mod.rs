//! The journal: what was added and removed live, on disk before anybody is told that it was done.
//!
//! A file of rows, each a few changes in the order in which they were made; reading them all again makes the live lists
//! what they were. It is cleaned by carrying forward: what is wanted now is written once more at the end, page by page
//! between other changes, and then all rows before are removed. Changes say what is, not by how much it differs, so it
//! does no harm that some of them are read twice.

mod record;
mod store;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::blocklist::Record;
use store::Store;
use writer::{Order, Writer};

/// Told when something is on disk, or why it is not.
pub type Done = Box<dyn FnOnce(Result<(), NotWritten>) + Send>;

/// How long changes lie that nobody waits for: the processor is for the answer first, and what comes meanwhile goes with
/// them.
const SOON: Duration = Duration::from_millis(2);

/// The journal, as its one writer sees it.
pub struct Journal {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
    /// Changes that nobody waits for, and when they are handed on.
    soon: Vec<Record>,
    due: Option<Instant>,
    is_behind: Arc<AtomicBool>,
    written: u64,
}

/// What the journal held.
#[derive(Debug, Default)]
pub struct Found {
    /// How many targets its changes name.
    pub targets: u64,
    /// Rows that were not what was written.
    pub damaged_rows: u64,
    /// Where a file went that could not be read, and why it could not.
    pub set_aside: Option<(PathBuf, String)>,
    format: u64,
}

/// Why there is no journal.
#[derive(Debug, Error)]
pub enum JournalError {
    /// Another daemon writes to it.
    #[error("{} is in use by another filterd\n         give this one a place of its own with --state-dir", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// It was written by a newer filterd.
    #[error(
        "{} has format {found}, but this filterd knows only {known}: it was written by a newer one\n         start that one, \
         or move the file away and lose what was added live", path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// Ours.
        known: u64,
    },
    /// The system does not let us.
    #[error("cannot open {}: {source}", path.display())]
    Directory {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Something is not on disk.
#[derive(Clone, Debug, Error)]
#[error("cannot write to {}: {reason}", path.display())]
pub struct NotWritten {
    path: Arc<Path>,
    reason: Arc<str>,
}

impl NotWritten {
    fn new(path: &Path, reason: &dyn std::error::Error) -> Self {
        Self { path: path.into(), reason: reason.to_string().into() }
    }
}

impl Journal {
    /// Opens the journal in `directory`, and hands `take` every change in it. Where the disk refuses, it goes on without:
    /// then nothing that is written to it succeeds.
    pub fn open(
        directory: &Path,
        take: &mut dyn FnMut(Record),
    ) -> Result<(Self, Found, Option<JournalError>), JournalError> {
        match Store::open(directory, take) {
            Ok((store, found)) => {
                let journal = Self::start(Ok(store), found.targets, directory)?;
                // What was still legible is in no file now.
                journal.is_behind.store(found.set_aside.is_some(), Ordering::Relaxed);
                Ok((journal, found, None))
            }
            Err(error @ JournalError::Directory { .. }) => {
                let store = Err(NotWritten::new(directory, &error));
                Ok((Self::start(store, 0, directory)?, Found::default(), Some(error)))
            }
            Err(error @ (JournalError::InUse { .. } | JournalError::Newer { .. })) => Err(error),
        }
    }

    fn start(store: Result<Store, NotWritten>, written: u64, directory: &Path) -> Result<Self, JournalError> {
        let (orders, received) = mpsc::channel();
        let is_behind = Arc::new(AtomicBool::new(false));
        let writer = Writer::new(store, received, Arc::clone(&is_behind));
        let thread = thread::Builder::new().name("journal".to_owned()).spawn(move || writer.work());
        let thread =
            thread.map_err(|source| JournalError::Directory { path: directory.to_owned(), source })?;
        Ok(Self {
            orders: Some(orders),
            thread: Some(thread),
            soon: Vec::new(),
            due: None,
            is_behind,
            written,
        })
    }

    /// Writes these changes, together with whatever others come meanwhile, and then tells `done`.
    pub fn write(&mut self, changes: Vec<Record>, done: Done) {
        self.count(&changes);
        self.order(Order::Write(changes, done));
    }

    /// Writes these changes within milliseconds, and in any case before what is ordered later. Nobody is told.
    pub fn write_soon(&mut self, changes: Vec<Record>) {
        self.count(&changes);
        self.soon.extend(changes);
        self.due.get_or_insert_with(|| Instant::now() + SOON);
    }

    /// How long until changes that nobody waits for should be handed on.
    pub fn until_due(&self) -> Option<Duration> {
        Some(self.due?.saturating_duration_since(Instant::now()))
    }

    /// Hands those changes on, if it is time.
    pub fn keep_up(&mut self) {
        if self.until_due().is_some_and(|left| left.is_zero()) {
            self.hand_on();
        }
    }

    /// What is written from here on makes all before it superfluous.
    pub fn mark(&mut self) {
        self.written = 0;
        self.order(Order::Mark);
    }

    /// Removes what was written before the mark, and then tells `done`.
    pub fn trim(&mut self, done: Done) {
        self.order(Order::Trim(done));
    }

    /// Should what is wanted be carried forward, now that there are so many live targets? Then as much is removed as is
    /// written.
    pub fn is_long(&self, live: u64) -> bool {
        const ALWAYS_FINE: u64 = 100_000;
        self.written > 2 * live + ALWAYS_FINE
    }

    /// Is something missing from it because the disk failed? Carrying forward makes up for it.
    pub fn is_behind(&self) -> bool {
        self.is_behind.load(Ordering::Relaxed)
    }

    fn count(&mut self, changes: &[Record]) {
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
