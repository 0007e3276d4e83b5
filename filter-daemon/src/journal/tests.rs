//! What was written is read again, in its order, whatever happens to the file meanwhile.

use std::fs;
use std::os::unix::fs::FileExt;
use std::sync::mpsc;

use tempfile::TempDir;

use super::*;
use crate::blocklist::{Targets, Timestamp};

fn want(list: &str, words: &[&str]) -> Record {
    let targets: Targets = words.iter().map(|word| word.parse().unwrap()).collect();
    Record::Want { list: list.into(), since: Timestamp::from_secs(7), until: None, note: None, targets }
}

fn release(list: &str) -> Record {
    Record::ReleaseAll { list: list.into() }
}

fn open(directory: &TempDir) -> (Journal, Vec<Record>, Found) {
    let mut changes = Vec::new();
    let (journal, found, refused) =
        Journal::open(directory.path(), &mut |change| changes.push(change)).unwrap();
    assert!(refused.is_none(), "{refused:?}");
    (journal, changes, found)
}

/// Does something with the journal, and waits until it is on disk.
fn wait(order: impl FnOnce(Done)) -> Result<(), NotWritten> {
    let (told, written) = mpsc::channel();
    order(Box::new(move |result| told.send(result).unwrap()));
    written.recv().unwrap()
}

fn write(journal: &mut Journal, changes: Vec<Record>) {
    wait(|done| journal.write(changes, done)).unwrap();
}

#[test]
fn what_was_written_is_there_when_it_is_opened_again() {
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
fn what_nobody_waits_for_is_written_in_its_turn() {
    let directory = TempDir::new().unwrap();
    let [first, second, third] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|word| want("manual", &[word]));
    let (mut journal, ..) = open(&directory);
    journal.write_soon(vec![first.clone()]);
    write(&mut journal, vec![second.clone()]);
    journal.write_soon(vec![third.clone()]);
    drop(journal);
    assert_eq!(open(&directory).1, [first, second, third]);
}

#[test]
fn what_nobody_waits_for_does_not_wait_long() {
    let directory = TempDir::new().unwrap();
    let (mut journal, ..) = open(&directory);
    assert_eq!(journal.until_due(), None);
    journal.write_soon(vec![release("manual")]);
    std::thread::sleep(journal.until_due().unwrap());
    journal.keep_up();
    assert_eq!(journal.until_due(), None);
}

#[test]
fn what_was_carried_forward_takes_the_place_of_what_was_before() {
    let directory = TempDir::new().unwrap();
    let (mut journal, ..) = open(&directory);
    (0..10).for_each(|_| write(&mut journal, vec![want("manual", &["192.0.2.1"]), release("manual")]));
    journal.mark();
    write(&mut journal, vec![want("manual", &["192.0.2.2"])]);
    wait(|done| journal.trim(done)).unwrap();
    write(&mut journal, vec![want("manual", &["192.0.2.3"])]);
    drop(journal);
    assert_eq!(open(&directory).1, [want("manual", &["192.0.2.2"]), want("manual", &["192.0.2.3"])]);
}

#[test]
fn a_second_daemon_is_turned_away() {
    let directory = TempDir::new().unwrap();
    let _first = open(&directory);
    let second = Journal::open(directory.path(), &mut |_| {});
    assert!(matches!(second, Err(JournalError::InUse { .. })));
}

#[test]
fn a_file_of_a_newer_format_is_left_alone() {
    let directory = TempDir::new().unwrap();
    drop(open(&directory));
    let about: redb::TableDefinition<&str, u64> = redb::TableDefinition::new("about");
    let database = redb::Database::open(directory.path().join("live.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(about).unwrap().insert("format", 2).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let opened = Journal::open(directory.path(), &mut |_| {});
    assert!(matches!(opened, Err(JournalError::Newer { found: 2, .. })));
}

#[test]
fn a_damaged_file_is_set_aside_and_a_new_one_begun() {
    for damage in ["", "short", "this is no database, however long it may be, and never was one at all"] {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("live.redb");
        fs::write(&file, damage).unwrap();
        let (mut journal, changes, found) = open(&directory);
        assert!(changes.is_empty());
        if let Some((aside, _)) = &found.set_aside {
            assert_eq!(fs::read(aside).unwrap(), damage.as_bytes());
        } else {
            assert_eq!(damage, "", "an empty file is a new one");
        }
        write(&mut journal, vec![release("manual")]);
        drop(journal);
        assert_eq!(open(&directory).1, [release("manual")]);
    }
}

/// Whatever byte is overwritten, what is read is a part of what was written, or the file is set aside; none of it is
/// made up, and nothing panics.
#[test]
fn no_damaged_byte_is_believed() {
    let original = TempDir::new().unwrap();
    let (mut journal, ..) = open(&original);
    let written: Vec<Record> = (0..20).map(|host| want("manual", &[&format!("192.0.2.{host}")])).collect();
    written.iter().for_each(|change| write(&mut journal, vec![change.clone()]));
    drop(journal);
    let bytes = fs::read(original.path().join("live.redb")).unwrap();
    let interesting = bytes.iter().enumerate().filter(|(_, byte)| **byte != 0).map(|(at, _)| at);
    let (mut whole, mut refused) = (0, 0);
    for at in interesting.step_by(61) {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("live.redb");
        fs::write(&path, &bytes).unwrap();
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .write_at(&[bytes[at] ^ 0x55], at as u64)
            .unwrap();
        let mut changes = Vec::new();
        let opened = Journal::open(directory.path(), &mut |change| changes.push(change));
        assert!(changes.iter().all(|change| written.contains(change)), "byte {at}");
        match opened {
            Ok((_, found, _)) if found.set_aside.is_some() || found.damaged_rows > 0 => refused += 1,
            Ok(_) => whole += usize::from(changes == written),
            Err(JournalError::Newer { .. }) => refused += 1,
            Err(error) => panic!("byte {at}: {error}"),
        }
    }
    assert!(whole > 0 && refused > 0, "{whole} harmless, {refused} noticed");
}

#[test]
fn where_the_disk_refuses_it_says_so_and_goes_on() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("a file");
    fs::write(&file, "").unwrap();
    let (mut journal, _, refused) = Journal::open(&file, &mut |_| {}).unwrap();
    assert!(refused.is_some());
    assert!(wait(|done| journal.write(vec![release("manual")], done)).is_err());
    assert!(journal.is_behind());
}
