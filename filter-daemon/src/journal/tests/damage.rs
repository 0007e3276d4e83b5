//! Tests files that differ from what was written.

use std::os::unix::fs::{FileExt, PermissionsExt};
use std::time::{Duration, Instant};

use super::*;

const LATER: Timestamp = Timestamp::from_secs(NOW.secs() as u32 + 3600);

fn files(directory: &TempDir) -> Vec<String> {
    let names = fs::read_dir(directory.path()).unwrap();
    let mut names: Vec<_> =
        names.map(|file| file.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Copies are made by another thread. One that fails is only logged, and the next one may succeed.
fn wait_for_copy(journal: &mut Journal, directory: &TempDir) {
    let copy = directory.path().join("live.redb.old");
    let before = fs::metadata(&copy).and_then(|file| file.modified()).ok();
    let is_there = || fs::metadata(&copy).and_then(|file| file.modified()).ok() != before;
    for _ in 0..12 {
        let begun = Instant::now();
        journal.copy(NOW);
        while begun.elapsed() < Duration::from_secs(10) {
            if is_there() {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
    panic!("no copy");
}

/// A journal with one row for each host, and with a copy of all rows.
fn copied(directory: &TempDir, hosts: u32) -> Vec<Record> {
    let mut journal = open(directory).0;
    let changes: Vec<_> = (0..hosts).map(|host| want("manual", &[&format!("192.0.2.{host}")])).collect();
    changes.iter().for_each(|change| write(&mut journal, vec![change.clone()]));
    wait_for_copy(&mut journal, directory);
    changes
}

fn open_later(directory: &TempDir) -> (Journal, Vec<Record>, JournalFindings) {
    let mut changes = Vec::new();
    let (journal, found, refused) =
        Journal::open(directory.path(), &here(), &mut |change| changes.push(change)).unwrap();
    assert!(refused.is_none(), "{refused:?}");
    (journal, changes, found)
}

#[test]
fn damaged_file_is_replaced_by_copy() {
    let directory = TempDir::new().unwrap();
    let changes = copied(&directory, 5);
    let file = directory.path().join("live.redb");
    fs::write(&file, "what a disk makes of it").unwrap();
    let (mut journal, read, found) = open_later(&directory);
    assert_eq!(read, changes);
    let damage = found.damage.unwrap();
    assert_eq!(damage.instead, Replacement::Copy { made: NOW });
    assert_eq!(fs::read(damage.set_aside.unwrap()).unwrap(), b"what a disk makes of it");
    write(&mut journal, vec![release("ssh")]);
    drop(journal);
    let (_, read, found) = open_later(&directory);
    assert_eq!(read, [changes, vec![release("ssh")]].concat());
    assert!(found.damage.is_none());
}

#[test]
fn missing_or_empty_file_uses_copy() {
    for is_gone in [true, false] {
        let directory = TempDir::new().unwrap();
        let changes = copied(&directory, 5);
        let file = directory.path().join("live.redb");
        if is_gone {
            fs::remove_file(&file).unwrap()
        } else {
            fs::write(&file, "").unwrap()
        }
        let (_journal, read, found) = open_later(&directory);
        assert_eq!(read, changes);
        let damage = found.damage.unwrap();
        assert_eq!((damage.instead, damage.set_aside), (Replacement::Copy { made: NOW }, None));
    }
}

#[test]
fn damaged_file_and_copy_are_set_aside() {
    let directory = TempDir::new().unwrap();
    copied(&directory, 5);
    for name in ["live.redb", "live.redb.old"] {
        fs::write(directory.path().join(name), "what a disk makes of it").unwrap();
    }
    let (mut journal, read, found) = open_later(&directory);
    assert!(read.is_empty());
    assert!(matches!(found.damage.unwrap().instead, Replacement::DamagedCopy { .. }));
    write(&mut journal, vec![release("ssh")]);
    drop(journal);
    let aside = files(&directory).iter().filter(|name| name.contains(".damaged-")).count();
    assert_eq!(aside, 2, "{:?}", files(&directory));
    assert_eq!(open_later(&directory).1, [release("ssh")]);
}

#[test]
fn open_and_compaction_make_copies() {
    let directory = TempDir::new().unwrap();
    let read_copy = |directory: &TempDir| {
        let copy = TempDir::new().unwrap();
        fs::copy(directory.path().join("live.redb.old"), copy.path().join("live.redb")).unwrap();
        open(&copy).1
    };
    let wait_until = |wanted: &[Record]| {
        let begun = Instant::now();
        while !directory.path().join("live.redb.old").exists() || read_copy(&directory) != wanted {
            assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", files(&directory));
        }
    };
    let [first, second] = [want("manual", &["192.0.2.1"]), want("manual", &["192.0.2.2"])];
    write(&mut open(&directory).0, vec![first.clone()]);
    assert_eq!(files(&directory), ["live.redb", "live.redb.behind", "live.redb.last"]);
    let mut journal = open(&directory).0;
    wait_until(&[first]);
    journal.mark();
    write(&mut journal, vec![second.clone()]);
    wait(|done| journal.trim(LATER, done)).unwrap();
    wait_until(&[second]);
    drop(journal);
    assert_eq!(files(&directory), ["live.redb", "live.redb.behind", "live.redb.last", "live.redb.old"]);
    for name in files(&directory) {
        let mode = fs::metadata(directory.path().join(&name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn old_copy_is_replaced_after_changes() {
    let directory = TempDir::new().unwrap();
    let mut journal = open(&directory).0;
    journal.keep_copy(LATER);
    assert_eq!(journal.copied, None, "nothing is in it yet");
    write(&mut journal, vec![release("manual")]);
    journal.keep_copy(NOW);
    assert_eq!(journal.copied, Some(NOW));
    write(&mut journal, vec![release("manual")]);
    journal.keep_copy(NOW);
    journal.keep_copy(Timestamp::from_secs(LATER.secs() as u32 - 1));
    assert_eq!(journal.copied, Some(NOW));
    journal.keep_copy(LATER);
    assert_eq!(journal.copied, Some(LATER));
    let much_later = Timestamp::from_secs(u32::MAX);
    journal.keep_copy(much_later);
    assert_eq!(journal.copied, Some(LATER), "nothing is new");
}

/// The state after a kill within the first milliseconds: the first bytes of a file are written last. A file
/// that ever had contents has a note beside it.
#[test]
fn interrupted_creation_is_no_damage() {
    let cut_short = |directory: &TempDir| {
        let file = fs::OpenOptions::new().write(true).open(directory.path().join("live.redb")).unwrap();
        file.write_all_at(&[0; 9], 0).unwrap();
    };
    let directory = TempDir::new().unwrap();
    drop(open(&directory));
    cut_short(&directory);
    let (mut journal, read, found) = open(&directory);
    assert!((read.is_empty(), found.damage.is_none(), found.is_new) == (true, true, true));
    write(&mut journal, vec![want("manual", &["192.0.2.1"])]);
    drop(journal);
    cut_short(&directory);
    assert!(open(&directory).2.damage.is_some(), "something was in it");
}

/// The leftover of a filterd that was killed while it copied.
#[test]
fn half_a_copy_is_not_in_the_way() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("live.redb.new"), "half").unwrap();
    let changes = copied(&directory, 3);
    fs::remove_file(directory.path().join("live.redb")).unwrap();
    assert_eq!(open_later(&directory).1, changes);
}

/// Rows are lost at worst as far as the copy lacks them, whichever way the file is mangled.
#[test]
fn with_a_copy_no_mangled_file_loses_all() {
    let original = TempDir::new().unwrap();
    let mut changes = copied(&original, 20);
    let newer = want("manual", &["192.0.2.200"]);
    let mut journal = open(&original).0;
    wait_for_copy(&mut journal, &original);
    write(&mut journal, vec![newer.clone()]);
    drop(journal);
    let bytes = fs::read(original.path().join("live.redb")).unwrap();
    let copy = fs::read(original.path().join("live.redb.old")).unwrap();
    let (mut whole, mut from_copy, mut without_last) = (0, 0, 0);
    for mangled in mangled(&bytes) {
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("live.redb"), &mangled).unwrap();
        fs::write(directory.path().join("live.redb.old"), &copy).unwrap();
        let mut read = Vec::new();
        let opened = Journal::open(directory.path(), &here(), &mut |change| read.push(change));
        let found = match opened {
            Ok((_, found, refused)) => {
                assert!(refused.is_none(), "{refused:?}");
                found
            }
            Err(error) => {
                assert!(matches!(error, JournalError::Newer { .. }), "{error}");
                continue;
            }
        };
        assert!(read.starts_with(&changes), "{} of {} rows, {found:?}", read.len(), changes.len());
        match found.damage {
            Some(damage) => {
                assert_eq!(damage.instead, Replacement::Copy { made: NOW });
                from_copy += 1;
            }
            None if read.last() == Some(&newer) => whole += 1,
            None => without_last += 1,
        }
    }
    changes.push(newer);
    println!("{whole} whole, {from_copy} read from the copy, {without_last} without the last row");
    assert!(whole > 0 && from_copy > 0, "{whole} whole, {from_copy} read from the copy");
}

/// The state after a kill: the database was not closed, and the latest commit is in one of its two places
/// only.
#[test]
fn lost_latest_commit_is_reported() {
    let original = TempDir::new().unwrap();
    let mut journal = open(&original).0;
    let written: Vec<Record> = (0..20).map(|host| want("manual", &[&format!("192.0.2.{host}")])).collect();
    let (mut untold, mut told) = (0, 0);
    for (index, change) in written.iter().enumerate() {
        write(&mut journal, vec![change.clone()]);
        if ![0, 1, 19].contains(&index) {
            continue;
        }
        let [bytes, last] = ["live.redb", "live.redb.last"].map(|name| fs::read(original.path().join(name)));
        let (bytes, last) = (bytes.unwrap(), last.unwrap_or_default());
        for mangled in std::iter::once(bytes.clone()).chain(mangled(&bytes)) {
            let directory = TempDir::new().unwrap();
            fs::write(directory.path().join("live.redb"), &mangled).unwrap();
            fs::write(directory.path().join("live.redb.last"), &last).unwrap();
            let mut read = Vec::new();
            let opened = Journal::open(directory.path(), &here(), &mut |change| read.push(change));
            let Ok((_, found, _)) = opened else { continue };
            let is_whole = read == written[..=index];
            let is_told = found.is_a_commit_behind || found.damage.is_some() || found.damaged_rows > 0;
            assert!(!(is_whole && found.is_a_commit_behind), "nothing is missing of {} rows", index + 1);
            // An empty or missing file gives no hint of its contents.
            untold += usize::from(!is_whole && !is_told && !mangled.is_empty());
            told += usize::from(found.is_a_commit_behind);
        }
    }
    assert_eq!(untold, 0, "told {told} times");
    assert!(told > 0);
}

/// Another program may have changed the journal: an older version writes rows, but no notes.
#[test]
fn unmatched_note_reports_no_loss() {
    let directory = TempDir::new().unwrap();
    let (mut journal, ..) = open(&directory);
    write(&mut journal, vec![want("manual", &["192.0.2.1"])]);
    write(&mut journal, vec![want("manual", &["192.0.2.2"])]);
    let mark = fs::read(directory.path().join("live.redb.last")).unwrap();
    write(&mut journal, vec![release("manual")]);
    drop(journal);
    for mark in [&mark[..], b"", b"1 2 3", b"0 0 0 0", b"99 0", &mark[..20]] {
        fs::write(directory.path().join("live.redb.last"), mark).unwrap();
        assert!(!open(&directory).2.is_a_commit_behind, "{mark:?}");
    }
}

/// Overwrites single bytes, zeroes sectors, and truncates the file.
fn mangled(bytes: &[u8]) -> Vec<Vec<u8>> {
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut mangled = bytes.to_vec();
        change(&mut mangled);
        mangled
    };
    let interesting = (0..bytes.len()).filter(|at| bytes[*at] != 0).step_by(601);
    let overwritten = interesting.map(|at| with(&|bytes| bytes[at] ^= 0x55));
    let sectors =
        (0..bytes.len() / 512).filter(|sector| bytes[sector * 512..][..512].iter().any(|byte| *byte != 0));
    let zeroed = sectors.step_by(5).map(|sector| with(&|bytes| bytes[sector * 512..][..512].fill(0)));
    let cut = (0..8).map(|part| with(&|bytes| bytes.truncate(bytes.len() * part / 8)));
    overwritten.chain(zeroed).chain(cut).collect()
}

#[test]
fn damaged_file_without_copy_is_set_aside() {
    for damage in ["", "short", "this is no database, however long it may be, and never was one at all"] {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("live.redb");
        fs::write(&file, damage).unwrap();
        let (mut journal, changes, found) = open(&directory);
        assert!(changes.is_empty());
        if let Some(told) = &found.damage {
            assert_eq!(fs::read(told.set_aside.as_ref().unwrap()).unwrap(), damage.as_bytes());
            assert_eq!(told.instead, Replacement::Nothing);
        } else {
            assert_eq!(damage, "", "an empty file is a new one");
        }
        write(&mut journal, vec![release("manual")]);
        drop(journal);
        assert_eq!(open(&directory).1, [release("manual")]);
    }
}

/// For every overwritten byte, either the result is a part of what was written, or the file is set aside.
/// Nothing is invented, and nothing panics.
#[test]
fn damaged_bytes_never_invent_changes() {
    let original = TempDir::new().unwrap();
    let (mut journal, ..) = open(&original);
    let written: Vec<Record> = (0..20).map(|host| want("manual", &[&format!("192.0.2.{host}")])).collect();
    written.iter().for_each(|change| write(&mut journal, vec![change.clone()]));
    drop(journal);
    let bytes = fs::read(original.path().join("live.redb")).unwrap();
    let interesting = bytes.iter().enumerate().filter(|(_, byte)| **byte != 0).map(|(at, _)| at);
    let (mut whole, mut refused) = (0, 0);
    for at in interesting.step_by(199) {
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
        let opened = Journal::open(directory.path(), &here(), &mut |change| changes.push(change));
        assert!(changes.iter().all(|change| written.contains(change)), "byte {at}");
        match opened {
            Ok((_, found, _)) if found.damage.is_some() || found.damaged_rows > 0 => refused += 1,
            Ok(_) => whole += usize::from(changes == written),
            Err(JournalError::Newer { .. }) => refused += 1,
            Err(error) => panic!("byte {at}: {error}"),
        }
    }
    assert!(whole > 0 && refused > 0, "{whole} harmless, {refused} noticed");
}
