//! FAULTS K10: a key under which entries crowd refuses them far below the limit. Tests the reaction to that.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::thread;

use filter_common::cuckoo::exact::{self, Exact};
use filter_common::cuckoo::scheme::Scheme;
use filter_common::labels::{Label, OTHER};
use filter_common::sets::SetName;
use filter_common::target::Prefix6;

use super::*;
use crate::kernel::broker::request::MapPart;
use crate::kernel::kind::{AddressTable, Entries, Live};
use crate::kernel::needs::LabelSource;
use crate::kernel::tests::memory::KernelInMemory;

/// A key that an attacker knows.
const KNOWN: exact::Key = [0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9];

/// All test entries have both homes in these buckets: 64 places.
const BUCKETS: u32 = 32;

/// All test entries share these highest bits of their tokens: 256 places of the stash.
const TOKEN_BITS: u32 = 4;

/// More entries than those buckets and places take, and below the limit of any table.
const CROWD: usize = 350;

thread_local! {
    /// The keys of the next tables. Once they are used up, each table gets a random key, as usual.
    static CHOSEN: RefCell<VecDeque<exact::Key>> = const { RefCell::new(VecDeque::new()) };
}

/// The table of addresses, with keys that a test chose.
#[derive(Clone, Copy)]
struct Keyed(AddressTable);

impl Kind for Keyed {
    type Scheme = Exact;

    const PART: MapPart = AddressTable::PART;
    const NAME: &str = AddressTable::NAME;

    fn smallest_for(entries: u64) -> Option<Geometry> {
        AddressTable::smallest_for(entries)
    }

    fn most() -> u64 {
        AddressTable::most()
    }

    fn new(generation: u64, geometry: Geometry, is_labelled: bool) -> Self {
        let own = AddressTable::new(generation, geometry, is_labelled);
        let chosen = CHOSEN.with_borrow_mut(VecDeque::pop_front);
        Self(chosen.map_or(own, |key| own.under(key)))
    }

    fn generation(&self) -> u64 {
        self.0.generation
    }

    fn geometry(&self) -> Geometry {
        self.0.geometry()
    }

    fn is_labelled(&self) -> bool {
        self.0.is_labelled()
    }

    fn forget_labels(&mut self) {
        self.0.forget_labels();
    }

    fn scheme(&self) -> Exact {
        self.0.scheme()
    }

    fn entries<'a>(
        &'a self,
        live: Option<&'a Live<Self>>,
        wanted: &'a impl SixTargets,
    ) -> impl Iterator<Item = TableEntry<Self>> + 'a {
        self.0.entries(live, wanted)
    }

    fn copied(live: Option<&Live<Self>>) -> Option<Entries<Self>> {
        AddressTable::copied(live)
    }

    fn page(
        &self,
        wanted: &impl SixTargets,
        after: Option<Prefix6>,
        most: usize,
    ) -> (Vec<(u64, Label)>, Option<Prefix6>) {
        self.0.page(wanted, after, most)
    }
}

/// Supplies no labels and no prefixes: tables of addresses need nothing else.
struct Nothing;

impl LabelSource for Nothing {}

impl SixTargets for Nothing {
    fn six_after(&self, _: Option<Prefix6>) -> impl Iterator<Item = Prefix6> {
        std::iter::empty()
    }
}

/// A table, and the addresses that were added.
struct World {
    family: TableFamily<Keyed>,
    maps: Maps,
    came: Vec<u64>,
}

impl World {
    /// An empty table. It and the next ones get these keys.
    fn new(keys: &[exact::Key]) -> Self {
        CHOSEN.set(keys.iter().copied().collect());
        let mut maps = Maps::new(KernelInMemory::default().broker());
        let mut family = TableFamily::new(TableStore::new(SetName::Block));
        family.make_room(1, &mut maps, &Nothing).expect("the kernel is well");
        family.publish();
        Self { family, maps, came: Vec::new() }
    }

    /// A table of addresses that crowd under `KNOWN` in the next larger table, and its geometry. Later tables
    /// get these keys.
    fn before_growth(keys: &[exact::Key]) -> (Self, Geometry) {
        let mut world = Self::new(&[]);
        let larger = next_larger(world.geometry());
        world.come(crowd(larger));
        CHOSEN.set(keys.iter().copied().collect());
        (world, larger)
    }

    fn geometry(&self) -> Geometry {
        self.family.store.geometry().expect("there is a table")
    }

    /// Adds these addresses one by one.
    fn come(&mut self, addresses: Vec<u64>) {
        for address in &addresses {
            let entered = self.family.enter(|_| (*address, OTHER), &mut self.maps, &Nothing);
            entered.expect("there is room for every one");
        }
        self.came.extend(addresses);
    }

    /// Makes a larger table in the background until it is in use.
    fn grow(&mut self) {
        let more = self.geometry().limit() + 1;
        assert!(self.family.grow_aside(more, &mut self.maps).expect("the kernel is well"));
        while self.family.is_growing() {
            self.family
                .step(self.family.filled().is_some(), &mut self.maps, &Nothing)
                .expect("the kernel is well");
            thread::yield_now();
        }
    }

    /// Asserts that all addresses are there exactly once.
    fn must_hold_all(&self) {
        let live = self.family.store.newest_live().expect("there is a table");
        assert_eq!(live.entries(), self.came.len() as u64);
        assert!(self.came.iter().all(|address| live.contains(*address)));
    }
}

/// Addresses whose homes under `KNOWN` lie close together in a table of this geometry, and in its stash.
fn crowd(geometry: Geometry) -> Vec<u64> {
    let scheme = Exact::new(32, KNOWN, geometry);
    let is_near = |address: &u64| {
        scheme.token(*address).bits.leading_zeros() >= TOKEN_BITS
            && scheme.homes(*address).iter().all(|home| home.bucket < BUCKETS)
    };
    (0..=u64::from(u32::MAX)).filter(is_near).take(CROWD).collect()
}

fn next_larger(geometry: Geometry) -> Geometry {
    larger::<Keyed>(geometry).expect("there is a larger one")
}

#[test]
fn new_key_accepts_without_growth() {
    let mut world = World::new(&[KNOWN]);
    let before = world.geometry();
    world.come(crowd(before));
    world.must_hold_all();
    assert_eq!((world.family.refusals, world.geometry()), (1, before));
}

#[test]
fn table_grows_after_all_keys_refuse() {
    // The first key has accepted some addresses before it refuses.
    let mut world = World::new(&[KNOWN; 1 + KEYS as usize]);
    let before = world.geometry();
    world.come(crowd(before));
    world.must_hold_all();
    assert_eq!((world.family.refusals, world.geometry()), (1, next_larger(before)));
}

#[test]
fn refused_larger_table_retries_same_size() {
    let (mut world, wanted) = World::before_growth(&[KNOWN]);
    world.grow();
    world.must_hold_all();
    assert_eq!((world.family.refusals, world.geometry()), (1, wanted));
}

#[test]
fn repeated_refusal_makes_an_even_larger_table() {
    let (mut world, refused) = World::before_growth(&[KNOWN; KEYS as usize]);
    world.grow();
    world.must_hold_all();
    assert_eq!((world.family.refusals, world.geometry()), (KEYS, next_larger(refused)));
}

#[test]
fn waiting_caller_gets_table_with_new_key() {
    let (mut world, wanted) = World::before_growth(&[KNOWN]);
    let more = world.geometry().limit() + 1;
    assert!(world.family.grow_aside(more, &mut world.maps).expect("the kernel is well"));
    world.family.make_room(wanted.limit(), &mut world.maps, &Nothing).expect("the kernel is well");
    world.must_hold_all();
    assert_eq!((world.family.refusals, world.geometry()), (1, wanted));
}

#[test]
fn single_additions_do_not_wait_for_growth() {
    let mut world = World::new(&[]);
    let limit = world.geometry().limit();
    world.come((0..limit).collect());
    for number in limit..limit + FEW {
        world.family.make_room(number + 1, &mut world.maps, &Nothing).expect("the kernel is well");
        world.come(vec![number]);
        assert!(world.family.is_growing(), "number {number} has waited for it");
    }
    world.family.make_room(limit + FEW + 1, &mut world.maps, &Nothing).expect("the kernel is well");
    assert!(!world.family.is_growing() && world.geometry().limit() > limit, "more of them do");
    world.must_hold_all();
}

/// The caller asks which tables are filled and loads a judge for these. Before the fix, a table that was
/// filled a moment later came into use anyway, and every request waited for its judge.
#[test]
fn unannounced_filled_table_waits_a_step() {
    let mut world = World::new(&[]);
    let before = world.geometry();
    assert!(world.family.grow_aside(before.limit() + 1, &mut world.maps).expect("the kernel is well"));
    while world.family.filled().is_none() {
        world.family.step(false, &mut world.maps, &Nothing).expect("the kernel is well");
        thread::yield_now();
    }
    world.family.step(false, &mut world.maps, &Nothing).expect("the kernel is well");
    assert_eq!((world.family.is_growing(), world.geometry()), (true, before));
    world.family.step(true, &mut world.maps, &Nothing).expect("the kernel is well");
    assert_eq!((world.family.is_growing(), world.geometry()), (false, next_larger(before)));
}
