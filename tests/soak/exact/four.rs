//! Every IPv4 address there is, one after the other.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread::scope;

use aya::Ebpf;
use aya::maps::{Array, MapData, ProgramArray};
use aya::programs::{TestRun, TestRunOptions, Xdp};
use filter_common::cuckoo::geometry::Geometry;
use filter_common::stash;
use filterd::kernel::window::Window;
use harness::{Frame, Home};

use super::{Wrong, assert_programs_are_compiled, processors, stay_on};
use crate::filter::Blocked;
use crate::{crowd, is_full, programs};

/// For as many there is a table of any number of buckets, and it is filled up to its limit.
const FIRST: usize = 1_000_000;
/// So many must be in the stash.
const STASHED: u64 = 500;

#[test]
fn every_ipv4_address() {
    // In short, a 64th of all addresses, with everyone who is listed among them.
    let bits = if is_full() { 32 } else { 26 };
    let mut crowd = (0..=u32::MAX).map(|number| crowd::address(number) >> (32 - bits));
    let mut listed = BTreeSet::new();
    while listed.len() < FIRST {
        listed.extend(crowd.next());
    }
    let home = Home::new();
    let mut filter = Blocked::blocking(home.pins(), FIRST as u64, listed.iter().copied());
    assert!(!shape(&filter).buckets().is_power_of_two());
    while (listed.len() as u64) < filter.occupancy().capacity {
        let coming = crowd.find(|own| !listed.contains(own)).expect("most are not listed");
        listed.insert(coming);
        filter.add([coming]);
    }
    // Some leave and others come, until many of them must wait in the stash for a place. Under one key in some hundred too
    // many of them belong into one set of the stash; then the table is made anew under another, and they begin again.
    let mut stash = Stash::of(home.pins());
    for leaving in listed.clone() {
        if !stash.is_in_use() {
            stash = Stash::of(home.pins());
        }
        if stash.count() >= STASHED {
            break;
        }
        let coming = crowd.find(|own| !listed.contains(own)).expect("most are not listed");
        listed.remove(&leaving);
        listed.insert(coming);
        filter.remove(leaving);
        filter.add([coming]);
    }
    let (load, stashed) = (load(&filter), stash.count());
    assert!(load >= 94.0 && stashed >= STASHED, "{load:.2} % full, {stashed} in the stash");
    assert_programs_are_compiled();

    let wrong = Wrong::among(&walk(home.pins(), 0..1 << bits), &listed, 0..1 << bits);
    assert_eq!(wrong, Wrong::NONE, "of {} addresses", 1_u64 << bits);

    // The control: one who should be listed is not, and one who should not is.
    let (member, unlisted) = (
        *listed.last().expect("they are many"),
        (0..).find(|own| !listed.contains(own)).expect("so are they"),
    );
    filter.remove(member);
    filter.add([unlisted]);
    let seen = [member, unlisted].map(|own| {
        let around = u64::from(own & !0xffff)..u64::from(own | 0xffff) + 1;
        Wrong::among(&walk(home.pins(), around.clone()), &listed, around)
    });
    assert_eq!(seen, [Wrong { dropped: 0, passed: 1 }, Wrong { dropped: 1, passed: 0 }]);
    println!(
        "{} addresses, {} of them listed, {load:.2} % full, {stashed} in the stash: 0 dropped wrongly, 0 passed wrongly\n\
         control, one entry taken out and another put in: 1 passed wrongly, 1 dropped wrongly",
        1_u64 << bits,
        listed.len()
    );
}

impl Wrong {
    fn among(dropped: &BTreeSet<u32>, listed: &BTreeSet<u32>, walked: Range<u64>) -> Self {
        let (first, last) = (walked.start as u32, (walked.end - 1) as u32);
        let passed = listed.range(first..=last).filter(|own| !dropped.contains(own)).count();
        Self { dropped: dropped.iter().filter(|own| !listed.contains(own)).count(), passed }
    }
}

/// Who of these addresses is dropped? Each processor walks a part of the way.
fn walk(pins: &Path, addresses: Range<u64>) -> BTreeSet<u32> {
    let part = (addresses.end - addresses.start).div_ceil(processors());
    scope(|scope| {
        let walks: Vec<_> = (0..processors())
            .map(|number| {
                let start = (addresses.start + number * part).min(addresses.end);
                let end = (start + part).min(addresses.end);
                scope.spawn(move || Walker::new(pins).walk(number, start..end))
            })
            .collect();
        walks.into_iter().flat_map(|walk| walk.join().expect("its own assertions tell more")).collect()
    })
}

/// The program that walks, before filterd's.
struct Walker {
    object: Ebpf,
    _slot: ProgramArray<MapData>,
}

impl Walker {
    fn new(pins: &Path) -> Self {
        let mut object = programs::load(pins, &[]);
        programs::xdp(&mut object, "soak_walker");
        let slot = programs::aim(&mut object, "SUBJECT", pins);
        Self { object, _slot: slot }
    }

    fn walk(mut self, processor: u64, addresses: Range<u64>) -> Vec<u32> {
        const AT_ONCE: u64 = 1 << 24;
        const UNKNOWN: u64 = u64::MAX;
        stay_on(processor);
        let mut state: Array<_, u64> = self.map("WALK");
        for (at, value) in (0..).zip([addresses.start, UNKNOWN, 0]) {
            state.set(at, value, 0).expect("the map has three words");
        }
        // What became of the last one shows when one more is due.
        let mut left = addresses.end - addresses.start + 1;
        while left > 0 {
            let now = left.min(AT_ONCE);
            self.run(now as u32);
            left -= now;
        }
        let word = |at| state.get(&at, 0).expect("the map has three words");
        assert_eq!(word(0), addresses.end + 1, "it came to the end");
        let found: Array<_, u32> = self.map("FOUND");
        (0..word(2) as u32).map(|at| found.get(&at, 0).expect("there is room for twice as many")).collect()
    }

    fn run(&self, packets: u32) {
        let program: &Xdp =
            self.object.program("soak_walker").expect("it is loaded").try_into().expect("it is one");
        let frame = Frame::from("192.0.2.1").bytes([6; 6]);
        let options = TestRunOptions { data_in: Some(&frame), repeat: packets, ..TestRunOptions::new() };
        program.test_run(options).expect("the kernel runs it");
    }

    fn map<V: aya::Pod>(&mut self, name: &str) -> Array<MapData, V> {
        self.object.take_map(name).expect("the object has it").try_into().expect("it is an array")
    }
}

fn load(filter: &Blocked) -> f64 {
    filter.occupancy().entries as f64 * 100.0 / shape(filter).slots() as f64
}

fn shape(filter: &Blocked) -> Geometry {
    let capacity = filter.occupancy().capacity;
    Geometry::all_exact4().find(|geometry| geometry.limit() == capacity).expect("it was made so")
}

/// The stash before the buckets, and where its table is pinned.
struct Stash {
    words: Window,
    pin: PathBuf,
}

impl Stash {
    fn of(pins: &Path) -> Self {
        let mut tables = fs::read_dir(pins.join("tables")).expect("tables are pinned").flatten();
        let is_four = |name: &str| name.starts_with("addresses-");
        let table = tables.find(|pin| pin.file_name().to_str().is_some_and(is_four)).expect("it is pinned");
        let pin = table.path();
        let map = MapData::from_pin(&pin).expect("it is a map");
        let words = Window::open(map.fd(), stash::WORDS).expect("its beginning can be mapped");
        Self { words, pin }
    }

    /// No longer, once its table has been made anew.
    fn is_in_use(&self) -> bool {
        self.pin.exists()
    }

    /// Its hot word.
    fn count(&self) -> u64 {
        stash::Stash::new(&self.words).count()
    }
}
