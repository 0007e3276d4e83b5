//! Tests files of every past format, and of future ones.

use redb::{Database, ReadableDatabase};

use super::super::store::{ABOUT, FORMAT};
use super::*;

/// Written by commit aabf86b; tests/fixtures/journal-1.sh shows how.
const OF_FORMAT_1: &[u8] = include_bytes!("../../../../tests/fixtures/journal-1.redb");
/// A file of a future version, with the format that it will name.
const OF_A_NEWER: &[u8] = include_bytes!("../../../../tests/fixtures/journal-of-a-newer.redb");
const NEWER: u64 = 1000;
const SINCE: u64 = 1_795_310_746;

fn format_of(directory: &TempDir) -> Option<u64> {
    let database = Database::open(directory.path().join("live.redb")).unwrap();
    let about = database.begin_read().unwrap().open_table(ABOUT).ok()?;
    about.get("format").unwrap().map(|format| format.value())
}

/// The entries after all changes: list, target, expiry in seconds after `SINCE`, and note.
fn entries(changes: &[Record]) -> Vec<(String, String, Option<u64>, String)> {
    let mut entries = std::collections::BTreeMap::new();
    for change in changes {
        match change {
            Record::Want { list, polarity, since, until, note, by, targets } => {
                assert_eq!(*polarity, Polarity::Block);
                assert!((SINCE..SINCE + 10).contains(&since.secs()), "{since:?}");
                assert_eq!(*by, None, "nobody wrote that then");
                let until = until.map(|until| until.secs() - SINCE);
                let note = note.as_deref().unwrap_or_default().to_owned();
                for target in targets.iter() {
                    entries.insert((list.to_string(), target.to_string()), (until, note.clone()));
                }
            }
            Record::Release { list, targets } => {
                targets.iter().for_each(|target| _ = entries.remove(&(list.to_string(), target.to_string())));
            }
            Record::ReleaseAll { list } => entries.retain(|(of, _), _| **of != **list),
        }
    }
    entries.into_iter().map(|((list, target), (until, note))| (list, target, until, note)).collect()
}

fn assert_is_the_fixture(changes: &[Record]) {
    let (many, others): (Vec<_>, Vec<_>) =
        entries(changes).into_iter().partition(|(list, ..)| list == "many");
    let hosts = (0..100).chain(200..300).map(|host: u32| format!("10.77.{}.{}", host >> 8, host & 255));
    let mut hosts: Vec<String> = hosts.collect();
    hosts.sort();
    assert_eq!(many.into_iter().map(|(_, target, ..)| target).collect::<Vec<_>>(), hosts);
    let ten_years = Some(314_496_001);
    let expected = [
        ("both", "192.0.2.1", None, "also here"),
        ("brief", "198.51.100.9", Some(2), ""),
        ("busy", "2001:db8:200::/56", None, ""),
        ("flushed", "192.0.2.61", ten_years, "came back"),
        ("manual", "192.0.2.1", None, ""),
        ("manual", "198.51.100.0/24", None, ""),
        ("manual", "2001:db8:1:2::/64", None, ""),
        ("manual", "2001:db8::7", None, ""),
        ("manual", "2001:db8:bad::/48", None, ""),
        ("short", "192.0.2.50", None, ""),
        ("short", "192.0.2.52", None, ""),
        ("ssh", "10.1.0.0/25", None, ""),
        ("ssh", "2001:db8::23", ten_years, "23 doors: ünïcode"),
        ("ssh", "203.0.113.7", ten_years, "23 doors: ünïcode"),
        ("ssh", "203.0.113.8", Some(302_400_001), ""),
    ];
    let others: Vec<_> = others
        .iter()
        .map(|(list, target, until, note)| (list.as_str(), target.as_str(), *until, note.as_str()))
        .collect();
    assert_eq!(others, expected);
}

#[test]
fn format_1_file_is_continued() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("live.redb"), OF_FORMAT_1).unwrap();
    let (journal, changes, found) = open(&directory);
    assert_is_the_fixture(&changes);
    assert_eq!((found.damaged_rows, found.skipped), (0, 0));
    assert!(found.damage.is_none());
    drop(journal);
    assert_eq!(format_of(&directory), Some(1), "an upgrade that is taken back has changed nothing");

    let (mut journal, again, _) = open(&directory);
    assert_eq!(again, changes);
    let more = vec![want("later", &["192.0.2.9", "2001:db8::9"]), release("later")];
    write(&mut journal, more.clone());
    drop(journal);
    assert_eq!(format_of(&directory), Some(FORMAT));
    assert_eq!(open(&directory).1, [changes, more].concat());
}

#[test]
fn the_format_is_that_of_the_first_row() {
    let directory = TempDir::new().unwrap();
    drop(open(&directory));
    assert_eq!(format_of(&directory), None);
    write(&mut open(&directory).0, vec![release("manual")]);
    assert_eq!(format_of(&directory), Some(FORMAT));
}

#[test]
fn unknown_records_are_skipped_and_counted() {
    let directory = TempDir::new().unwrap();
    let known = [want("manual", &["192.0.2.1"]), release("manual")];
    let mut journal = open(&directory).0;
    known.iter().for_each(|change| write(&mut journal, vec![change.clone()]));
    drop(journal);
    let mut row = vec![0; 4];
    row.extend([200, 3, 0, 0, 0, b'n', b'e', b'w']);
    let sum = crc32fast::hash(&row[4..]);
    row[..4].copy_from_slice(&sum.to_le_bytes());
    let database = Database::open(directory.path().join("live.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(super::super::store::ROWS).unwrap().insert(2, &*row).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let (mut journal, changes, found) = open(&directory);
    assert_eq!(changes, known);
    assert_eq!((found.skipped, found.damaged_rows), (1, 0));
    write(&mut journal, vec![release("behind")]);
    drop(journal);
    assert_eq!(open(&directory).1.last(), Some(&release("behind")));
}

#[test]
fn newer_format_is_left_unchanged() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("live.redb");
    fs::write(&path, OF_A_NEWER).unwrap();
    let opened = Journal::open(directory.path(), &here(), &mut |_| {});
    assert!(matches!(opened, Err(JournalError::Newer { found: NEWER, known: FORMAT, .. })));
    drop(opened);
    assert_eq!(format_of(&directory), Some(NEWER));
}

/// Writes tests/fixtures/journal-of-a-newer.redb again: `cargo test -p filter-daemon --lib -- --ignored
/// of_a_newer`.
#[test]
#[ignore = "it writes a fixture"]
fn of_a_newer() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/journal-of-a-newer.redb");
    _ = fs::remove_file(&path);
    let mut database = Database::create(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(ABOUT).unwrap().insert("format", NEWER).unwrap();
    // Rows that this version cannot read, and would report as damaged.
    transaction.open_table(super::super::store::ROWS).unwrap().insert(0, &b"another format"[..]).unwrap();
    transaction.commit().unwrap();
    database.compact().unwrap();
}

/// Writes tests/fixtures/journal-of-2100.redb again: `cargo test -p filter-daemon --lib -- --ignored
/// of_2100`.
#[test]
#[ignore = "it writes a fixture"]
fn of_2100() {
    use super::super::store::{JournalStore, RowStore};
    use crate::clock::Boot;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/journal-of-2100.redb");
    _ = fs::remove_file(&path);
    let (mut store, _) = JournalStore::read(&path).unwrap();
    let then = |seconds: u32| Timestamp::from_secs(4_102_444_800 + seconds);
    let moment = |seconds| Moment {
        boot: Boot(*b"another boot 210"),
        offset: 4_102_400_000_000,
        begun: then(0),
        own: then(seconds),
        wall: then(seconds),
    };
    let want = |word: &str, since, until: Option<u32>| Record::Want {
        list: "manual".into(),
        polarity: Polarity::Block,
        since: then(since),
        until: until.map(then),
        note: None,
        by: Some("alice as root (filterd add)".into()),
        targets: [word.parse().unwrap()].into_iter().collect(),
    };
    store.append(&[want("203.0.113.7", 1, Some(63))], &moment(1)).unwrap();
    store.append(&[want("2001:db8:bad::7", 2, Some(1860))], &moment(2)).unwrap();
    store.append(&[want("198.51.100.7", 60, None)], &moment(60)).unwrap();
    drop(store);
    // Unused space need not be in the repository.
    Database::open(&path).unwrap().compact().unwrap();
}
