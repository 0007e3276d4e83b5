//! Tests of the times in copies: they are used as long as they are valid and undamaged.

use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use super::*;
use crate::blocklist::{Run, Targets};

const LIST: &str = "203.0.113.7\n198.51.100.7\n192.0.2.9\n";

fn targets(words: &[&str]) -> Targets {
    words.iter().map(|word| word.parse().unwrap()).collect()
}

/// Two entries with different times, and one that is over.
fn times() -> Times {
    let run =
        |since, word| Run { since: at(since), until: Some(at(since + 3600)), targets: targets(&[word]) };
    Times { runs: vec![run(7, "203.0.113.7"), run(9, "198.51.100.7")], spent: targets(&["192.0.2.9"]) }
}

fn lasting(seconds: u64) -> Option<Term> {
    Some(Term { ttl: Duration::from_secs(seconds), from: at(7) })
}

impl Place {
    /// Keeps a copy with these times and no other.
    fn keep_timed(&self) -> Accepted {
        let draft = self.draft("seen", LIST);
        let accepted = Accepted { term: lasting(3600), ..draft.accepted };
        let draft = ToKeep { accepted: accepted.clone(), times: Some(times()), ..draft };
        self.copies.keep(vec![draft], Vec::new()).remove(0).unwrap();
        accepted
    }

    /// Keeps the copy of `before` as the copy of this list.
    fn goes_on(&self, before: Accepted, accepted: &Accepted, times: Option<Times>) {
        let wanted = ToKeep { accepted: accepted.clone(), bytes: Bytes::before(before), times, before: None };
        self.copies.keep(vec![wanted], Vec::new()).remove(0).unwrap();
        assert_eq!(self.files(), 1);
        assert_eq!(self.copies.read(accepted, &How::default()).unwrap().targets.len(), 3);
    }

    fn times(&self, accepted: &Accepted) -> Option<Times> {
        self.copies.times(accepted).unwrap()
    }
}

#[test]
fn a_copy_tells_when_its_entries_came_and_goes_on_telling_it_under_another_name() {
    let place = Place::new();
    let seen = place.keep_timed();
    assert_eq!(place.times(&seen), Some(times()));
    assert_eq!(place.copies.read(&seen, &How::default()).unwrap().targets.len(), 3);
    let found = Accepted { name: "found".into(), ..seen.clone() };
    place.goes_on(seen, &found, None);
    assert_eq!(place.times(&found), Some(times()));
    let now = Times { spent: Targets::default(), ..times() };
    place.goes_on(found.clone(), &found, Some(now.clone()));
    assert_eq!(place.times(&found), Some(now), "what is told anew counts");
}

#[test]
fn with_another_time_to_live_nothing_of_that_is_true_any_more() {
    for term in [lasting(7200), None] {
        let place = Place::new();
        let seen = place.keep_timed();
        let other = Accepted { term, ..seen.clone() };
        place.goes_on(seen, &other, None);
        assert_eq!(place.times(&other), None);
    }
}

#[test]
fn what_is_on_trial_tells_its_own_and_what_was_before_stays_true() {
    let place = Place::new();
    let seen = place.keep_timed();
    let tried = Times { spent: Targets::default(), ..times() };
    let bytes = Bytes::before(seen.clone());
    let before = Some(seen.clone());
    let wanted = ToKeep { accepted: seen.clone(), bytes, times: Some(tried.clone()), before };
    place.copies.try_out(vec![wanted], Vec::new()).remove(0).unwrap();
    assert_eq!(place.times(&seen), Some(times()));
    assert_eq!(place.copies.times_on_trial(&seen).unwrap(), Some(tried.clone()));
    assert!(place.copies.take_all_tried().is_empty());
    assert_eq!(place.times(&seen), Some(tried), "it was confirmed");
}

#[test]
fn a_copy_in_hand_tells_it_too_and_is_put_back_with_it() {
    let place = Place::new();
    let seen = place.keep_timed();
    let held = place.copies.hold(&seen).unwrap();
    std::fs::remove_file(place.copies.path(&seen)).unwrap();
    assert_eq!(held.times().unwrap(), Some(times()));
    place.copies.put_back(&held).unwrap();
    assert_eq!(place.times(&seen), Some(times()));
}

#[test]
fn damaged_times_are_none_and_the_list_is_there_whatever_byte_it_is() {
    let place = Place::new();
    let seen = place.keep_timed();
    let path = place.copies.path(&seen);
    let whole = fs::read(&path).unwrap();
    let section = whole.len() - behind::length(&times()) as usize;
    let is_damaged = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        assert_eq!(place.copies.read(&seen, &How::default()).unwrap().targets.len(), 3);
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
fn times_are_found_in_the_time_of_whoever_reads_them() {
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
fn where_there_is_no_room_for_them_the_copy_of_before_stays() {
    let mut place = Place::new();
    let seen = place.keep_timed();
    place.copies.most = fs::metadata(place.copies.path(&seen)).unwrap().len() + header::LENGTH as u64 + 50;
    let bytes = Bytes::before(seen.clone());
    let wanted = ToKeep { accepted: seen.clone(), bytes, times: Some(times()), before: Some(seen.clone()) };
    let outcome = place.copies.keep(vec![wanted], Vec::new()).remove(0);
    assert!(matches!(outcome, Err(CopyError::Full { .. })), "{outcome:?}");
    assert_eq!((place.times(&seen), place.files()), (Some(times()), 1));
}
