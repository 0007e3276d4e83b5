//! Lists in all forms, recognised or said to be one of them: nothing is named twice, what is taken is the same when it is read
//! as a plain list, and what is told of the rest is short and harmless.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

use filterd::source::list::{self, ListFile};
use filterd::source::{Column, Format, ReadOptions, SpecialRanges};

use crate::hold::Reader;
use crate::words;

/// More are not taken; a range of twenty bytes makes up to 254.
const MOST: u64 = 2_000;

/// The buffers of lines and of a folder's files, as many targets as may be in memory in vectors that double (twice: a set's are
/// gathered beside), and what is told of a hundred lines.
const FIXED: usize = 4 << 20;

/// A byte of a file's name takes at most so many when it is shown.
const ESCAPED: usize = 10;

#[test]
fn list_in_any_form_round_trips() {
    Reader { name: "forms", words: &words::FORMS, fixed: FIXED, per_byte: 64, read }.holds();
}

fn read(input: &[u8]) {
    holds(input, &ReadOptions::recognised(SpecialRanges::INCLUDED));
    // Every form has to do with every input, now and then.
    let sum = input.iter().fold(input.len(), |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
    let format = Some(Format::ALL[sum % Format::ALL.len()]);
    let column = [None, Some(Column::Number(2)), Some(Column::Name("ip".into()))][sum / 16 % 3].clone();
    let min_score = [None, Some(3)][sum / 64 % 2];
    holds(input, &ReadOptions { format, column, min_score, ..ReadOptions::default() });
}

fn holds(input: &[u8], how: &ReadOptions) {
    let list = parsed(input, how);
    let targets: Vec<_> = list.targets.iter().collect();
    let distinct: HashSet<_> = targets.iter().collect();
    assert_eq!(distinct.len(), targets.len(), "no target is named twice");
    for line in &list.rejected {
        let told = line.to_string();
        let most = 600 + ESCAPED * line.path.as_os_str().len();
        assert!(told.len() < most && !told.contains(char::is_control), "{told:?}");
        assert!(!line.within().contains(char::is_control), "{told:?}");
    }
    let mut text = String::new();
    targets.iter().for_each(|target| writeln!(text, "{target}").expect("a string takes it"));
    let again = parsed(text.as_bytes(), &ReadOptions::plain(SpecialRanges::INCLUDED));
    assert_eq!((again.targets, again.rejected_count), (list.targets, 0));
}

fn parsed(text: &[u8], how: &ReadOptions) -> ListFile {
    list::parse(Path::new("l.txt"), text, MOST, how).expect("bytes in memory can be read")
}

#[test]
fn the_corpus_has_every_form() {
    let forms: HashSet<_> = crate::corpus::of("forms")
        .iter()
        .map(|input| parsed(input, &ReadOptions::default()).format)
        .collect();
    assert_eq!(forms.len(), Format::ALL.len(), "{forms:?}");
}
