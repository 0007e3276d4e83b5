//! Pages of the journal's file: whatever they are made to say, only what was written is read, or the file is damaged.

use std::cell::Cell;
use std::fs;
use std::panic;
use std::path::Path;
use std::sync::Once;

use filterd::blocklist::{Polarity, Record, Timestamp};
use filterd::clock;
use filterd::journal::store::{JournalStore, RowStore};
use tempfile::TempDir;

use crate::hold::{INPUTS, Reader, number};
use crate::random::Random;

/// redb's own tables, and what it remembers of pages.
const FIXED: usize = 16 << 20;
const PER_BYTE: usize = 64;

/// A table's own page is named within so many bytes.
const BEHIND_ITS_NAME: usize = 600;

/// What redb reads, writes and compares by.
const PAGE: usize = 4096;

/// What commit aabf86b wrote.
const OF_FORMAT_1: &[u8] = include_bytes!("../../../tests/fixtures/journal-1.redb");

thread_local! {
    static IS_READING: Cell<bool> = const { Cell::new(false) };
}

#[test]
fn damaged_pages_never_invent_rows() {
    hush_what_is_caught();
    let home = TempDir::new().expect("/tmp can be written");
    let path = home.path().join("live.redb");
    let files = [OF_FORMAT_1.to_vec(), written_now(&path)];
    let written: Vec<Record> =
        files.iter().flat_map(|file| changes_in(&path, file).expect("it is whole")).collect();
    let read = |input: &[u8]| {
        let changes = changes_in(&path, input).unwrap_or_default();
        changes.iter().for_each(|change| assert!(written.contains(change), "nobody wrote {change:?}"));
    };
    let reader = Reader { name: "pages", words: &[], fixed: FIXED, per_byte: PER_BYTE, read };
    let (mut random, inputs) = (Random(number("FILTERD_SEED", 0)), number("FILTERD_FUZZ", INPUTS));
    (0..inputs).for_each(|_| reader.feed(&mangled(&files, &mut random)));
    println!("pages: {inputs} inputs");
}

/// redb would look into this table before anything has been verified.
#[test]
fn requested_page_fits_the_file() {
    const TABLE: &[u8] = b"allocator_state";
    hush_what_is_caught();
    let home = TempDir::new().expect("/tmp can be written");
    let path = home.path().join("live.redb");
    let file = written_now(&path);
    let reader = Reader {
        name: "pages",
        words: &[],
        fixed: FIXED,
        per_byte: PER_BYTE,
        read: |input: &[u8]| _ = changes_in(&path, input),
    };
    let names = file.windows(TABLE.len()).enumerate().filter(|(_, name)| *name == TABLE);
    let mut inputs = 0;
    for (name, _) in names {
        for at in (name..name + BEHIND_ITS_NAME).filter(|at| file[*at] == 0) {
            let mut input = file.clone();
            // The order of a page are the uppermost five bits of its number.
            input[at] = 16 << 3;
            reader.feed(&input);
            inputs += 1;
        }
    }
    assert!(inputs > 0, "there is no such table");
}

/// A file of today's format.
fn written_now(path: &Path) -> Vec<u8> {
    let (mut store, _) = JournalStore::read(path).expect("a new file can be made");
    for number in 0..20_u32 {
        let targets =
            (0..=number).map(|host| format!("192.0.2.{host}").parse().expect("it is one")).collect();
        let since = Timestamp::from_secs(1_800_000_000 + number);
        let polarity = if number % 4 == 0 { Polarity::Allow } else { Polarity::Block };
        let want = Record::Want {
            list: "ssh".into(),
            polarity,
            since,
            until: None,
            note: Some("why".into()),
            by: Some("root (filterd add)".into()),
            targets,
        };
        store
            .append(&[want, Record::ReleaseAll { list: format!("l{number}").into() }], &clock::moment())
            .expect("it can be written");
    }
    drop(store);
    fs::read(path).expect("it was just written")
}

/// What is read of a file that says this; none if it is damaged.
fn changes_in(path: &Path, file: &[u8]) -> Option<Vec<Record>> {
    fs::write(path, file).expect("/tmp can be written");
    IS_READING.set(true);
    let read = JournalStore::read(path);
    IS_READING.set(false);
    read.ok().map(|(_, contents)| contents.changes)
}

/// Bits, numbers, and whole pages in the wrong place; most often on the pages that tell where all others are.
fn mangled(files: &[Vec<u8>; 2], random: &mut Random) -> Vec<u8> {
    let mut file = files[random.below(2)].clone();
    for _ in 0..=random.below(4) {
        let near = if random.below(2) == 0 { 512 } else { file.len() };
        let at = random.below(near.min(file.len()));
        match random.below(6) {
            0 => file[at] ^= 1 << random.below(8),
            1 => file[at] = random.number() as u8,
            2 => file[at..].iter_mut().take(1 << random.below(4)).for_each(|byte| *byte = 0xff),
            3 => file[at..].iter_mut().take(1 << random.below(13)).for_each(|byte| *byte = 0),
            4 => move_page(&mut file, random),
            _ => file.truncate(PAGE.max(random.below(file.len() + 1))),
        }
    }
    file
}

fn move_page(file: &mut [u8], random: &mut Random) {
    let pages = file.len() / PAGE;
    let (from, to) = (random.below(pages) * PAGE, random.below(pages) * PAGE);
    file.copy_within(from..from + PAGE, to);
}

/// redb panics at some damage, which is caught: telling of it, with where it came from, would take most of the time.
fn hush_what_is_caught() {
    static HUSHED: Once = Once::new();
    HUSHED.call_once(|| {
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_READING.get() {
                tell(panic);
            }
        }));
    });
}
