//! The thread that writes: whatever has come while it wrote goes into one row, so that many share one wait for the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};

use tracing::{error, info};

use super::store::Store;
use super::{Done, NotWritten};
use crate::blocklist::Record;

/// Targets in one row; more go into the next.
const MOST_TARGETS: usize = 1 << 18;

/// What the thread is told to do, in this order.
pub enum Order {
    /// Write these, and then tell.
    Write(Vec<Record>, Done),
    /// What is written from here on makes all rows before it superfluous.
    Mark,
    /// Remove the rows before the mark, and then tell.
    Trim(Done),
}

/// Does what it is told until nobody is left to tell it anything.
pub struct Writer {
    store: Result<Store, NotWritten>,
    orders: Receiver<Order>,
    is_behind: Arc<AtomicBool>,
    mark: u64,
}

impl Writer {
    /// Writes to `store`, or tells everybody why there is none.
    pub fn new(
        store: Result<Store, NotWritten>,
        orders: Receiver<Order>,
        is_behind: Arc<AtomicBool>,
    ) -> Self {
        Self { store, orders, is_behind, mark: 0 }
    }

    /// Works until the other end is dropped, and everything that was ordered is done.
    pub fn work(mut self) {
        let mut ahead = None;
        while let Some(order) = ahead.take().or_else(|| self.orders.recv().ok()) {
            match order {
                Order::Write(changes, done) => ahead = self.write(changes, done),
                Order::Mark => self.mark = self.store.as_ref().map_or(0, Store::next),
                Order::Trim(done) => self.trim(done),
            }
        }
    }

    /// Writes these changes and all that wait behind them. Returns the order that ended the group, if one did.
    fn write(&mut self, mut changes: Vec<Record>, done: Done) -> Option<Order> {
        let mut told = vec![done];
        let mut targets: usize = changes.iter().map(Record::len).sum();
        let mut ahead = None;
        while targets < MOST_TARGETS {
            match self.orders.try_recv() {
                Ok(Order::Write(more, done)) => {
                    targets += more.iter().map(Record::len).sum::<usize>();
                    changes.extend(more);
                    told.push(done);
                }
                Ok(other @ (Order::Mark | Order::Trim(_))) => {
                    ahead = Some(other);
                    break;
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        let written =
            self.store.as_mut().map_err(|error| error.clone()).and_then(|store| store.append(&changes));
        self.note(&written);
        told.into_iter().for_each(|done| done(written.clone()));
        ahead
    }

    fn trim(&mut self, done: Done) {
        let mark = self.mark;
        let trimmed = self.store.as_mut().map_err(|error| error.clone()).and_then(|store| store.trim(mark));
        if trimmed.is_ok() && self.is_behind.swap(false, Ordering::Relaxed) {
            info!("live entries are on disk again, all of them");
        }
        done(trimmed);
    }

    fn note(&self, written: &Result<(), NotWritten>) {
        if let Err(failure) = written
            && !self.is_behind.swap(true, Ordering::Relaxed)
        {
            error!("{failure}: what is added or removed now works, but would not survive a restart");
        }
    }
}
