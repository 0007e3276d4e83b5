//! A list file, whole: what is taken of it is sorted, and the same when it is written and read again.

use std::cell::OnceCell;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use filterd::source::list;
use tempfile::TempDir;

use crate::hold::Reader;
use crate::words;

/// Lines' buffer, and what is told of a hundred lines.
const FIXED: usize = 1 << 20;

/// A range of twenty bytes makes up to 254 prefixes of 32 bytes, in a vector that doubles.
const PER_BYTE: usize = 2048;

#[test]
fn any_list_file_is_read_and_what_it_says_is_read_again_alike() {
    Reader { name: "list", words: &words::TARGETS, fixed: FIXED, per_byte: PER_BYTE, read }.holds();
}

fn read(input: &[u8]) {
    let Ok(list) = list::read(&file(input)) else { return };
    let targets: Vec<_> = list.targets.iter().collect();
    assert!(targets.is_sorted(), "targets are sorted");
    if targets.is_empty() || targets.len() > 4096 {
        return;
    }
    let mut text = String::new();
    targets.iter().for_each(|target| writeln!(text, "{target}").expect("a string takes it"));
    let again = list::read(&file(text.as_bytes())).expect("it names targets");
    assert_eq!((again.targets, again.rejected_count), (list.targets, 0));
}

/// A file that says this; the same one for every input of a thread.
fn file(text: &[u8]) -> PathBuf {
    thread_local!(static HOME: OnceCell<TempDir> = const { OnceCell::new() });
    HOME.with(|home| {
        let path = home.get_or_init(|| TempDir::new().expect("/tmp can be written")).path().join("l.txt");
        fs::write(&path, text).expect("/tmp can be written");
        path
    })
}
