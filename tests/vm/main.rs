//! The verifier matrix: does this kernel take every program that settings can make of the judge, and at what price?
//!
//! By default every combination of settings is tried. FILTERD_VERIFIER=covering takes fewer, in which each pair of settings
//! still occurs: emulated guests do that. Run as root; `cargo xtask vm --ring verifier` does it on every kernel, and there once more under lockdown.

mod capability;
mod combination;
mod loaded;

use std::env;
use std::time::Instant;

use filter_common::ports::{Clause, Range};
use filterd::blocklist::{Blocklist, Change, Effects, Meaning, Origin, Polarity, Settings, Timestamp};
use filterd::kernel::{Filter, KernelError};
use filterd::text::Explain;
use harness::Home;

use combination::Combination;
use loaded::Price;

/// Instructions that the verifier may walk for one judge. The kernel gives up at a million.
const BUDGET: u64 = 300_000;

/// Which combinations are tried: `whole` or `covering` (set by xtask/src/kept/verifier.rs and tests/vm/init.sh).
const EXTENT: &str = "FILTERD_VERIFIER";

const LAST_LINES: usize = 12;

#[test]
fn every_combination_of_settings_is_accepted() {
    accepts(&chosen(Combination::all(), Combination::covering));
}

/// The price is no steady function of the number: whether paths meet again depends on the whole loop.
#[test]
fn any_number_of_ipv6_lengths_is_accepted() {
    accepts(&chosen(Combination::lengths(), Combination::covering_lengths));
}

/// What the verifier knows of where a bucket lies depends on their number.
#[test]
fn any_size_of_the_ipv6_table_is_accepted() {
    accepts(&chosen(Combination::sizes(), Combination::covering_sizes));
}

/// And the refusal says which capability is missing, not what the verifier thinks of pointers.
#[test]
fn missing_cap_perfmon_is_reported_for_every_combination() {
    let objections: Vec<String> = chosen(Combination::all(), Combination::covering)
        .iter()
        .filter_map(|combination| capability::without_perfmon(|| refused(combination)))
        .collect();
    assert!(objections.is_empty(), "{} objections, the first:\n{}", objections.len(), objections[0]);
}

/// All of them, or the covering set where that is asked for.
fn chosen(all: Vec<Combination>, covering: fn() -> Vec<Combination>) -> Vec<Combination> {
    if env::var(EXTENT).is_ok_and(|extent| extent == "covering") {
        let covering = covering();
        println!("covering set: {} of {} combinations", covering.len(), all.len());
        return covering;
    }
    all
}

fn accepts(combinations: &[Combination]) {
    let (accepted, refused): (Vec<_>, Vec<_>) = combinations.iter().map(judged).partition(Result::is_ok);
    summarize(&accepted.into_iter().flatten().collect::<Vec<_>>());
    let refused: Vec<String> = refused.into_iter().filter_map(Result::err).collect();
    assert!(refused.is_empty(), "{} refused, the first:\n{}", refused.len(), refused[0]);
}

/// What is wrong with the refusal?
fn refused(combination: &Combination) -> Option<String> {
    let objection = match load(combination) {
        Ok(Price { judge, .. }) => format!("{combination}: accepted, {judge} instructions verified"),
        Err(error) if error.explain().to_string().contains("CAP_PERFMON") => return None,
        Err(error) => format!("{combination}: refused, but in other words: {}", end(&error)),
    };
    Some(told(objection))
}

/// Loads and publishes a judge, prints its price, and says how many instructions were verified, or why not.
fn judged(combination: &Combination) -> Result<u64, String> {
    let begun = Instant::now();
    let price =
        load(combination).map_err(|error| told(format!("{combination}: REFUSED: {}", end(&error))))?;
    let Price { root, judge, is_compiled } = price;
    let took = begun.elapsed().as_millis();
    println!("{combination}: {judge} instructions verified (root {root}), {took} ms");
    if !is_compiled && loaded::compiles() {
        return Err(told(format!("{combination}: accepted, but not compiled for this processor")));
    }
    if judge > BUDGET {
        return Err(told(format!("{combination}: {judge} instructions are over the budget of {BUDGET}")));
    }
    Ok(judge)
}

fn load(combination: &Combination) -> Result<Price, KernelError> {
    let home = Home::new();
    let nobody = with_clauses(combination.ports);
    let mut filter = Filter::open(home.pins())?;
    filter.reserve(&combination.needs(), &nobody)?;
    let settings = Some(Settings {
        enforce: combination.enforce,
        paused: combination.paused.then_some(Timestamp::from_secs(u32::MAX)),
        match_new: combination.match_new,
        counters: combination.counters,
        outbound_errors: true,
    });
    filter.apply(&Effects { settings, ..Effects::default() }, &nobody)?;
    if !combination.enforce {
        // What is only counted is told in full in the same way.
        filter.sample()?;
    }
    Ok(loaded::price())
}

/// Nobody is listed; so many clauses are there to be used.
fn with_clauses(count: usize) -> Blocklist {
    let mut blocklist = Blocklist::default();
    for port in (1..).take(count) {
        let range = Range::new(port, port).expect("one port is a range");
        let clause = Clause::new(port % 2 == 0, [range]).expect("one range is not too many");
        let meaning = Meaning { ports: Some(clause), ..Meaning::plain(Polarity::Block) };
        let make = Change::Make { name: format!("list{port}").into(), origin: Origin::File, meaning };
        blocklist.apply(&make, Timestamp::default()).expect("there is a slot for each");
    }
    blocklist
}

/// The verifier says last what it minds. All it says may be a million lines.
fn end(error: &KernelError) -> String {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

fn told(objection: String) -> String {
    println!("{objection}");
    objection
}

fn summarize(instructions: &[u64]) {
    let (least, most) = (instructions.iter().min(), instructions.iter().max());
    if let (Some(least), Some(most)) = (least, most) {
        println!(
            "{} accepted: {least} to {most} instructions verified (budget {BUDGET})",
            instructions.len()
        );
    }
}
