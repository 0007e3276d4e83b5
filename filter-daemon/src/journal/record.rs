//! Changes as bytes. A row of the journal is a checksum, and behind it changes one after another.
//!
//! Numbers are little endian. A text is its length in two bytes and then itself; targets are the number of single IPv4
//! addresses and these, then the number of the others, each as family, length and address.

use std::sync::Arc;

use filter_common::target::{Prefix, Target};

use crate::blocklist::{Record, Targets, Timestamp};

const WANT: u8 = 1;
const RELEASE: u8 = 2;
const RELEASE_ALL: u8 = 3;

/// A row is not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// The row of these changes.
pub fn encode(changes: &[Record]) -> Vec<u8> {
    let mut row = vec![0; 4];
    changes.iter().for_each(|change| put_change(&mut row, change));
    let sum = crc32fast::hash(&row[4..]);
    row[..4].copy_from_slice(&sum.to_le_bytes());
    row
}

/// The changes of this row.
pub fn decode(row: &[u8]) -> Result<Vec<Record>, Damaged> {
    let (sum, mut rest) = row.split_first_chunk::<4>().ok_or(Damaged)?;
    if crc32fast::hash(rest) != u32::from_le_bytes(*sum) {
        return Err(Damaged);
    }
    let mut changes = Vec::new();
    while !rest.is_empty() {
        changes.push(change(&mut rest).ok_or(Damaged)?);
    }
    Ok(changes)
}

fn put_change(row: &mut Vec<u8>, change: &Record) {
    match change {
        Record::Want { list, since, until, note, targets } => {
            row.push(WANT);
            put_text(row, list);
            put_number(row, since.secs() as u32);
            put_number(row, until.map_or(0, |until| until.secs() as u32));
            put_text(row, note.as_deref().unwrap_or_default());
            put_targets(row, targets);
        }
        Record::Release { list, targets } => {
            row.push(RELEASE);
            put_text(row, list);
            put_targets(row, targets);
        }
        Record::ReleaseAll { list } => {
            row.push(RELEASE_ALL);
            put_text(row, list);
        }
    }
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

fn change(rest: &mut &[u8]) -> Option<Record> {
    let [kind] = take(rest)?;
    let list: Arc<str> = text(rest)?.into();
    Some(match kind {
        WANT => {
            let since = Timestamp::from_secs(number(rest)?);
            let until = Some(number(rest)?).filter(|until| *until != 0).map(Timestamp::from_secs);
            let note = Some(text(rest)?).filter(|note| !note.is_empty()).map(Arc::from);
            Record::Want { list, since, until, note, targets: targets(rest)? }
        }
        RELEASE => Record::Release { list, targets: targets(rest)? },
        RELEASE_ALL => Record::ReleaseAll { list },
        _ => return None,
    })
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_targets() -> impl Strategy<Value = Targets> {
        let four = (any::<u32>(), 0..=32u8)
            .prop_map(|(address, length)| Target::V4(Prefix::covering(address, length)));
        let six = (any::<u128>(), 0..=128u8)
            .prop_map(|(address, length)| Target::V6(Prefix::covering(address, length)));
        prop::collection::vec(prop_oneof![four, six], 0..20).prop_map(|targets| targets.into_iter().collect())
    }

    fn any_change() -> impl Strategy<Value = Record> {
        let list = || "[a-z]{1,32}".prop_map(Arc::from);
        let moment = || (1..=u32::MAX).prop_map(Timestamp::from_secs);
        let note = prop::option::of("\\PC{1,80}".prop_map(Arc::from));
        let want = (list(), moment(), prop::option::of(moment()), note, any_targets()).prop_map(
            |(list, since, until, note, targets)| Record::Want { list, since, until, note, targets },
        );
        prop_oneof![
            want,
            (list(), any_targets()).prop_map(|(list, targets)| Record::Release { list, targets }),
            list().prop_map(|list| Record::ReleaseAll { list }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(changes in prop::collection::vec(any_change(), 0..5)) {
            prop_assert_eq!(decode(&encode(&changes)), Ok(changes));
        }

        #[test]
        fn a_flipped_bit_is_noticed(changes in prop::collection::vec(any_change(), 1..4), at in any::<prop::sample::Index>()) {
            let mut row = encode(&changes);
            let bit = at.index(row.len() * 8);
            row[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(decode(&row), Err(Damaged));
        }

        #[test]
        fn no_bytes_make_it_panic(mut row in prop::collection::vec(any::<u8>(), 0..200)) {
            _ = decode(&row);
            // The same behind a checksum that fits.
            let sum = crc32fast::hash(&row).to_le_bytes();
            row.splice(0..0, sum);
            _ = decode(&row);
        }
    }
}
