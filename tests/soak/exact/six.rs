//! Every place at which the answer of a list like real ones changes, and random sources.

use std::collections::BTreeSet;
use std::ops::Range;

use filter_common::target::{Prefix, Prefix6};
use harness::Home;
use real::told::Told;

use super::asker::ask;
use super::life::Life;
use super::{Wrong, assert_programs_are_compiled};
use crate::rounds;
use crate::six::stashed;

/// For the control so many are taken out, and as many others put in.
const MISTAKES: usize = 300;
/// They have these lengths.
const LENGTHS: [u8; 8] = [28, 32, 33, 36, 48, 64, 65, 128];
/// So many random sources are asked about then.
const CONTROL: u64 = 1 << 20;

#[test]
fn every_boundary_in_ipv6_and_random_sources() {
    let random = rounds(1 << 22, 1_000_000_000) as u64;
    let home = Home::new();
    let Life { mut blocked, ever, .. } = Life::live(home.pins());
    assert_programs_are_compiled();
    let told = told_of(&ever, &blocked.wanted);
    let boundaries = told.count().next_multiple_of(64);
    let short = |prefix: &&Prefix6| prefix.length() <= 32;
    let (long, table) = (blocked.wanted.len() - blocked.wanted.iter().filter(short).count(), blocked.table());
    assert!(
        table.entries > long as u64,
        "{} entries, {long} long ones: no short one stands there",
        table.entries
    );

    let edges = ask(home.pins(), &told, 0..boundaries);
    assert_eq!(edges.wrong, Wrong::NONE, "{edges:?}");
    let others = ask(home.pins(), &told, boundaries..boundaries + random);
    assert_eq!(others.wrong, Wrong::NONE, "{others:?}");
    assert!(others.listed > random / 100 && others.listed < random / 2, "{others:?}");
    println!(
        "{} prefixes of {} lengths, {} entries in a table with room for {}, {} in its stash:\n\
         0 wrong of {boundaries} boundaries, {} of them listed; 0 wrong of {random} random sources, {} of them listed",
        blocked.wanted.len(),
        lengths(blocked.wanted.iter()),
        table.entries,
        table.capacity,
        stashed(home.pins()),
        edges.listed,
        others.listed,
    );

    // The control: some leave and others come behind the list's back. Each place at which that shows must be seen.
    let leaving: Vec<Prefix6> =
        blocked.wanted.iter().copied().step_by(blocked.wanted.len() / MISTAKES).collect();
    let unlisted: Vec<u128> = told.sources().iter().copied().filter(|source| !told.lists(*source)).collect();
    let coming = unlisted.iter().step_by(unlisted.len() / MISTAKES).zip(LENGTHS.into_iter().cycle());
    blocked.remove(leaving);
    blocked.add(coming.map(|(source, length)| Prefix::covering(*source, length)));
    let numbers = 0..boundaries + CONTROL;
    let seen = ask(home.pins(), &told, numbers.clone()).wrong;
    let planted = differences(&told, &told_of(&ever, &blocked.wanted), numbers);
    assert!(
        seen == planted && seen.dropped >= MISTAKES && seen.passed >= MISTAKES,
        "{seen:?}, planted {planted:?}"
    );
    println!(
        "control, {MISTAKES} entries taken out and as many put in: {} passed wrongly, {} dropped wrongly, as many as there must be",
        seen.passed, seen.dropped
    );
}

fn told_of(ever: &BTreeSet<Prefix6>, list: &BTreeSet<Prefix6>) -> Told {
    let sorted = |prefixes: &BTreeSet<Prefix6>| prefixes.iter().copied().collect::<Vec<_>>();
    Told::around(&sorted(ever), &sorted(list))
}

/// Where two lists differ, as if the other one were what a program answers.
fn differences(one: &Told, other: &Told, numbers: Range<u64>) -> Wrong {
    let words = one.listed(numbers.clone()).into_iter().zip(other.listed(numbers));
    words.fold(Wrong::NONE, |wrong, (listed, dropped)| wrong.and(Wrong::between(listed, dropped)))
}

fn lengths<'a>(of: impl Iterator<Item = &'a Prefix6>) -> usize {
    of.map(Prefix6::length).collect::<BTreeSet<_>>().len()
}
