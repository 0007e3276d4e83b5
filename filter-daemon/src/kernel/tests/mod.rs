//! Tests the real filter and the real blocklist on a kernel in memory that refuses any one request, or all
//! requests for a while. After each step every packet gets the right verdict, and every entry is in the
//! tables once. Once the kernel refuses nothing any more, no trace of the refusals is left.
//!
//! `FILTERD_STORIES` sets the number of random test sequences, and `FILTERD_SEED` the first of them.

mod aside;
mod damage;
mod growth;
mod labels;
mod levels;
pub(crate) mod memory;
#[path = "../../../../tests/harness/numbered.rs"]
mod numbered;
#[path = "../../../../tests/harness/random.rs"]
#[expect(dead_code, reason = "nobody here asks for bytes or for addresses that hosts have")]
pub(crate) mod random;
mod reference;
mod step;
mod together;
mod universe;
#[path = "../../../../tests/harness/whole.rs"]
pub(crate) mod whole;
mod world;

use std::env;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::blocklist::Blocklist;
use filter_common::target::Target;

use random::Random;
use step::{Step, steps};
use whole::few_or;
use world::World;

/// Sequences in `cargo xtask test --all`, and in other runs. A soak runs more.
const ALL: u64 = 80;
const FEW: u64 = 24;

#[test]
fn refusals_never_change_verdicts() {
    let (first, count) = (number("FILTERD_SEED", 0), number("FILTERD_STORIES", few_or(FEW, ALL)));
    let next = AtomicU64::new(first);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let told = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..workers).map(|_| scope.spawn(|| tell_until(first + count, &next))).collect();
        workers.into_iter().map(|worker| worker.join().expect("its panic says which story")).fold(
            Coverage::default(),
            |one, other| Coverage {
                stories: one.stories + other.stories,
                requests: one.requests + other.requests,
                refused: one.refused + other.refused,
                grown: one.grown + other.grown,
            },
        )
    });
    println!("{told:?}");
    let little = told.refused < told.stories / 2 || told.grown < told.stories / 4;
    assert!(count < FEW || !little, "little of what can happen did: {told:?}");
}

/// Runs sequences until the end. Each runs once without refusals, and once for each of its requests with that
/// one refused.
fn tell_until(end: u64, next: &AtomicU64) -> Coverage {
    let mut blocklist = Some(world::nothing());
    let mut told = Coverage::default();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return told;
        }
        let mut random = Random(seed.wrapping_mul(7919) + 13);
        let (graceless, is_slow) = (random.below(8) == 0, random.below(2) == 0);
        let steps = steps(&mut random);
        let mut story = Sequence { seed, steps, graceless, is_slow, refuses: 0..0 };
        let requests = story.tell(&mut blocklist, &mut told);
        for request in 1..requests {
            let long = if random.below(4) == 0 { 1 + random.below(12) as u64 } else { 1 };
            story.refuses = request..request + long;
            story.tell(&mut blocklist, &mut told);
        }
    }
}

/// Counts of what the sequences have covered.
#[derive(Debug, Default)]
struct Coverage {
    stories: u64,
    requests: u64,
    /// Steps that were refused.
    refused: u64,
    /// Steps while a larger table was in the making.
    grown: u64,
}

struct Sequence {
    seed: u64,
    steps: Vec<Step>,
    graceless: bool,
    is_slow: bool,
    refuses: Range<u64>,
}

impl Sequence {
    /// Runs the sequence to its end, and returns the number of requests.
    fn tell(&self, blocklist: &mut Option<Blocklist>, told: &mut Coverage) -> u64 {
        let empty = blocklist.take().expect("the story before gave it back");
        let mut world = World::new(self.graceless, self.is_slow, empty);
        world.kernel.refuse(self.refuses.clone());
        for (number, step) in self.steps.iter().enumerate() {
            let taken = world.take(step);
            told.refused += u64::from(taken.is_err());
            if self.refuses.is_empty() {
                let refused = taken.as_ref().err().map(ToString::to_string);
                let refused = refused.or_else(|| world.refused.first().map(ToString::to_string));
                self.no(refused, number, &"though the kernel is well");
            }
            told.grown += u64::from(world.filter().is_growing());
            // Until the first refusal everything happens as in the run before.
            if world.kernel.requests() > self.refuses.start {
                self.no(world.trouble(), number, &taken);
            }
        }
        world.kernel.refuse(0..0);
        world.come_to_rest();
        let (requests, last) = (world.kernel.requests(), self.steps.len() - 1);
        self.no(world.trouble().or_else(|| world.leak()), last, &"then it was well again");
        let ends: [fn(&World) -> Step; 5] = [
            |_| Step::Add(extra()),
            |_| Step::Allow(extra()),
            |world| Step::Remove(world.everything()),
            |world| Step::Disallow(world.everything_allowed()),
            |_| Step::Tidy,
        ];
        for end in ends {
            let end = end(&world);
            let taken = world.take(&end);
            world.come_to_rest();
            let refused = taken.as_ref().err().map(ToString::to_string);
            self.no(refused.or_else(|| world.trouble()).or_else(|| world.leak()), last, &end);
        }
        told.stories += 1;
        told.requests += requests;
        *blocklist = Some(world.end());
        requests
    }

    /// Panics if there is trouble.
    fn no(&self, trouble: Option<String>, number: usize, then: &impl std::fmt::Debug) {
        let Some(trouble) = trouble else { return };
        let steps = self.steps[number.saturating_sub(5)..=number].iter().map(|step| {
            let mut step = format!("{step:?}");
            step.truncate(100);
            format!("\n    {step}")
        });
        let (steps, Self { seed, refuses, .. }) = (steps.collect::<String>(), self);
        panic!("{trouble}: story {seed}, refusing {refuses:?}, after step {number}:{steps}\n    {then:?}");
    }
}

/// Targets of every kind.
fn extra() -> Vec<Target> {
    ["10.0.3.254", "10.0.1.0/29", "10.0.2.0/24", "2001:db8::/64", "2001:db8::63", "2001:db8:2::/47"]
        .map(|word| word.parse().expect("it is a target"))
        .to_vec()
}

fn number(name: &str, otherwise: u64) -> u64 {
    env::var(name).map_or(otherwise, |word| word.parse().expect("it is a number"))
}
