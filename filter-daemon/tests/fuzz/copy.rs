//! Copies of lists: what is not what was written is damaged, and what was written is read again.

use filterd::clock;
use filterd::source::copies::{self, header};
use filterd::source::{AcceptedSource, ListFile, ReadOptions, SpecialRanges, list};

use crate::hold::Reader;
use crate::words;

/// The header, the buffer of lines, and what is told of a hundred of them.
const FIXED: usize = 2 << 20;

/// A header may say that any number of targets is meant, and a range of eight bytes makes up to 254 of them, in a vector
/// that doubles.
const PER_BYTE: usize = 2048;

#[test]
fn any_copy_is_what_was_written_or_damaged() {
    let read = |input: &[u8]| {
        let Some((accepted, list)) = read(input) else { return };
        assert!(list.targets.len() as u64 <= accepted.entries, "more than were accepted");
    };
    Reader { name: "copy", words: &words::COPIES, fixed: FIXED, per_byte: PER_BYTE, read }.holds();
}

/// Nearly every change spoils the sum of the header, and what stands behind it is not looked at then. A header that was made
/// so may count as it likes.
#[test]
fn checksummed_header_is_read_or_damaged() {
    let read = |input: &[u8]| _ = read(&sealed(input));
    Reader { name: "copy", words: &words::COPIES, fixed: FIXED, per_byte: PER_BYTE, read }.holds();
}

#[test]
fn kept_list_is_read_unchanged() {
    let read = |input: &[u8]| {
        let (_, list) = parted(input);
        let Ok(found) = header::read(&mut &sealed(input)[..], &clock::moment()) else { return };
        let (bytes, checksum) = (list.len() as u64, crc32fast::hash(list));
        let accepted = AcceptedSource { bytes, checksum, ..found };
        let (again, kept) = copies::whole(&written(&accepted, list)[..], &how()).expect("nothing is damaged");
        assert_eq!(again, accepted);
        let read = list::parse(&accepted.path, list, u64::MAX, &how()).expect("bytes in memory can be read");
        assert_eq!(kept, read);
    };
    Reader { name: "copy", words: &words::COPIES, fixed: FIXED, per_byte: 2 * PER_BYTE, read }.holds();
}

fn read(input: &[u8]) -> Option<(AcceptedSource, ListFile)> {
    let (accepted, list) = copies::whole(input, &how()).ok()?;
    // What may stand behind them is somebody else's (`times`).
    let bytes = &input[header::LENGTH..][..accepted.bytes as usize];
    assert_eq!(accepted.checksum, crc32fast::hash(bytes), "other bytes than were written");
    let again = copies::whole(&written(&accepted, bytes)[..], &how()).expect("what was read can be written");
    assert_eq!(again, (accepted.clone(), list));
    Some(again)
}

fn how() -> ReadOptions {
    ReadOptions::recognised(SpecialRanges::INCLUDED)
}

fn written(accepted: &AcceptedSource, list: &[u8]) -> Vec<u8> {
    let header = header::of(accepted, &clock::moment(), None)
        .expect("a header that was read fits, and so does what it says");
    [&header, list].concat()
}

/// The corpus has what a header says, an empty line, and the list.
fn parted(input: &[u8]) -> (&[u8], &[u8]) {
    let end = input.windows(2).position(|two| two == b"\n\n").map_or(input.len(), |at| at + 1);
    (&input[..end], input.get(end + 1..).unwrap_or_default())
}

fn sealed(input: &[u8]) -> Vec<u8> {
    let (said, list) = parted(input);
    let first = format!("{}\nsum {:08x} {}\n", header::MAGIC, crc32fast::hash(said), said.len());
    let mut copy = [first.as_bytes(), said].concat();
    copy.resize(header::LENGTH, 0);
    [&copy, list].concat()
}

#[test]
fn the_corpus_is_of_copies() {
    let kept = crate::corpus::of("copy");
    let good = kept.iter().filter(|input| copies::whole(&sealed(input)[..], &how()).is_ok()).count();
    assert!(good >= 4, "only {good} of {} are whole", kept.len());
}
