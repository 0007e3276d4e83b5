//! Tests disks that fail at the wrong moment.

use std::collections::VecDeque;
use std::fs;
use std::sync::mpsc;

use tempfile::TempDir;

use super::super::recover;
use super::super::store::JournalStore;
use super::*;
use crate::clock::Moment;

const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

/// A store whose next writes fail where `fails` says so.
struct FailingStore {
    store: JournalStore,
    fails: VecDeque<bool>,
}

impl FailingStore {
    fn refuses(&mut self) -> Result<(), NotWritten> {
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        if self.fails.pop_front().unwrap_or(false) {
            return Err(NotWritten::new(self.store.path(), &full));
        }
        Ok(())
    }
}

impl RowStore for FailingStore {
    fn append(&mut self, changes: &[Record], at: &Moment) -> Result<(), NotWritten> {
        self.refuses()?;
        self.store.append(changes, at)
    }

    fn next(&self) -> u64 {
        self.store.next()
    }

    fn trim(&mut self, before: u64) -> Result<(), NotWritten> {
        self.refuses()?;
        self.store.trim(before)
    }

    fn check(&mut self) -> Result<(), NotWritten> {
        self.store.check()
    }

    fn store(&self) -> &JournalStore {
        &self.store
    }
}

#[derive(Clone, Copy)]
enum Step {
    Write(bool),
    Mark,
    Trim(bool),
}
use Step::{Mark as Marks, Trim, Write};

/// True if the journal is incomplete after these steps. Steps with `false` fail.
fn is_behind_after(steps: &[Step]) -> bool {
    let directory = TempDir::new().unwrap();
    let (store, _) = recover::open(directory.path(), &clock::moment(), &mut drop).unwrap();
    let fails = steps.iter().filter_map(|step| match step {
        Write(succeeds) | Trim(succeeds) => Some(!succeeds),
        Marks => None,
    });
    let behind = LossRecord::default();
    let (orders, received) = mpsc::channel();
    let (sign, _) = LossNote::find(directory.path());
    let writer = JournalWriter::new(
        Ok(FailingStore { store, fails: fails.collect() }),
        received,
        behind.clone(),
        sign,
    );
    let thread = std::thread::spawn(|| writer.work());
    for step in steps {
        let (told, is_done) = mpsc::channel();
        let done: Done = Box::new(move |result| told.send(result.is_ok()).unwrap());
        let (order, expected) = match *step {
            Write(succeeds) => {
                let changes = vec![Record::ReleaseAll { list: "manual".into() }];
                (WriterOrder::Write(changes, done), Some(succeeds))
            }
            Marks => {
                drop(done);
                (WriterOrder::Mark, None)
            }
            Trim(succeeds) => (WriterOrder::Trim(NOW, done), Some(succeeds)),
        };
        orders.send(order).unwrap();
        assert_eq!(is_done.recv().ok(), expected);
    }
    drop(orders);
    thread.join().unwrap();
    assert!(fs::exists(directory.path().join("live.redb")).unwrap());
    let is_behind = behind.get().is_some();
    assert_eq!(LossNote::find(directory.path()).1.is_some(), is_behind, "the next start knows it, too");
    is_behind
}

#[test]
fn compaction_repairs_earlier_losses() {
    assert!(is_behind_after(&[Write(false), Marks, Write(true)]));
    assert!(!is_behind_after(&[Write(false), Marks, Write(true), Trim(true)]));
}

#[test]
fn compaction_keeps_losses_after_its_mark() {
    assert!(is_behind_after(&[Write(false), Marks, Write(true), Write(false), Write(true), Trim(true)]));
    assert!(is_behind_after(&[Marks, Write(false), Write(true), Trim(true)]));
    let the_next_one_does = [Marks, Write(false), Trim(true), Marks, Write(true), Trim(true)];
    assert!(!is_behind_after(&the_next_one_does));
}

#[test]
fn failed_compaction_repairs_nothing() {
    assert!(is_behind_after(&[Write(false), Marks, Write(true), Trim(false)]));
}
