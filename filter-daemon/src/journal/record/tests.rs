//! Tests rows of both formats, and of future ones.

use proptest::prelude::*;

use super::*;

const AT: Moment = {
    let time = Timestamp::from_secs(1_800_000_000);
    Moment { boot: Boot([7; 16]), offset: 1_799_999_000_000, begun: time, own: time, wall: time }
};

/// The length of the moment in a row: kind, length and fields.
const MOMENT_LENGTH: usize = 1 + 4 + 16 + 8 + 3 * 4;

/// Encodes these changes as commit aabf86b did.
fn encode_format_1(changes: &[Record]) -> Vec<u8> {
    let mut row = vec![0; 4];
    for change in changes {
        row.push(match change {
            Record::Want { .. } => bare::WANT,
            Record::Release { .. } => bare::RELEASE,
            Record::ReleaseAll { .. } => bare::RELEASE_ALL,
        });
        put_fields(&mut row, change);
        if let Record::Want { by, .. } = change {
            row.truncate(row.len() - 2 - by.as_ref().map_or(0, |by| by.len()));
        }
    }
    seal(&mut row);
    row
}

/// The change without its author, which older versions did not write.
fn unsigned(change: Record) -> Record {
    match change {
        Record::Want { list, polarity, since, until, note, targets, .. } => {
            Record::Want { list, polarity, since, until, note, by: None, targets }
        }
        other @ (Record::Release { .. } | Record::ReleaseAll { .. }) => other,
    }
}

/// A row of these records, each a kind and its fields.
fn row_of(records: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut row = vec![0; 4];
    for (kind, fields) in records {
        row.push(*kind);
        put_number(&mut row, fields.len() as u32);
        row.extend(fields);
    }
    seal(&mut row);
    row
}

fn fields_of(change: &Record) -> (u8, Vec<u8>) {
    let row = encode(std::slice::from_ref(change), &AT);
    let row = &row[4 + MOMENT_LENGTH..];
    (row[0], row[5..].to_vec())
}

/// Decodes a row without its moment.
fn decode_changes(row: &[u8]) -> Result<(Vec<Record>, u64), Damaged> {
    decode(row).map(|row| (row.changes, row.skipped))
}

fn all(changes: Vec<Record>) -> Result<(Vec<Record>, u64), Damaged> {
    Ok((changes, 0))
}

fn any_targets() -> impl Strategy<Value = Targets> {
    let four =
        (any::<u32>(), 0..=32u8).prop_map(|(address, length)| Target::V4(Prefix::covering(address, length)));
    let six = (any::<u128>(), 0..=128u8)
        .prop_map(|(address, length)| Target::V6(Prefix::covering(address, length)));
    prop::collection::vec(prop_oneof![four, six], 0..20).prop_map(|targets| targets.into_iter().collect())
}

fn any_change() -> impl Strategy<Value = Record> {
    let list = || "[a-z]{1,32}".prop_map(Arc::from);
    let moment = || (1..=u32::MAX).prop_map(Timestamp::from_secs);
    let note = prop::option::of("\\PC{1,80}".prop_map(Arc::from));
    let want = (list(), moment(), prop::option::of(moment()), (note.clone(), note), any_targets()).prop_map(
        |(list, since, until, (note, by), targets)| {
            let polarity = Polarity::Block;
            Record::Want { list, polarity, since, until, note, by, targets }
        },
    );
    prop_oneof![
        want,
        (list(), any_targets()).prop_map(|(list, targets)| Record::Release { list, targets }),
        list().prop_map(|list| Record::ReleaseAll { list }),
    ]
}

fn any_moment() -> impl Strategy<Value = Moment> {
    (any::<[u8; 16]>(), any::<i64>(), any::<[u32; 3]>()).prop_map(|(boot, offset, times)| {
        let [begun, own, wall] = times.map(Timestamp::from_secs);
        Moment { boot: Boot(boot), offset, begun, own, wall }
    })
}

fn any_changes() -> impl Strategy<Value = Vec<Record>> {
    prop::collection::vec(any_change(), 1..5)
}

proptest! {
    #[test]
    fn rows_round_trip(changes in any_changes(), moment in any_moment()) {
        let read = DecodedRow { moment: Some(moment), changes: changes.clone(), skipped: 0 };
        prop_assert_eq!(decode(&encode(&changes, &moment)), Ok(read));
    }

    #[test]
    fn format_1_rows_are_read(changes in any_changes()) {
        let changes: Vec<_> = changes.into_iter().map(unsigned).collect();
        prop_assert_eq!(decode_changes(&encode_format_1(&changes)), all(changes));
    }

    #[test]
    fn a_kind_that_is_not_known_is_skipped(
        changes in any_changes(),
        kind in MOMENT + 1..,
        fields in prop::collection::vec(any::<u8>(), 0..50),
        at in any::<prop::sample::Index>(),
    ) {
        let mut records: Vec<_> = changes.iter().map(fields_of).collect();
        records.insert(at.index(changes.len() + 1), (kind, fields));
        prop_assert_eq!(decode_changes(&row_of(&records)), Ok((changes, 1)));
    }

    #[test]
    fn fields_that_are_not_known_are_ignored(changes in any_changes(), more in prop::collection::vec(any::<u8>(), 1..50)) {
        let longer = |change| {
            let (kind, fields) = fields_of(change);
            (kind, [fields, more.clone()].concat())
        };
        let records: Vec<_> = changes.iter().map(longer).collect();
        prop_assert_eq!(decode_changes(&row_of(&records)), all(changes));
    }

    #[test]
    fn fields_that_are_missing_are_damage(change in any_change(), cut in any::<prop::sample::Index>()) {
        let (kind, mut fields) = fields_of(&change);
        fields.truncate(cut.index(fields.len()));
        // A record without an author is valid, because older versions wrote such ones.
        prop_assume!(kind != WANT || decode_changes(&row_of(&[(kind, fields.clone())])) != all(vec![unsigned(change)]));
        prop_assert_eq!(decode(&row_of(&[(kind, fields)])), Err(Damaged));
    }

    #[test]
    fn old_records_have_no_author(change in any_change()) {
        let (kind, mut fields) = fields_of(&change);
        if let Record::Want { by, .. } = &change {
            fields.truncate(fields.len() - 2 - by.as_ref().map_or(0, |by| by.len()));
        }
        prop_assert_eq!(decode_changes(&row_of(&[(kind, fields)])), all(vec![unsigned(change)]));
    }

    #[test]
    fn a_moment_that_is_cut_short_is_damage(length in 0..MOMENT_LENGTH - 5) {
        prop_assert_eq!(decode(&row_of(&[(MOMENT, vec![7; length])])), Err(Damaged));
    }

    #[test]
    fn a_flipped_bit_is_noticed(changes in any_changes(), at in any::<prop::sample::Index>()) {
        for mut row in [encode(&changes, &AT), encode_format_1(&changes)] {
            let bit = at.index(row.len() * 8);
            row[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(decode(&row), Err(Damaged));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(rest in prop::collection::vec(any::<u8>(), 0..200)) {
        _ = decode(&rest);
        // The same bytes with a valid checksum.
        let mut row = [vec![0; 4], rest].concat();
        seal(&mut row);
        _ = decode(&row);
    }

    #[test]
    fn no_overwritten_byte_makes_it_panic(changes in any_changes(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        for mut row in [encode(&changes, &AT), encode_format_1(&changes)] {
            let at = 4 + at.index(row.len() - 4);
            row[at] = byte;
            seal(&mut row);
            _ = decode(&row);
        }
    }
}

#[test]
fn unknown_kind_without_length_is_damage() {
    for kind in [0, 4, FIRST_WITH_LENGTH - 1] {
        assert_eq!(decode(&row_of(&[(kind, Vec::new())])), Err(Damaged), "kind {kind}");
    }
}

/// A version from before allow lists skips the record, rather than block its targets.
#[test]
fn allow_has_its_own_kind() {
    let targets: Targets = ["192.0.2.1".parse().unwrap()].into_iter().collect();
    let (since, until) = (Timestamp::from_secs(7), Some(Timestamp::from_secs(9)));
    let allowed = Record::Want {
        list: "office".into(),
        polarity: Polarity::Allow,
        since,
        until,
        by: Some("alice (filterd add)".into()),
        note: Some("why".into()),
        targets,
    };
    let (kind, _) = fields_of(&allowed);
    assert!(![WANT, RELEASE, RELEASE_ALL].contains(&kind));
    assert_eq!(decode_changes(&encode(std::slice::from_ref(&allowed), &AT)), all(vec![allowed]));
}
