//! Encodes changes as bytes. A row of the journal is a checksum, followed by records.
//!
//! A record is its kind, the length of the rest in four bytes, and its fields. A reader skips unknown
//! kinds, and unknown fields after known ones, so both can be added later. The first version wrote kinds
//! below [`FIRST_WITH_LENGTH`], which have no length; they must remain readable.
//!
//! Numbers are little endian. A text is its length in two bytes, followed by its bytes. Targets are the
//! number of single IPv4 addresses and these, then the number of the others, each as family, length and
//! address.

use std::sync::Arc;

use filter_common::target::{Prefix, Target};

use crate::blocklist::{Polarity, Record, Targets, Timestamp};
use crate::clock::{Boot, Moment};

/// Kinds without a length, as in format 1.
mod bare {
    pub const WANT: u8 = 1;
    pub const RELEASE: u8 = 2;
    pub const RELEASE_ALL: u8 = 3;
}

/// From this kind on, a length follows.
const FIRST_WITH_LENGTH: u8 = 16;

const WANT: u8 = 16;
const RELEASE: u8 = 17;
const RELEASE_ALL: u8 = 18;
/// A want of an allowed target. It has its own kind, so that older versions do not read it as blocked.
const WANT_ALLOWED: u8 = 19;
/// When and in whose time the row was written. Readers that do not know it take all times as wall time, as
/// the first version did. They are wrong by as much as the clock was set while the writer ran.
const MOMENT: u8 = 20;

/// A row differs from the bytes that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// The contents of a row.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DecodedRow {
    /// When it was written, in the time of its changes; none in rows of older versions.
    pub moment: Option<Moment>,
    /// Its changes, in the order in which they were made.
    pub changes: Vec<Record>,
    /// How many of its records have a kind that a newer version added.
    pub skipped: u64,
}

/// Encodes a row with these changes, written at this moment.
pub fn encode(changes: &[Record], at: &Moment) -> Vec<u8> {
    let mut row = vec![0; 4];
    with_length(&mut row, MOMENT, |row| put_moment(row, at));
    changes.iter().for_each(|change| put_record(&mut row, change));
    seal(&mut row);
    row
}

pub fn decode(row: &[u8]) -> Result<DecodedRow, Damaged> {
    let (sum, mut rest) = row.split_first_chunk::<4>().ok_or(Damaged)?;
    if crc32fast::hash(rest) != u32::from_le_bytes(*sum) {
        return Err(Damaged);
    }
    let mut row = DecodedRow::default();
    while !rest.is_empty() {
        match record(&mut rest).ok_or(Damaged)? {
            DecodedRecord::Change(change) => row.changes.push(change),
            DecodedRecord::Moment(moment) => row.moment = Some(moment),
            DecodedRecord::Not => row.skipped += 1,
        }
    }
    Ok(row)
}

fn seal(row: &mut [u8]) {
    let sum = crc32fast::hash(&row[4..]);
    row[..4].copy_from_slice(&sum.to_le_bytes());
}

fn put_record(row: &mut Vec<u8>, change: &Record) {
    let kind = match change {
        Record::Want { polarity: Polarity::Block, .. } => WANT,
        Record::Want { polarity: Polarity::Allow, .. } => WANT_ALLOWED,
        Record::Release { .. } => RELEASE,
        Record::ReleaseAll { .. } => RELEASE_ALL,
    };
    with_length(row, kind, |row| put_fields(row, change));
}

fn with_length(row: &mut Vec<u8>, kind: u8, put_fields: impl FnOnce(&mut Vec<u8>)) {
    row.push(kind);
    let length_at = row.len();
    put_number(row, 0);
    put_fields(row);
    let length = u32::try_from(row.len() - length_at - 4).expect("no request has gigabytes of targets");
    row[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
}

fn put_fields(row: &mut Vec<u8>, change: &Record) {
    match change {
        Record::Want { list, since, until, note, by, targets, .. } => {
            put_text(row, list);
            put_number(row, since.secs() as u32);
            put_number(row, until.map_or(0, |until| until.secs() as u32));
            put_text(row, note.as_deref().unwrap_or_default());
            put_targets(row, targets);
            put_text(row, by.as_deref().unwrap_or_default());
        }
        Record::Release { list, targets } => {
            put_text(row, list);
            put_targets(row, targets);
        }
        Record::ReleaseAll { list } => put_text(row, list),
    }
}

fn put_moment(row: &mut Vec<u8>, moment: &Moment) {
    let Moment { boot, offset, begun, own, wall } = moment;
    row.extend(boot.0);
    row.extend(offset.to_le_bytes());
    [begun, own, wall].into_iter().for_each(|time| put_number(row, time.secs() as u32));
}

fn put_text(row: &mut Vec<u8>, text: &str) {
    let length = u16::try_from(text.len()).expect("names and notes are short");
    row.extend(length.to_le_bytes());
    row.extend(text.as_bytes());
}

fn put_number(row: &mut Vec<u8>, number: u32) {
    row.extend(number.to_le_bytes());
}

fn put_targets(row: &mut Vec<u8>, targets: &Targets) {
    put_number(row, targets.addresses.len() as u32);
    targets.addresses.iter().for_each(|address| put_number(row, *address));
    put_number(row, (targets.len() - targets.addresses.len()) as u32);
    for target in targets.iter().skip(targets.addresses.len()) {
        match target {
            Target::V4(prefix) => {
                row.extend([4, prefix.length()]);
                put_number(row, prefix.address());
            }
            Target::V6(prefix) => {
                row.extend([6, prefix.length()]);
                row.extend(prefix.address().to_le_bytes());
            }
        }
    }
}

/// A record after decoding.
enum DecodedRecord {
    Change(Record),
    Moment(Moment),
    /// A record of an unknown kind.
    Not,
}

/// Reads the next record.
fn record(rest: &mut &[u8]) -> Option<DecodedRecord> {
    let [kind] = take(rest)?;
    if kind < FIRST_WITH_LENGTH {
        return bare_record(kind, rest).map(DecodedRecord::Change);
    }
    let length = number(rest)? as usize;
    let (mut fields, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    match kind {
        WANT => signed_want(Polarity::Block, &mut fields).map(DecodedRecord::Change),
        WANT_ALLOWED => signed_want(Polarity::Allow, &mut fields).map(DecodedRecord::Change),
        RELEASE => release(&mut fields).map(DecodedRecord::Change),
        RELEASE_ALL => release_all(&mut fields).map(DecodedRecord::Change),
        MOMENT => moment(&mut fields).map(DecodedRecord::Moment),
        _ => Some(DecodedRecord::Not),
    }
}

fn bare_record(kind: u8, rest: &mut &[u8]) -> Option<Record> {
    match kind {
        bare::WANT => want(Polarity::Block, rest),
        bare::RELEASE => release(rest),
        bare::RELEASE_ALL => release_all(rest),
        _ => None,
    }
}

fn want(polarity: Polarity, rest: &mut &[u8]) -> Option<Record> {
    let list = text(rest)?.into();
    let since = Timestamp::from_secs(number(rest)?);
    let until = Some(number(rest)?).filter(|until| *until != 0).map(Timestamp::from_secs);
    let note = words(rest)?;
    Some(Record::Want { list, polarity, since, until, note, by: None, targets: targets(rest)? })
}

/// Versions that did not record the author end a record after the targets.
fn signed_want(polarity: Polarity, rest: &mut &[u8]) -> Option<Record> {
    let mut change = want(polarity, rest)?;
    if let Record::Want { by, .. } = &mut change
        && !rest.is_empty()
    {
        *by = words(rest)?;
    }
    Some(change)
}

fn release(rest: &mut &[u8]) -> Option<Record> {
    Some(Record::Release { list: text(rest)?.into(), targets: targets(rest)? })
}

fn release_all(rest: &mut &[u8]) -> Option<Record> {
    Some(Record::ReleaseAll { list: text(rest)?.into() })
}

fn moment(rest: &mut &[u8]) -> Option<Moment> {
    let (boot, offset) = (Boot(take(rest)?), i64::from_le_bytes(take(rest)?));
    let mut time = || number(rest).map(Timestamp::from_secs);
    Some(Moment { boot, offset, begun: time()?, own: time()?, wall: time()? })
}

fn take<const COUNT: usize>(rest: &mut &[u8]) -> Option<[u8; COUNT]> {
    let (taken, behind) = rest.split_first_chunk::<COUNT>()?;
    *rest = behind;
    Some(*taken)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    take(rest).map(u32::from_le_bytes)
}

fn text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let length = u16::from_le_bytes(take(rest)?);
    let (text, behind) = rest.split_at_checked(length.into())?;
    *rest = behind;
    std::str::from_utf8(text).ok()
}

fn words(rest: &mut &[u8]) -> Option<Option<Arc<str>>> {
    Some(Some(text(rest)?).filter(|words| !words.is_empty()).map(Arc::from))
}

fn targets(rest: &mut &[u8]) -> Option<Targets> {
    let addresses = (0..number(rest)?).map(|_| number(rest)).collect::<Option<_>>()?;
    let mut targets = Targets { addresses, ..Targets::default() };
    for _ in 0..number(rest)? {
        targets.push(target(rest)?);
    }
    Some(targets)
}

fn target(rest: &mut &[u8]) -> Option<Target> {
    match take(rest)? {
        [4, length @ ..=32] => Some(Target::V4(Prefix::covering(number(rest)?, length))),
        [6, length @ ..=128] => {
            Some(Target::V6(Prefix::covering(take(rest).map(u128::from_le_bytes)?, length)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
