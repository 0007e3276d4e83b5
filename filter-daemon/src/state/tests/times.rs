//! Tests of saved times: they are used as long as they are valid and undamaged.

use super::*;
use crate::blocklist::{Targets, TimedTargets};

const LIST: &str = "203.0.113.7\n198.51.100.7\n192.0.2.9\n";

fn targets(words: &[&str]) -> Targets {
    words.iter().map(|word| word.parse().unwrap()).collect()
}

/// Two entries with different times, and one that is over.
pub(super) fn times() -> EntryTimes {
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
    /// Saves a list with these times and no other.
    fn keep_timed(&self) -> AcceptedSource {
        let list = self.list("seen", LIST);
        let accepted = AcceptedSource { term: lasting(3600), ..list.accepted };
        self.save(vec![ListToSave { accepted, times: Some(times()), ..list }]);
        self.current().remove(0)
    }
}

#[test]
fn times_are_those_that_were_saved_last() {
    let place = Place::new();
    let seen = place.keep_timed();
    assert_eq!((place.store.times(&seen).unwrap(), place.blobs()), (Some(times()), 2));
    let found = AcceptedSource { name: "found".into(), ..seen };
    place.save(vec![ListToSave::again(&found)]);
    assert_eq!(place.store.times(&place.current()[0]).unwrap(), Some(times()), "it was renamed");
    let now = EntryTimes { spent: Targets::default(), ..times() };
    place.save(vec![ListToSave { times: Some(now.clone()), ..ListToSave::again(&found) }]);
    assert_eq!((place.store.times(&place.current()[0]).unwrap(), place.blobs()), (Some(now), 2));
    place.save(vec![ListToSave::again(&AcceptedSource { times: None, ..found })]);
    assert_eq!((place.store.times(&place.current()[0]).unwrap(), place.blobs()), (None, 1));
}

#[test]
fn open_copy_restores_times() {
    let place = Place::new();
    let seen = place.keep_timed();
    let held = place.store.hold(&seen).unwrap();
    fs::remove_dir_all(place.state.path().join("blobs")).unwrap();
    assert_eq!(held.times().unwrap(), Some(times()));
    place.store.put_back(&held).unwrap();
    assert_eq!(place.store.times(&seen).unwrap(), Some(times()));
}

#[test]
fn damaged_times_leave_the_list_usable() {
    let place = Place::new();
    let seen = place.keep_timed();
    let path = place.store.blobs.path(seen.times.unwrap().digest);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        for bytes in [&bytes, &whole[..at]] {
            fs::write(&path, bytes).unwrap();
            assert!(matches!(place.store.times(&seen), Err(CopyError::Damaged)), "byte {at}");
            assert_eq!(place.targets(&seen).unwrap(), 3);
        }
    }
}

/// The times of entries are not written again for another boot. Their shift is.
#[test]
fn shifts_add_up_from_boot_to_boot() {
    let place = Place::new();
    let seen = place.keep_timed();
    let mut generation = Generation { lists: vec![seen], ..Generation::default() };
    let moment = |boot, begun, own, wall| Moment { boot: BootId([boot; 16]), offset: 0, begun, own, wall };
    let mut written = moment(7, at(0), at(50), at(1050));
    // The first clock was 1000 s behind; the second one is 90 s behind the first.
    for (here, total) in
        [(moment(8, at(2000), at(2001), at(2001)), 1000), (moment(9, at(1911), at(1911), at(1911)), 910)]
    {
        let text = manifest::text(&generation, &written);
        generation = manifest::read(text.as_bytes(), &here).generation().unwrap();
        let list = &generation.lists[0];
        assert_eq!(list.term.unwrap().from, at(7).later_by(total));
        assert_eq!(place.store.times(list).unwrap(), Some(times().later_by(total)));
        written = here;
    }
}

#[test]
fn earlier_version_stays_without_room_for_times() {
    let mut place = Place::new();
    let seen = place.keep_timed();
    place.store.blobs.most = place.store.blobs.taken() + 50;
    let outcome =
        place.save(vec![ListToSave { times: Some(times()), ..ListToSave::again(&seen) }]).lists.remove(0);
    assert!(matches!(outcome, Err(CopyError::Full { .. })), "{outcome:?}");
    assert_eq!((place.current(), place.store.times(&seen).unwrap()), (vec![seen], Some(times())));
}
