//! Rows of the journal: what is not what was written is told to be damaged, and what is right is written as it was read.

use filterd::clock;
use filterd::journal::record;

use crate::hold::Reader;

const FIXED: usize = 64 * 1024;

/// The shortest record, a release of three bytes, takes some hundred in memory, in a vector that doubles.
const PER_BYTE: usize = 256;

#[test]
fn row_is_intact_or_damaged() {
    Reader { name: "record", words: &[], fixed: FIXED, per_byte: PER_BYTE, read }.holds();
}

/// Nearly every change spoils the checksum, and what stands behind it is not looked at then.
#[test]
fn checksummed_row_is_read_or_damaged() {
    let read = |input: &[u8]| read(&sealed(input));
    Reader { name: "record", words: &[], fixed: FIXED, per_byte: PER_BYTE, read }.holds();
}

fn read(input: &[u8]) {
    let Ok(row) = record::decode(input) else { return };
    let moment = row.moment.unwrap_or_else(clock::moment);
    let again = record::decode(&record::encode(&row.changes, &moment)).expect("what was read can be written");
    assert_eq!((again.moment, again.changes, again.skipped), (Some(moment), row.changes, 0));
}

fn sealed(input: &[u8]) -> Vec<u8> {
    let row = input.get(4..).unwrap_or_default();
    [&crc32fast::hash(row).to_le_bytes(), row].concat()
}
