//! The steps of a test sequence. They are drawn in advance, so that a sequence can run again with another
//! refusal.

use filter_common::target::Target;

use super::random::Random;
use super::universe;

#[derive(Clone, Debug)]
pub enum Step {
    Add(Vec<Target>),
    /// Adds without waiting for a larger table.
    AddAtOnce(Vec<Target>),
    Remove(Vec<Target>),
    Allow(Vec<Target>),
    Disallow(Vec<Target>),
    /// Checks whether allowed and blocked targets still overlap.
    LookForOverlap,
    /// Replaces everything that is blocked and allowed, and the settings.
    Reload(Vec<Target>, Vec<Target>, How),
    Enforce(bool),
    Settle,
    /// Starts making a larger table.
    Grow {
        six: bool,
    },
    GraceIsOver,
    /// Loads the judge for these targets in the background.
    Foresee(Vec<Target>),
    /// Reserves room for many entries that are never added.
    Inflate,
    Shrink,
    Tidy,
}

/// How a reload becomes visible.
#[derive(Clone, Copy, Debug)]
pub enum How {
    /// Additions, a grace period, then removals.
    InTurn,
    /// All changes by one store, with these settings.
    AtOnce(bool),
}

pub fn steps(random: &mut Random) -> Vec<Step> {
    let count = 6 + random.below(9);
    let volume = 1 + random.below(3);
    (0..count).map(|_| step(random, volume)).collect()
}

fn step(random: &mut Random, volume: usize) -> Step {
    match random.below(34) {
        0..=7 => Step::Add(targets(random, volume)),
        8 | 9 => Step::AddAtOnce(targets(random, volume)),
        10..=13 => Step::Remove(targets(random, volume)),
        14 | 15 => {
            let count = random.below(150 * volume);
            let how = match random.below(4) {
                0 | 1 => How::InTurn,
                _ => How::AtOnce(random.below(3) > 0),
            };
            let allowed = random.below(30 * volume);
            Step::Reload(some(random, count), some(random, allowed), how)
        }
        16 => Step::Enforce(random.below(2) == 0),
        17 => Step::Settle,
        18 => Step::Grow { six: random.below(2) == 0 },
        19 | 20 => Step::GraceIsOver,
        21 if random.below(4) == 0 => Step::Inflate,
        21 | 22 => Step::Shrink,
        23..=26 => Step::Allow(targets(random, volume)),
        27 | 28 => Step::Disallow(targets(random, volume)),
        29 => Step::LookForOverlap,
        30..=32 => Step::Foresee(targets(random, volume)),
        _ => Step::Tidy,
    }
}

fn targets(random: &mut Random, volume: usize) -> Vec<Target> {
    let count = match random.below(5) {
        0 | 1 => 120 * volume,
        2 => 20,
        _ => 1 + random.below(3),
    };
    some(random, count)
}

fn some(random: &mut Random, count: usize) -> Vec<Target> {
    (0..count).map(|_| universe::target(random)).collect()
}
