//! A live table against a plain set, with packets looking on between any two stores.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use filter_common::Words;
use filter_common::cuckoo::bucket::Lanes;
use filter_common::cuckoo::exact::Exact;
use filter_common::permutation::Permutation;
use proptest::prelude::*;

use super::*;

const WIDTH: u32 = 16;

fn scheme(geometry: Geometry) -> Exact {
    let key = [11, 22, 33, 44, 55, 66, 77, 88].map(|n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ n << 40);
    Exact::new(Permutation::new(WIDTH, key), geometry.index_bits(), 1)
}

fn geometry() -> Geometry {
    Geometry::new(5, 1, Lanes::new(4, 16))
}

/// Memory in which every store lets readers look on.
struct Watched {
    words: Vec<Cell<u64>>,
    /// Every version that a word had, with the time at which it came.
    history: RefCell<Vec<Vec<(u64, u64)>>>,
    time: Cell<u64>,
}

impl Watched {
    fn new(words: usize) -> Self {
        let history = RefCell::new(vec![vec![(0, 0)]; words]);
        Self { words: vec![Cell::new(0); words], history, time: Cell::new(0) }
    }

    fn at(&self, index: u32, time: u64) -> u64 {
        let history = self.history.borrow();
        let versions = &history[index as usize];
        versions[versions.partition_point(|(came, _)| *came <= time) - 1].1
    }
}

impl Words for Watched {
    fn load(&self, index: u32) -> u64 {
        self.words[index as usize].get()
    }
}

impl WordsMut for Watched {
    fn store(&self, index: u32, word: u64) {
        self.words[index as usize].set(word);
        self.time.set(self.time.get() + 1);
        self.history.borrow_mut()[index as usize].push((self.time.get(), word));
    }
}

/// The memory as it was at one point in time.
struct Then<'a>(&'a Watched, u64);

impl Words for Then<'_> {
    fn load(&self, index: u32) -> u64 {
        self.0.at(index, self.1)
    }
}

/// Does a packet find `key`, looking into its first home, its second home and the stash at these three points in time?
fn finds(memory: &Watched, key: u64, first: u64, second: u64, stash: u64) -> bool {
    let (scheme, geometry) = (scheme(geometry()), geometry());
    let [one, two] = scheme.homes(key);
    let token = scheme.token(key);
    Table::new(scheme, geometry, Then(memory, first)).slot_of(one).is_some()
        || Table::new(scheme, geometry, Then(memory, second)).slot_of(two).is_some()
        || Stash::new(Then(memory, stash), geometry.words()).holds(token.bits)
            && Stash::new(Then(memory, stash), geometry.words()).count() != 0
}

#[derive(Clone, Debug)]
enum Step {
    Add(u16),
    Remove(u16),
    Advance,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => (0_u16..180).prop_map(Step::Add),
        3 => (0_u16..180).prop_map(Step::Remove),
        2 => Just(Step::Advance),
    ];
    prop::collection::vec(step, 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Readers begin anywhere after the last grace period but one, and load in every order that the protocol allows.
    #[test]
    fn whoever_is_in_is_found_by_every_reader_and_nobody_else_is(steps in steps()) {
        let words = (geometry().words() + stash::WORDS) as usize;
        let mut live = Live::new(scheme(geometry()), geometry(), Watched::new(words));
        let (mut oracle, mut grace) = (BTreeSet::new(), [0, 0]);
        let mut came: std::collections::HashMap<u64, u64> = std::collections::HashMap::new();
        for step in steps {
            match step {
                Step::Add(n) if !oracle.contains(&u64::from(n)) => {
                    if live.add(n.into()).is_ok() {
                        oracle.insert(u64::from(n));
                        came.insert(n.into(), live.table().words().time.get());
                    }
                }
                Step::Remove(n) if oracle.remove(&u64::from(n)) => live.remove(n.into()),
                Step::Add(_) | Step::Remove(_) => continue,
                Step::Advance => {
                    live.advance();
                    grace = [grace[1], live.table().words().time.get()];
                }
            }
            let memory = live.table().words();
            let now = memory.time.get();
            for &key in oracle.iter().take(40) {
                let began = came[&key].max(grace[0]);
                for first in [began, (began + now) / 2, now] {
                    for second in [first, (first + now) / 2, now] {
                        for stash in [began, now] {
                            let found = finds(memory, key, first, second, stash);
                            prop_assert!(found, "{key} missed at {first}, {second}, {stash}; readers began at {began}");
                        }
                    }
                }
            }
            prop_assert_eq!(live.entries(), oracle.len() as u64);
        }
        let found: BTreeSet<u64> = (0..1 << WIDTH).filter(|&key| live.contains(key)).collect();
        prop_assert_eq!(&found, &oracle);
    }
}
