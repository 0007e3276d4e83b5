//! A list, whole: nothing is taken of it twice, and what is taken is the same when it is written and read again.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

use filterd::source::list::{self, ListFile};
use filterd::source::{ReadOptions, SpecialRanges};

use crate::hold::Reader;
use crate::words;

/// More are not read; a range of twenty bytes makes up to 254.
const MOST: u64 = 2_000;

/// The buffer of lines, as many targets as may be in memory in vectors that double, and what is told of a hundred lines.
const FIXED: usize = 2 << 20;

#[test]
fn any_list_round_trips() {
    Reader { name: "list", words: &words::TARGETS, fixed: FIXED, per_byte: 64, read }.holds();
}

fn read(input: &[u8]) {
    let list = parsed(input);
    let targets: Vec<_> = list.targets.iter().collect();
    let distinct: HashSet<_> = targets.iter().collect();
    assert_eq!(distinct.len(), targets.len(), "no target is named twice");
    let mut text = String::new();
    targets.iter().for_each(|target| writeln!(text, "{target}").expect("a string takes it"));
    let again = parsed(text.as_bytes());
    assert_eq!((again.targets, again.rejected_count), (list.targets, 0));
}

fn parsed(text: &[u8]) -> ListFile {
    list::parse(Path::new("l.txt"), text, MOST, &ReadOptions::plain(SpecialRanges::INCLUDED))
        .expect("bytes in memory can be read")
}
