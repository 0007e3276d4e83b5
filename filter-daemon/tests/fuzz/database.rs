//! Databases of networks, and the registries' files: whatever they say has an end, and what is taken of them are lines that a
//! list has.

use std::io::Read;
use std::path::Path;

use filterd::source::database::delegated;
use filterd::source::database::mmdb::{self, Leaf, Mmdb};
use filterd::source::database::spans::Spans;
use filterd::source::{ReadOptions, SpecialRanges, list};

use crate::hold::Reader;
use crate::words;

/// More ranges are not kept.
const MOST: u64 = 2_000;

/// The buffer of lines, and as many ranges as are kept.
const FIXED: usize = 2 << 20;

#[test]
fn any_database_is_read_or_damaged() {
    let read = |input: &[u8]| _ = taken(input).map(|spans| must_be_a_list(&spans));
    Reader { name: "mmdb", words: &words::DATABASES, fixed: FIXED, per_byte: 256, read }.holds();
}

/// Nearly every change of the tree or the data leaves the description as it is, and few others do.
#[test]
fn database_with_description_is_read_or_damaged() {
    let described = crate::corpus::of("mmdb").remove(0);
    let at = described.windows(mmdb::MARKER.len()).rposition(|window| window == mmdb::MARKER);
    let description = described[at.expect("it has a description")..].to_vec();
    let read = |input: &[u8]| _ = taken(&[input, &description].concat()).map(|spans| must_be_a_list(&spans));
    Reader { name: "mmdb", words: &words::DATABASES, fixed: FIXED, per_byte: 256, read }.holds();
}

#[test]
fn any_file_of_a_registry_is_read() {
    let read = |input: &[u8]| {
        let mut spans = Spans::new(MOST);
        _ = delegated::is_one(input);
        delegated::read(input, |_| true, &mut spans).expect("bytes in memory can be read");
        spans.join();
        must_be_a_list(&spans);
    };
    Reader { name: "delegated", words: &words::DELEGATED, fixed: FIXED, per_byte: 256, read }.holds();
}

fn taken(input: &[u8]) -> Result<Spans, mmdb::DatabaseDamage> {
    let mut spans = Spans::new(MOST);
    Mmdb::new(input)?.each(|leaf, _| {
        match leaf {
            Leaf::V4(prefix) => spans.push4(prefix.first(), prefix.last()),
            Leaf::V6(prefix) => spans.push6(prefix),
        }
        !spans.join_if_full()
    })?;
    spans.join();
    Ok(spans)
}

/// No line of it is refused, and none names what another one names.
fn must_be_a_list(spans: &Spans) {
    let mut text = Vec::new();
    spans.lines().read_to_end(&mut text).expect("it is made in memory");
    let list = list::parse(Path::new("l"), &text[..], u64::MAX, &ReadOptions::plain(SpecialRanges::INCLUDED));
    let list = list.expect("bytes in memory can be read");
    assert_eq!(list.rejected_count, 0, "{:?}", list.rejected);
}

#[test]
fn the_corpus_is_of_databases() {
    let kept = crate::corpus::of("mmdb");
    let good = kept.iter().filter(|input| taken(input).is_ok()).count();
    assert!(good >= 3, "only {good} of {} can be read", kept.len());
}
