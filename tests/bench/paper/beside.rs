//! Lookups beside a writer: MemC3's version counters, and filterd's moves in one direction.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use anyhow::{Result, ensure};
use filter_common::cuckoo::geometry::Geometry;
use filterd_measure::figures::Figures;
use filterd_measure::tables::Table;
use filterd_paper::hash::Choices;
use filterd_paper::optimistic::{Directed, Live, Versioned};
use pages::arguments::Effort;
use pages::clock;
use pages::page::Chapter;

/// Guests that are in at a time; the others stay.
const GUESTS: u64 = 1000;

/// What was measured once.
struct Sample {
    alone: f64,
    beside: f64,
    /// Pending entries that the writer let in meanwhile, in a second, and those that it had to refuse, of all.
    million_inserts: f64,
    refused: f64,
    missed: usize,
}

/// Both in turn.
pub fn chapter(effort: Effort, rounds: usize) -> Result<Chapter> {
    let index_bits = effort.of(14, 18, 20);
    let (mut directed, mut versioned) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        directed.push(sample(&Directed::new(index_bits), index_bits)?);
        versioned.push(sample(&Versioned::new(index_bits), index_bits)?);
    }
    let heads = ["", "alone, ns", "beside a writer, ns", "million inserts a second", "% refused", "missed"];
    Ok(Chapter {
        title: "Lookups beside a writer (MemC3)".to_owned(),
        words: format!(
            "The exact table of 2^{index_bits} buckets, four slots in five taken. One thread looks up members that stay, \
             another one lets guests in and out as fast as it can. A lookup is one that must find its key: what is missed \
             is an error."
        ),
        tables: vec![Table {
            title: "Lookups of members".to_owned(),
            heads: heads.map(str::to_owned).into(),
            rows: vec![row("version counters", &versioned), row("moves in one direction", &directed)],
        }],
        plots: Vec::new(),
        remark: "A counter costs every lookup two more loads, of another cache line, and a second look where it changed; it \
                 lets the writer move anything at any time. Moves in one direction cost the reader one load of a hot word, \
                 and the writer the pending for which there is no such path: in filterd they wait in the stash for a \
                 grace period, here they are refused. MemC3 reports no figures that could be compared: its table holds \
                 pointers to items."
            .to_owned(),
    })
}

fn row(name: &str, samples: &[Sample]) -> Vec<String> {
    let median = |part: fn(&Sample) -> f64| Figures::of(samples.iter().map(part).collect()).median;
    let missed: usize = samples.iter().map(|sample| sample.missed).sum();
    vec![
        name.to_owned(),
        format!("{:.1}", median(|sample| sample.alone)),
        format!("{:.1}", median(|sample| sample.beside)),
        format!("{:.2}", median(|sample| sample.million_inserts)),
        format!("{:.2}", median(|sample| sample.refused * 100.0)),
        missed.to_string(),
    ]
}

fn sample(live: &impl Live, index_bits: u32) -> Result<Sample> {
    let stay = Geometry::exact4(1 << index_bits).slots() * 4 / 5 - GUESTS;
    let refused = (0..stay).filter(|&number| live.insert(address(number)).is_err()).count();
    ensure!(refused == 0, "{refused} of {stay} were refused before any came to stay");
    const LOOKUPS: usize = 2_000_000;
    let mut choices = Choices::default();
    let keys: Vec<u32> = (0..LOOKUPS).map(|_| address(choices.below(stay as u32).into())).collect();
    let ask = || clock::lookups(&keys, |address| live.contains(address));
    let (alone, found) = ask();
    ensure!(found == LOOKUPS, "{} are lost", LOOKUPS - found);
    let (is_over, came, turned_away) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let (beside, found, seconds) = thread::scope(|scope| {
        scope.spawn(|| {
            for guest in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let is_refused = live.insert(address(stay + guest)).is_err();
                [&came, &turned_away][usize::from(is_refused)].fetch_add(1, Ordering::Relaxed);
                if let Some(leaving) = guest.checked_sub(GUESTS) {
                    live.remove(address(stay + leaving));
                }
            }
        });
        while came.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        let begin = std::time::Instant::now();
        let (beside, found) = ask();
        is_over.store(true, Ordering::Relaxed);
        (beside, found, begin.elapsed().as_secs_f64())
    });
    let (came, refused) = (came.into_inner() as f64, turned_away.into_inner() as f64);
    Ok(Sample {
        alone,
        beside,
        million_inserts: came / 1e6 / seconds,
        refused: refused / (came + refused),
        missed: LOOKUPS - found,
    })
}

/// The address of this number: different ones have different addresses.
const fn address(number: u64) -> u32 {
    (number as u32).wrapping_mul(0x9E37_79B1)
}
