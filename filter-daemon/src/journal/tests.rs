//! Tests that records are read as they were written and in their order.

use std::fs;
use std::sync::mpsc;

use tempfile::TempDir;

use super::*;
use crate::blocklist::{Polarity, Targets};
use crate::clock;

mod damage;
mod format;

const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

/// The reader is in the time of this process, like the writer.
fn here() -> Moment {
    Moment { own: NOW, wall: NOW, ..clock::moment() }
}

fn want(list: &str, words: &[&str]) -> Record {
    let targets: Targets = words.iter().map(|word| word.parse().unwrap()).collect();
    let polarity = Polarity::Block;
    Record::Want {
        list: list.into(),
        polarity,
        since: Timestamp::from_secs(7),
        until: None,
        note: None,
        by: None,
        targets,
    }
}

fn release(list: &str) -> Record {
    Record::ReleaseAll { list: list.into() }
}

fn open(directory: &TempDir) -> (Journal, Vec<Record>, JournalFindings) {
    let mut changes = Vec::new();
    let (journal, found, refused) =
        Journal::open(directory.path(), &here(), &mut |change| changes.push(change)).unwrap();
    assert!(refused.is_none(), "{refused:?}");
    (journal, changes, found)
}

/// Gives an order to the journal, and waits for its result.
fn wait(order: impl FnOnce(Done)) -> Result<(), NotWritten> {
    let (told, written) = mpsc::channel();
    order(Box::new(move |result| told.send(result).unwrap()));
    written.recv().unwrap()
}

fn write(journal: &mut Journal, changes: Vec<Record>) {
    wait(|done| journal.write(changes, done)).unwrap();
}

#[test]
fn written_changes_survive_reopening() {
    let directory = TempDir::new().unwrap();
    let changes =
        [want("manual", &["192.0.2.1", "2001:db8::/32"]), release("manual"), want("ssh", &["192.0.2.2"])];
    let (mut journal, nothing, _) = open(&directory);
    assert!(nothing.is_empty());
    changes.iter().for_each(|change| write(&mut journal, vec![change.clone()]));
    drop(journal);
    let (mut journal, found, _) = open(&directory);
    assert_eq!(found, changes);
    write(&mut journal, vec![release("ssh")]);
    drop(journal);
    assert_eq!(open(&directory).1.last(), Some(&release("ssh")));
}

#[test]
fn write_soon_keeps_the_order() {
    let directory = TempDir::new().unwrap();
    let [first, second, third] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|word| want("manual", &[word]));
    let (mut journal, ..) = open(&directory);
    journal.write_soon(vec![first.clone()], clock::instant());
    write(&mut journal, vec![second.clone()]);
    journal.write_soon(vec![third.clone()], clock::instant());
    drop(journal);
    assert_eq!(open(&directory).1, [first, second, third]);
}

#[test]
fn write_soon_is_due_within_milliseconds() {
    let directory = TempDir::new().unwrap();
    let (mut journal, ..) = open(&directory);
    let now = clock::instant();
    assert_eq!(journal.until_due(now), None);
    journal.write_soon(vec![release("manual")], now);
    let left = journal.until_due(now).unwrap();
    assert!(Duration::ZERO < left && left < Duration::from_millis(10), "{left:?}");
    journal.keep_up(now);
    assert_eq!(journal.until_due(now), Some(left), "it is not time yet");
    journal.keep_up(now + left);
    assert_eq!(journal.until_due(now + left), None);
}

#[test]
fn compaction_replaces_earlier_rows() {
    let directory = TempDir::new().unwrap();
    let (mut journal, ..) = open(&directory);
    (0..10).for_each(|_| write(&mut journal, vec![want("manual", &["192.0.2.1"]), release("manual")]));
    journal.mark();
    write(&mut journal, vec![want("manual", &["192.0.2.2"])]);
    wait(|done| journal.trim(NOW, done)).unwrap();
    write(&mut journal, vec![want("manual", &["192.0.2.3"])]);
    drop(journal);
    assert_eq!(open(&directory).1, [want("manual", &["192.0.2.2"]), want("manual", &["192.0.2.3"])]);
}

#[test]
fn a_second_daemon_is_turned_away() {
    let directory = TempDir::new().unwrap();
    let _first = open(&directory);
    let second = Journal::open(directory.path(), &here(), &mut |_| {});
    assert!(matches!(second, Err(JournalError::InUse(_))));
}

#[test]
fn refused_disk_reports_and_continues() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("a file");
    fs::write(&file, "").unwrap();
    let (mut journal, _, refused) = Journal::open(&file, &here(), &mut |_| {}).unwrap();
    assert!(refused.is_some());
    assert!(wait(|done| journal.write(vec![release("manual")], done)).is_err());
    assert!(journal.is_behind());
}
