//! Tests the memory that IPv6 levels take for realistic lists, and that later additions find room in them.

use crate::kernel::Filter;
use filter_common::target::{Prefix6, Target};
use real::bans::{self, Around};

use super::growth::Owner;
use super::world::{at, nothing, want};

/// The seed of the benchmarks' lists.
const SEED: u64 = 1;

/// The targets added at a time, as from a file (`blocklist::PAGE`).
const PAGE: usize = 4096;

/// The levels may take a quarter of a large table's size, and 2 MiB in any case.
const ALWAYS: u64 = 2 << 20;
const PART: u64 = 4;

#[test]
fn country_prefix_takes_at_most_twenty_bytes() {
    let world = real::world6(SEED);
    let mut owner = Owner::new();
    owner.reload(targets(&world)).expect("the kernel is well");
    let each = bytes(owner.filter()) / world.len() as f64;
    println!(
        "{each:.2} bytes a prefix, of which the table takes {:.2}",
        table(owner.filter()) / world.len() as f64
    );
    assert!(each <= 20.0, "{each:.2} bytes a prefix");
    all_are_dropped(&owner, &world);
}

/// Prefixes are added by commands. Each has to find room in the current levels.
#[test]
fn country_prefix_stays_small_after_growth() {
    let world = real::world6(SEED);
    let mut owner = Owner::new();
    // In random order, as live additions arrive. In sorted order each /14 would be complete before the next
    // one begins.
    let mut mixed = world.clone();
    mixed.sort_by_key(|prefix| prefix.address().wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835));
    for page in mixed.chunks(1000) {
        owner.add(targets(page).into_iter()).expect("the kernel is well");
    }
    let each = bytes(owner.filter()) / world.len() as f64;
    println!("{each:.2} bytes a prefix after growth");
    assert!(each <= 20.0, "{each:.2} bytes a prefix");
    all_are_dropped(&owner, &world);
}

/// At a restart the journal is full of prefixes. The levels must be large enough then as well, so that no
/// packet pays for additional lengths.
#[test]
fn levels_are_equally_large_after_start() {
    let world = targets(&real::world6(SEED));
    let (mut owner, mut blocklist) = (Owner::new(), nothing());
    owner.reload(world.clone()).expect("the kernel is well");
    blocklist.apply(&want(world.into_iter().collect()), at(1)).expect("there is room");
    let started = Owner::with(blocklist);
    assert_eq!(started.filter().levels_bytes(), owner.filter().levels_bytes());
}

/// One prefix in a hundred changes from day to day. There is room for that without a new map and a new judge.
#[test]
fn a_list_that_changes_a_little_finds_room() {
    let world = real::world6(SEED);
    let (mut later, mut first) = (Vec::new(), Vec::new());
    world.iter().enumerate().for_each(
        |(at, prefix)| {
            if at % 100 == 0 { later.push(*prefix) } else { first.push(*prefix) }
        },
    );
    let mut owner = Owner::new();
    owner.reload(targets(&first)).expect("the kernel is well");
    let before = owner.filter().levels_bytes();
    owner.reload(targets(&later)).expect("the kernel is well");
    assert_eq!(owner.filter().levels_bytes(), before, "they are as large as before");
    all_are_dropped(&owner, &world);
}

/// A thousand prefixes in one region. They took 2 MiB while a word of the root covered a /16 and sizes were
/// powers of two.
#[test]
fn a_short_list_takes_half_a_mebibyte() {
    let mut owner = Owner::new();
    owner.reload(targets(&real::world6(SEED)[..1000])).expect("the kernel is well");
    assert_eq!(owner.filter().levels_bytes(), 512 << 10);
}

#[test]
fn levels_take_at_most_a_quarter() {
    let world = real::world6(SEED);
    let around = Around::Announced(&world);
    let mut owner = Owner::new();
    owner.reload(targets(&world)).expect("the kernel is well");
    for (length, count) in [(64, 50_000), (128, 50_000), (64, 1_000_000)] {
        owner
            .reload(targets(&bans::six(around, length, count, SEED + count as u64)))
            .expect("the kernel is well");
        let (levels, table) = (owner.filter().levels_bytes(), table(owner.filter()));
        println!("{count} /{length} more: levels {levels} bytes, table {table}");
        assert!(levels <= ALWAYS.max(table as u64 / PART), "{levels} bytes beside {table}");
    }
    // Random prefixes never all have room in the levels. Those without room are dropped nevertheless.
    let anywhere = bans::six(Around::Anywhere, 64, 400_000, SEED);
    owner.reload(targets(&anywhere)).expect("the kernel is well");
    let (levels, table) = (owner.filter().levels_bytes(), table(owner.filter()));
    assert!(levels <= ALWAYS.max(table as u64 / PART), "{levels} bytes beside {table}");
    all_are_dropped(&owner, &anywhere);
    all_are_dropped(&owner, &world);
}

fn targets(prefixes: &[Prefix6]) -> Vec<Target> {
    prefixes.iter().copied().map(Target::V6).collect()
}

/// The bytes of table and levels together.
fn bytes(filter: &Filter) -> f64 {
    filter.levels_bytes() as f64 + table(filter)
}

fn table(filter: &Filter) -> f64 {
    filter.six().bytes as f64
}

fn all_are_dropped(owner: &Owner, prefixes: &[Prefix6]) {
    for prefix in prefixes {
        assert!(owner.drops(Target::V6(*prefix)), "{prefix}");
    }
}

impl Owner {
    /// Adds targets as a reload does: room for all of them first, then page by page.
    fn reload(&mut self, mut all: Vec<Target>) -> Result<(), crate::daemon::commit::CommitError> {
        all.sort_unstable();
        self.reserve(all.iter().copied())?;
        all.chunks(PAGE).try_for_each(|page| self.add(page.iter().copied()))
    }
}
