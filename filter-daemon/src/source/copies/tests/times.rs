//! Tests of the times in copies: they are used as long as they are valid and undamaged.

use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use super::*;
use crate::blocklist::{Targets, TimedTargets};

const LIST: &str = "203.0.113.7\n198.51.100.7\n192.0.2.9\n";

fn targets(words: &[&str]) -> Targets {
    words.iter().map(|word| word.parse().unwrap()).collect()
}

/// Two entries with different times, and one that is over.
fn times() -> EntryTimes {
    let run = |since, word| TimedTargets {
        since: at(since),
        until: Some(at(since + 3600)),
        targets: targets(&[word]),
    };
    EntryTimes { runs: vec![run(7, "203.0.113.7"), run(9, "198.51.100.7")], spent: targets(&["192.0.2.9"]) }
}

fn lasting(seconds: u64) -> Option<EntryTerm> {
    Some(EntryTerm { ttl: Duration::from_secs(seconds), from: at(7) })
}

impl Place {
    /// Keeps a copy with these times and no other.
    fn keep_timed(&self) -> AcceptedSource {
        let draft = self.draft("seen", LIST);
        let accepted = AcceptedSource { term: lasting(3600), ..draft.accepted };
        let draft = CopyToKeep { accepted: accepted.clone(), times: Some(times()), ..draft };
        self.copies.keep(vec![draft], Vec::new()).remove(0).unwrap();
        accepted
    }

    /// Keeps the copy of `before` as the copy of this list.
    fn goes_on(&self, before: AcceptedSource, accepted: &AcceptedSource, times: Option<EntryTimes>) {
        let wanted =
            CopyToKeep { accepted: accepted.clone(), bytes: CopySource::before(before), times, before: None };
        self.copies.keep(vec![wanted], Vec::new()).remove(0).unwrap();
        assert_eq!(self.files(), 1);
        assert_eq!(self.copies.read(accepted, &ReadOptions::default()).unwrap().targets.len(), 3);
    }

    fn times(&self, accepted: &AcceptedSource) -> Option<EntryTimes> {
        self.copies.times(accepted).unwrap()
    }
}

#[test]
fn times_survive_a_rename_of_the_list() {
    let place = Place::new();
    let seen = place.keep_timed();
    assert_eq!(place.times(&seen), Some(times()));
    assert_eq!(place.copies.read(&seen, &ReadOptions::default()).unwrap().targets.len(), 3);
    let found = AcceptedSource { name: "found".into(), ..seen.clone() };
    place.goes_on(seen, &found, None);
    assert_eq!(place.times(&found), Some(times()));
    let now = EntryTimes { spent: Targets::default(), ..times() };
    place.goes_on(found.clone(), &found, Some(now.clone()));
    assert_eq!(place.times(&found), Some(now), "what is told anew counts");
}

#[test]
fn changed_ttl_discards_times() {
    for term in [lasting(7200), None] {
        let place = Place::new();
        let seen = place.keep_timed();
        let other = AcceptedSource { term, ..seen.clone() };
        place.goes_on(seen, &other, None);
        assert_eq!(place.times(&other), None);
    }
}

#[test]
fn trial_and_earlier_copy_have_separate_times() {
    let place = Place::new();
    let seen = place.keep_timed();
    let tried = EntryTimes { spent: Targets::default(), ..times() };
    let bytes = CopySource::before(seen.clone());
    let before = Some(seen.clone());
    let wanted = CopyToKeep { accepted: seen.clone(), bytes, times: Some(tried.clone()), before };
    place.copies.try_out(vec![wanted], Vec::new()).remove(0).unwrap();
    assert_eq!(place.times(&seen), Some(times()));
    assert_eq!(place.copies.times_on_trial(&seen).unwrap(), Some(tried.clone()));
    assert!(place.copies.take_all_tried().is_empty());
    assert_eq!(place.times(&seen), Some(tried), "it was confirmed");
}

#[test]
fn open_copy_restores_times() {
    let place = Place::new();
    let seen = place.keep_timed();
    let held = place.copies.hold(&seen).unwrap();
    std::fs::remove_file(place.copies.path(&seen)).unwrap();
    assert_eq!(held.times().unwrap(), Some(times()));
    place.copies.put_back(&held).unwrap();
    assert_eq!(place.times(&seen), Some(times()));
}

#[test]
fn damaged_times_leave_the_list_usable() {
    let place = Place::new();
    let seen = place.keep_timed();
    let path = place.copies.path(&seen);
    let whole = fs::read(&path).unwrap();
    let section = whole.len() - behind::length(&times()) as usize;
    let is_damaged = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        assert_eq!(place.copies.read(&seen, &ReadOptions::default()).unwrap().targets.len(), 3);
        matches!(place.copies.times(&seen), Err(CopyError::Damaged))
    };
    for at in section..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        assert!(is_damaged(&bytes), "byte {at}");
        assert!(is_damaged(&whole[..at]), "{at} bytes");
    }
    assert!(is_damaged(&[&whole[..], b"9"].concat()));
    assert!(!is_damaged(&whole));
    // The copy that is made from it cannot recover the times, but the list remains.
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    place.goes_on(seen.clone(), &seen, None);
    assert_eq!(place.times(&seen), None);
}

/// Like all times in a copy, they are converted by the wall clock in another boot. The remaining time is kept
/// even if that clock is behind.
#[test]
fn times_are_converted_for_the_reader() {
    let place = Place::new();
    let seen = place.keep_timed();
    let path = place.copies.path(&seen);
    let written = Moment { boot: Boot([7; 16]), offset: 0, begun: at(0), own: at(50), wall: at(1050) };
    let times_at = header::read_all(&mut open(&path).unwrap(), &written).unwrap().times;
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&header::of(&seen, &written, times_at).unwrap(), 0).unwrap();
    let read = |here: Moment| {
        let mut file = open(&path).unwrap();
        let header = header::read_all(&mut file, &here).unwrap();
        file.seek(SeekFrom::Current(header.accepted.bytes as i64)).unwrap();
        let from = header.accepted.term.unwrap().from;
        (header.times(file).unwrap().unwrap(), from)
    };
    let next = |begun| Moment { boot: Boot([8; 16]), offset: 9, begun, own: begun, wall: begun };
    for (here, shift) in [(written, 0), (next(at(2000)), 1000), (next(at(0)), -50)] {
        assert_eq!(read(here), (times().later_by(shift), at(7).later_by(shift)), "{here:?}");
    }
}

#[test]
fn earlier_copy_stays_without_room_for_times() {
    let mut place = Place::new();
    let seen = place.keep_timed();
    place.copies.most = fs::metadata(place.copies.path(&seen)).unwrap().len() + header::LENGTH as u64 + 50;
    let bytes = CopySource::before(seen.clone());
    let wanted =
        CopyToKeep { accepted: seen.clone(), bytes, times: Some(times()), before: Some(seen.clone()) };
    let outcome = place.copies.keep(vec![wanted], Vec::new()).remove(0);
    assert!(matches!(outcome, Err(CopyError::Full { .. })), "{outcome:?}");
    assert_eq!((place.times(&seen), place.files()), (Some(times()), 1));
}
