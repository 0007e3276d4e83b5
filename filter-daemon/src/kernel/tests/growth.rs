//! Tests larger tables made in the background: for both families at once, page by page, and with refusals.

use std::ops::Range;
use std::thread;
use std::time::Duration;

use super::memory::KernelInMemory;
use crate::blocklist::{Blocklist, Targets};
use crate::daemon::commit::{CommitError, Protection};
use crate::kernel::{Filter, GrowingFamilies, KernelError};
use filter_common::packet::Source;
use filter_common::reason::Verdict;
use filter_common::sets::SetName;
use filter_common::target::{Prefix, Target};

use super::world::{at, nothing, release, want};

/// The part of the owner task that changes tables, without the task.
pub struct Owner {
    pub kernel: KernelInMemory,
    pub protection: Protection,
}

impl Owner {
    pub fn new() -> Self {
        Self::with(nothing())
    }

    /// An owner that wants all of this from the beginning.
    pub fn with(blocklist: Blocklist) -> Self {
        let kernel = KernelInMemory::default();
        let filter = Filter::through(kernel.broker());
        let protection = Protection::begin(blocklist, filter).expect("the kernel is well");
        Self { kernel, protection }
    }

    pub fn filter(&self) -> &Filter {
        self.protection.filter()
    }

    pub fn add(&mut self, targets: impl Iterator<Item = Target>) -> Result<(), CommitError> {
        self.protection.commit(&want(targets.collect()), at(1)).map(drop)
    }

    pub fn remove(&mut self, targets: impl Iterator<Item = Target>) {
        self.protection.commit(&release(targets.collect()), at(1)).expect("who leaves is not refused");
    }

    /// Makes room for all of these at once, before any is added.
    pub fn reserve(&mut self, more: impl Iterator<Item = Target>) -> Result<(), KernelError> {
        let needs = self.protection.needs_with(SetName::Block.into(), &more.collect());
        let (filter, blocklist) = self.protection.parts();
        filter.reserve(&needs, blocklist)
    }

    /// Starts growing until there is room for these, too. Does not wait.
    fn grow_for(&mut self, more: impl Iterator<Item = Target>) -> Result<GrowingFamilies, KernelError> {
        let more: Targets = more.collect();
        let needs = self.protection.needs_with(SetName::Block.into(), &more);
        let (filter, blocklist) = self.protection.parts();
        filter.grow_aside(&needs, blocklist)
    }

    /// Runs this many steps of the main loop.
    pub fn settle(&mut self, steps: u32) {
        for _ in 0..steps {
            let (filter, blocklist) = self.protection.parts();
            _ = filter.settle(blocklist);
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn drops(&self, target: Target) -> bool {
        let source = match target {
            Target::V4(prefix) => Source::V4(prefix.address()),
            Target::V6(prefix) => Source::V6(prefix.address().into()),
        };
        matches!(self.kernel.judge(source), Verdict::Drop(_))
    }
}

pub fn six(number: u32) -> Target {
    Target::V6(Prefix::host(0x2001_0db8 << 96 | u128::from(number)))
}

pub fn net64(number: u32) -> Target {
    Target::V6(Prefix::covering(0x2001_0db8 << 96 | u128::from(number) << 64, 64))
}

/// /64s in so many different /24s that their levels are large.
fn far(number: u32) -> Target {
    let net = (0x2001_0d00 << 32) + (u64::from(number % 50_000) << 40) + u64::from(number / 50_000);
    Target::V6(Prefix::covering(u128::from(net) << 64, 64))
}

pub fn four(number: u32) -> Target {
    Target::V4(Prefix::host(0x0A00_0000 + number))
}

/// FAULTS P1: if a table of each family is full, a caller that waits for both gets both.
#[test]
fn both_families_grow_together_once() {
    let mut owner = Owner::new();
    owner.add((0..400).map(four)).expect("the kernel is well");
    owner.add((0..480).map(six)).expect("the kernel is well");
    let more = || (400..2000).map(four).chain((480..2000).map(six));
    assert_eq!(
        owner.grow_for(more()).expect("there is memory"),
        GrowingFamilies { addresses: true, six: true }
    );
    while owner.filter().is_growing() {
        owner.settle(1);
    }
    assert_eq!(
        owner.grow_for(more()).expect("there is memory"),
        GrowingFamilies::default(),
        "there is room now"
    );
    let before = owner.kernel.requests();
    owner.add(more()).expect("there is room");
    assert_eq!(owner.kernel.requests(), before, "nothing was made or loaded for it");
    assert!((0..2000).all(|number| owner.drops(four(number)) && owner.drops(six(number))));
}

#[test]
fn only_the_full_family_grows() {
    let mut owner = Owner::new();
    owner.add((0..400).map(four)).expect("the kernel is well");
    let growing = owner.grow_for((0..100).map(six)).expect("nothing is asked for");
    assert_eq!(growing, GrowingFamilies::default(), "there is no table that could be waited for");
    owner.add((0..480).map(six)).expect("the kernel is well");
    let growing = owner.grow_for((480..600).map(six)).expect("there is memory");
    assert_eq!(growing, GrowingFamilies { addresses: false, six: true });
}

/// The kernel needs time to make a large map. The caller does other work meanwhile, even for the first map.
#[test]
fn large_map_is_made_without_waiting() {
    const COUNT: u32 = 260_000;
    let mut owner = Owner::new();
    for more in [COUNT, 2 * COUNT] {
        assert!(owner.grow_for((0..more).map(net64)).expect("there is memory").six);
        assert_eq!(owner.kernel.waits(), 0, "it is begun");
        while owner.filter().is_growing() {
            owner.settle(1);
        }
        let before = owner.kernel.waits();
        owner.add((more - 100..more).map(net64)).expect("there is room");
        assert_eq!((before, owner.kernel.waits()), (0, 0), "it is there");
        assert!((more - 200..more).all(|number| owner.drops(net64(number)) == (number >= more - 100)));
    }
    owner.add((0..100).map(four)).expect("the kernel is well");
    let (pinned, used) = owner.kernel.pins();
    assert_eq!(pinned.len(), used.len(), "nothing is left over");
}

/// The verifier needs time for a judge. An owner that serves others loads it in the background, too.
#[test]
fn judge_for_larger_table_loads_without_waiting() {
    let mut owner = Owner::new();
    owner.add((0..400).map(four).chain((0..480).map(six))).expect("the kernel is well");
    let before = owner.kernel.waits_for_judges();
    let more = || (400..2000).map(four).chain((480..2000).map(six));
    assert!(owner.grow_for(more()).expect("there is memory").any());
    while owner.filter().is_growing() {
        owner.settle(1);
    }
    assert_eq!(owner.kernel.waits_for_judges(), before, "larger tables have taken their places");
    owner.add(more()).expect("there is room");
    assert_eq!(owner.kernel.waits_for_judges(), before, "and everybody is looked up in them");
}

/// Widely scattered entries for such a table also need larger levels, and the judge must know about those.
#[test]
fn judge_for_larger_levels_loads_without_waiting() {
    let mut owner = Owner::new();
    owner
        .add((0..480).map(net64).chain(["2001:db8::/32".parse().expect("a target")]))
        .expect("the kernel is well");
    let (before, levels) = (owner.kernel.waits_for_judges(), owner.filter().levels_bytes());
    assert!(owner.grow_for((480..2_100_000).map(far)).expect("there is memory").six);
    while owner.filter().is_growing() {
        owner.settle(1);
    }
    assert!(owner.filter().levels_bytes() > levels, "they have grown");
    assert_eq!((owner.kernel.waits_for_judges(), owner.kernel.waits()), (before, 0));
    assert!((0..480).all(|number| owner.drops(net64(number))));
    owner.remove((0..480).map(net64));
    assert!(owner.drops(net64(7)), "the /32 is there");
    let (pinned, used) = owner.kernel.pins();
    assert_eq!(pinned.len(), used.len(), "nothing is left over");
}

/// Prefixes all over the internet. The levels have room only for the first of them.
fn scattered(numbers: Range<u32>, length: u8) -> impl Iterator<Item = Target> {
    let address = |number: u32| u128::from(number.wrapping_mul(0x9E37_79B1) | 1 << 31) << 96;
    numbers.map(move |number| Target::V6(Prefix::covering(address(number), length)))
}

/// Adding a million prefixes of five lengths took minutes before the fix. At first there is room only for the
/// longer ones.
#[test]
fn table_size_counts_short_prefixes() {
    const LONG: u32 = 60_000;
    const SHORT: u32 = 240_000;
    let mut owner = Owner::new();
    owner.add(scattered(0..LONG, 48).chain(scattered(LONG..LONG + SHORT, 32))).expect("there is memory");
    assert!(scattered(0..LONG + SHORT, 64).all(|target| owner.drops(target)));
    let table = owner.filter().six();
    assert!(table.entries > u64::from(LONG), "most of the short ones are in it");
    assert!(table.capacity < table.entries * 5 / 4, "one was made for all of them: {table:?}");
}

/// FAULTS K1: publishing other changes does not remove the map of a table in the making.
#[test]
fn publication_keeps_table_in_the_making() {
    let mut owner = Owner::new();
    owner.add((0..409).map(four)).expect("the kernel is well");
    assert!(owner.grow_for((409..500).map(four)).expect("there is memory").addresses);
    for word in ["2001:db8:1::/48", "192.0.2.0/24", "2001:db8:2::/64", "2001:db8:3::7"] {
        owner.add([word.parse().expect("it is a target")].into_iter()).expect("the kernel is well");
    }
    owner.remove((0..10).map(four));
    while owner.filter().is_growing() {
        owner.settle(1);
    }
    assert!(owner.filter().addresses().capacity > 409);
    assert!((0..10).all(|number| !owner.drops(four(number))), "who was removed passes");
    assert!((10..409).all(|number| owner.drops(four(number))));
    owner.add((409..800).map(four)).expect("there is room");
}

/// Many more entries than a page. Entries removed, added and added again are correct before and after the
/// current page.
#[test]
fn larger_ipv6_table_is_gathered_by_pages() {
    const COUNT: u32 = 30_000;
    const STEPS: u32 = 60;
    let mut owner = Owner::new();
    owner.add((0..COUNT).map(six)).expect("the kernel is well");
    assert!(owner.grow_for((COUNT..3 * COUNT).map(six)).expect("there is memory").six);
    for step in 0..STEPS {
        let (early, late) = (step * 7, COUNT - 1 - step * 7);
        owner.remove([six(early), six(late), six(early + 1), six(late - 1)].into_iter());
        owner.add([six(early + 1), six(late - 1), six(COUNT + step)].into_iter()).expect("there is a margin");
        assert!(step > 1 || owner.filter().is_growing(), "it takes a step a page");
        owner.settle(1);
    }
    while owner.filter().is_growing() {
        owner.settle(1);
    }
    for number in 0..COUNT + STEPS {
        let gone = (0..STEPS).any(|step| number == step * 7 || number == COUNT - 1 - step * 7);
        assert_eq!(owner.drops(six(number)), !gone, "number {number}");
    }
    assert_eq!(owner.filter().six().entries, u64::from(COUNT - STEPS));
}

/// The stash is included. The counts lie around a table size's limit, or are arbitrary.
#[test]
fn ipv6_entries_keep_their_byte_limits() {
    for count in [100_000, 115_545, 115_546, 300_000] {
        let mut owner = Owner::new();
        owner.add((0..count).map(net64)).expect("the kernel is well");
        let six = |owner: &Owner| owner.filter().six();
        let bytes = |owner: &Owner| six(owner).bytes as f64 / six(owner).entries as f64;
        assert_eq!(six(&owner).entries, u64::from(count));
        assert!(bytes(&owner) <= 9.0, "{count} entries take {:.2} bytes each", bytes(&owner));
        let (before, mut next) = (six(&owner).capacity, count);
        while six(&owner).capacity == before {
            owner.add((next..next + 50).map(net64)).expect("there is memory");
            owner.settle(1);
            next += 50;
        }
        assert_eq!(six(&owner).entries, u64::from(next));
        assert!(bytes(&owner) <= 14.0, "{next} entries take {:.2} bytes each", bytes(&owner));
        assert!((0..next + 50).all(|number| owner.drops(net64(number)) == (number < next)));
    }
}

#[test]
fn waiting_caller_gets_map_error() {
    let mut owner = Owner::new();
    owner.kernel.be_slow();
    owner.add((0..400).map(four)).expect("the kernel is well");
    assert!(owner.grow_for((400..900).map(four)).expect("it is begun").addresses);
    // The next request is the one that asks whether the map is made.
    let next = owner.kernel.requests();
    owner.kernel.refuse(next..next + 1);
    owner.settle(1);
    assert!(!owner.filter().is_growing(), "there is nothing to wait for");
    assert!(owner.grow_for((400..900).map(four)).is_err(), "and whoever waits is told");
    owner.add((400..900).map(four)).expect("the kernel is well again");
    assert!((0..900).all(|number| owner.drops(four(number))));
    let (pinned, used) = owner.kernel.pins();
    assert_eq!(pinned.len(), used.len(), "nothing of the trouble is left");
}

#[test]
fn waiting_caller_gets_publication_error() {
    let mut owner = Owner::new();
    owner.add((0..400).map(four)).expect("the kernel is well");
    owner.kernel.refuse_judges(true);
    let mut told = None;
    for _ in 0..100 {
        match owner.grow_for((400..900).map(four)) {
            Ok(_) => owner.settle(1),
            Err(error) => {
                told = Some(error);
                break;
            }
        }
    }
    assert!(told.is_some(), "he waits for ever");
    assert!(owner.add((400..900).map(four)).is_err(), "and is told so himself");
    assert!((0..400).all(|number| owner.drops(four(number))) && !owner.drops(four(400)));
    owner.kernel.refuse_judges(false);
    owner.add((400..900).map(four)).expect("the kernel is well again");
    assert!((0..900).all(|number| owner.drops(four(number))));
    let (pinned, used) = owner.kernel.pins();
    assert_eq!(pinned.len(), used.len(), "nothing of the trouble is left");
}
