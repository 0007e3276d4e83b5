//! Every filter beside a plain set: no member is ever taken for a non-member, and who is taken out leaves nothing behind.

use std::collections::HashSet;

use filterd_paper::blocked::Blocked;
use filterd_paper::bloom::Bloom;
use filterd_paper::cuckoo::{Plain, Room, Shape, Sorted};
use filterd_paper::dleft::DLeft;
use filterd_paper::nests::{Arrays, Nests};
use filterd_paper::optimistic::{Directed, Live, Versioned};
use filterd_paper::quotient::Quotient;
use filterd_paper::{Filter, Forget};
use proptest::prelude::*;

/// Who may come and go; more than any of the filters can hold.
const CROWD: u64 = 1000;

/// Small ones, so that they fill up and their fingerprints meet.
fn forgetful() -> Vec<(String, Box<dyn Forget>)> {
    let mut filters: Vec<(String, Box<dyn Forget>)> = vec![
        ("quotient".to_owned(), Box::new(Quotient::new(8, 4))),
        ("quotient, hardly any remainder".to_owned(), Box::new(Quotient::new(6, 1))),
        ("d-left".to_owned(), Box::new(DLeft::new(4096, 5))),
        ("two arrays".to_owned(), Box::new(Nests::new(256, 2, Arrays::Own))),
        ("3-ary".to_owned(), Box::new(Nests::new(256, 3, Arrays::Shared))),
        ("blocks of five".to_owned(), Box::new(Nests::in_blocks(256, 2, 5))),
        ("5-ary".to_owned(), Box::new(Nests::new(256, 5, Arrays::Shared))),
    ];
    for room in [Room::Kicks, Room::Path] {
        for (fingerprint, bucket) in [(8, 1), (7, 2), (8, 4), (12, 4), (16, 4), (5, 8), (12, 8)] {
            let shape = Shape { fingerprint, bucket, index_bits: 8 - bucket.ilog2() };
            filters.push((format!("{shape:?}, {room:?}"), Box::new(Plain::new(shape, room))));
        }
        for fingerprint in [5, 9, 13] {
            let shape = Shape { fingerprint, bucket: 4, index_bits: 6 };
            filters.push((format!("semi-sorted {shape:?}, {room:?}"), Box::new(Sorted::new(shape, room))));
        }
    }
    filters
}

#[derive(Clone, Debug)]
enum Step {
    Come(u64),
    Go(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![3 => (1..=CROWD).prop_map(Step::Come), 1 => (1..=CROWD).prop_map(Step::Go)];
    prop::collection::vec(step, 0..600)
}

fn take(step: &Step, filter: &mut dyn Forget, members: &mut HashSet<u64>) {
    match *step {
        Step::Come(key) => {
            if !members.contains(&key) && filter.insert(key).is_ok() {
                members.insert(key);
            }
        }
        Step::Go(key) => {
            if members.remove(&key) {
                filter.remove(key);
            }
        }
    }
}

proptest! {
    #[test]
    fn members_are_found_until_they_leave(steps in steps()) {
        for (name, mut filter) in forgetful() {
            let mut members = HashSet::new();
            for some in steps.chunks(32) {
                some.iter().for_each(|step| take(step, &mut *filter, &mut members));
                prop_assert!(members.iter().all(|&key| filter.contains(key)), "{name} lost a member");
            }
            members.iter().for_each(|&key| filter.remove(key));
            prop_assert!(!(1..=CROWD).any(|key| filter.contains(key)), "{name} remembers somebody");
        }
    }

    #[test]
    fn bits_once_set_stay_set(keys in prop::collection::hash_set(any::<u64>(), 0..400), probes in 1_u32..=14) {
        let filters: [(&str, Box<dyn Filter>); 2] =
            [("Bloom", Box::new(Bloom::new(3000, probes))), ("blocked", Box::new(Blocked::new(3000, probes)))];
        for (name, mut filter) in filters {
            prop_assert!(!keys.iter().any(|&key| filter.contains(key)), "{name} is empty");
            keys.iter().for_each(|&key| filter.insert(key).unwrap());
            prop_assert!(keys.iter().all(|&key| filter.contains(key)), "{name} lost a member");
        }
    }

    #[test]
    fn whole_keys_are_never_mistaken(steps in steps()) {
        let lives: [Box<dyn Live>; 2] = [Box::new(Directed::new(8)), Box::new(Versioned::new(8))];
        for live in lives {
            let mut members = HashSet::new();
            for step in &steps {
                match *step {
                    Step::Come(key) => if !members.contains(&key) && live.insert(key as u32).is_ok() {
                        members.insert(key);
                    },
                    Step::Go(key) => if members.remove(&key) {
                        live.remove(key as u32);
                    },
                }
            }
            prop_assert!((1..=CROWD).all(|key| live.contains(key as u32) == members.contains(&key)));
        }
    }
}

/// Cells of a d-left filter count to three; a hundred million members have four that look alike.
#[test]
fn counter_overflow_in_cells_loses_no_member() {
    let mut filter = DLeft::new(4096, 5);
    (0..7).for_each(|time| assert!(filter.insert(1).is_ok(), "refused after {time}"));
    for left in (0..7).rev() {
        filter.remove(1);
        assert_eq!(filter.contains(1), left > 0, "{left} are left");
    }
}
