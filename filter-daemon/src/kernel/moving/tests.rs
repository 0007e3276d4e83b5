//! Compares a live table with a plain set while packets read between any two stores, and its labels with
//! plain labels.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use filter_common::Words;
use filter_common::cuckoo::bucket::Lanes;
use filter_common::cuckoo::exact::{self, Exact};
use filter_common::labels::LabelBytes;
use filter_common::stash;
use proptest::prelude::*;

use super::*;

const WIDTH: u32 = 16;

/// Not a power of two.
const BUCKETS: u32 = 37;

fn scheme(geometry: Geometry) -> Exact {
    let key = exact::key([11, 22, 33].map(|n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ n << 40));
    Exact::new(WIDTH, key, geometry)
}

fn geometry() -> Geometry {
    Geometry::new(BUCKETS, 1, Lanes::new(4, 16))
}

/// Memory that records every store, so that readers can look at any moment.
struct Watched {
    words: Vec<Cell<u64>>,
    /// Every version of each word, with the time of its store.
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

/// The memory at one point in time.
struct MemoryAt<'a>(&'a Watched, u64);

impl Words for MemoryAt<'_> {
    fn load(&self, index: u32) -> u64 {
        self.0.at(index, self.1)
    }
}

/// True if a packet finds `key` when it reads first home, second home and stash at these three points in
/// time.
fn finds(memory: &Watched, key: u64, first: u64, second: u64, in_stash: u64) -> bool {
    let (scheme, geometry) = (scheme(geometry()), geometry());
    let [one, two] = scheme.homes(key);
    let token = scheme.token(key);
    Table::new(scheme, geometry, Rest::new(MemoryAt(memory, first), stash::WORDS)).slot_of(one).is_some()
        || Table::new(scheme, geometry, Rest::new(MemoryAt(memory, second), stash::WORDS))
            .slot_of(two)
            .is_some()
        || Stash::new(MemoryAt(memory, in_stash)).holds(token)
            && Stash::new(MemoryAt(memory, in_stash)).count() != 0
}

#[derive(Clone, Debug)]
enum Step {
    Add(u64, Label),
    Relabel(u64, Label),
    Remove(u64),
    Advance,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => (0_u64..180, 0..5_u8).prop_map(|(key, label)| Step::Add(key, label)),
        2 => (0_u64..180, 0..5_u8).prop_map(|(key, label)| Step::Relabel(key, label)),
        3 => (0_u64..180).prop_map(Step::Remove),
        2 => Just(Step::Advance),
    ];
    prop::collection::vec(step, 0..300)
}

/// Takes the steps. After every store of each step, readers load in every order that the memory allows. They
/// began at any time since the grace period before the last. They must find every entry that was there all
/// the time since they began. Checking after each store also covers a writer that is killed there, since it
/// makes no further store.
fn tell(steps: Vec<Step>, is_ordered: bool) -> Result<(), TestCaseError> {
    let words = (geometry().words() + stash::WORDS) as usize;
    let labels = vec![Cell::new(0); words];
    let live = Moving::new(scheme(geometry()), geometry(), Watched::new(words), LabelBytes(&labels[..]));
    let (mut live, mut grace) = (live.on_ordered_memory(is_ordered), [0, 0]);
    let (mut came, mut labels) = (BTreeMap::new(), BTreeMap::new());
    for step in steps {
        let (stayed, before) = (came.clone(), live.table().words().all().time.get());
        match step {
            Step::Add(key, label) if !came.contains_key(&key) => {
                if live.add(key, label).is_ok() {
                    came.insert(key, live.table().words().all().time.get());
                    labels.insert(key, label);
                }
            }
            Step::Relabel(key, label) => {
                live.relabel(key, label);
                labels.get_mut(&key).into_iter().for_each(|was| *was = label);
            }
            Step::Remove(key) if came.remove(&key).is_some() => live.remove(key),
            Step::Add(..) | Step::Remove(_) => continue,
            Step::Advance => {
                live.advance();
                grace = [grace[1], live.table().words().all().time.get()];
            }
        }
        let memory = live.table().words().all();
        for (&key, &came) in stayed.iter().filter(|(key, _)| came.contains_key(key)) {
            for killed in before..memory.time.get() {
                look(memory, key, came.max(grace[0]), killed, is_ordered)?;
            }
        }
        for (&key, &came) in &came {
            look(memory, key, came.max(grace[0]), memory.time.get(), is_ordered)?;
        }
        prop_assert_eq!(live.entries(), came.len() as u64);
        for key in came.keys() {
            prop_assert_eq!(everywhere(&live, *key), vec![labels[key]], "the labels of {}", key);
        }
        let unplaced = live.unplaced().filter(|(key, label)| labels[key] != *label);
        prop_assert_eq!(unplaced.count(), 0);
    }
    let found: BTreeSet<u64> = (0..1 << WIDTH).filter(|&key| live.contains(key)).collect();
    prop_assert_eq!(found, came.into_keys().collect());
    Ok(())
}

/// The labels of `key` in all places where a packet may find it.
fn everywhere<L: LabelsMut>(live: &Moving<Exact, Watched, L>, key: u64) -> Vec<Label> {
    let (table, token) = (live.table(), live.table().scheme().token(key));
    let slots = table.scheme().homes(key).into_iter().filter_map(|home| table.slot_of(home));
    let in_stash = stash_of(table).label_of(token);
    let mut labels: Vec<Label> = slots.map(|slot| table.label_at(slot)).chain(in_stash).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

fn look(memory: &Watched, key: u64, began: u64, now: u64, is_ordered: bool) -> Result<(), TestCaseError> {
    for first in [began, (began + now) / 2, now] {
        let earliest = if is_ordered { first } else { began };
        for second in [earliest, (earliest + now) / 2, now] {
            for stash in [began, now] {
                let found = finds(memory, key, first, second, stash);
                prop_assert!(
                    found,
                    "{key} missed at {first}, {second}, {stash}; the reader began at {began}"
                );
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_reader_finds_every_entry(steps in steps()) {
        tell(steps, true)?;
    }

    #[test]
    fn readers_find_entries_on_unordered_memory(steps in steps()) {
        tell(steps, false)?;
    }
}

/// A caller that fills a table for a million and finds it full after half of them need not supply the others.
#[test]
fn filling_stops_once_table_is_full() {
    let geometry = geometry();
    let words = vec![Cell::new(0); stash::WORDS as usize + geometry.words() as usize];
    let mut live = Moving::new(scheme(geometry), geometry, &words[..], NoLabels);
    let asked = Cell::new(0_u32);
    let keys = (0..1 << WIDTH).map(|key| (key, OTHER)).inspect(|_| asked.update(|count| count + 1));
    assert!(live.fill_whole(keys).is_err());
    assert!(live.entries() > u64::from(geometry.buckets()), "{} came in", live.entries());
    assert!(
        u64::from(asked.get()) < live.entries() + 128,
        "{} were asked, {} are in",
        asked.get(),
        live.entries()
    );
}
