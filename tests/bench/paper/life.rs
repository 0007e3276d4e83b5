//! The life of a filter: filled step by step, asked at every step, emptied again.

use anyhow::{Result, ensure};
use filterd_paper::blocked::Blocked;
use filterd_paper::bloom::Bloom;
use filterd_paper::cuckoo::{Plain, Room, Shape, Sorted};
use filterd_paper::dleft::DLeft;
use filterd_paper::hash::Choices;
use filterd_paper::quotient::Quotient;
use filterd_paper::{Filter, Forget};
use pages::arguments::Effort;
use pages::clock;

use crate::contenders::{self, Contender};
use crate::keys;

/// Steps from empty to full.
pub const STEPS: u64 = 20;

/// Members among the lookups when the filter is full, in a hundred.
pub const SHARES: [u32; 5] = [0, 25, 50, 75, 100];

/// What was measured in one life; times are nanoseconds each.
#[derive(Clone, Debug)]
pub struct Life {
    pub of: Contender,
    pub members: u64,
    pub bits: u64,
    /// The share of non-members that the full filter takes for members.
    pub false_positives: f64,
    /// At each step.
    pub insert: Vec<f64>,
    pub hit: Vec<f64>,
    pub miss: Vec<f64>,
    /// When full, by the share of members.
    pub mixed: Vec<f64>,
    /// From full to empty; nothing where nobody can be taken out.
    pub remove: Vec<f64>,
}

/// How far a filter is filled.
#[derive(Clone, Copy)]
enum Until {
    /// It takes so many, and no more are offered.
    Count(u64),
    /// It is known to take about so many, and is filled until it refuses one.
    Refusal(u64),
}

/// All of them, so many lives of each, in turn.
pub fn all(effort: Effort, rounds: usize) -> Result<Vec<Life>> {
    let mut lives = Vec::new();
    for round in 0..rounds {
        eprint!("\rlife {} of {rounds} ", round + 1);
        for contender in Contender::ALL {
            lives.push(live(contender, effort)?);
        }
    }
    eprintln!();
    Ok(lives)
}

fn live(of: Contender, effort: Effort) -> Result<Life> {
    let (bits, index_bits) = (contenders::bits(effort), contenders::index_bits(effort));
    let lookups = effort.of(50_000, 200_000, 1_000_000);
    let shape = |fingerprint| Shape { fingerprint, bucket: 4, index_bits };
    let slots = 4 << index_bits;
    let by_bits = Until::Count(bits / 13);
    match of {
        Contender::Cuckoo => {
            forgetful(of, Plain::new(shape(12), Room::Path), Until::Refusal(slots * 95 / 100), lookups)
        }
        Contender::SemiSorted => {
            forgetful(of, Sorted::new(shape(13), Room::Path), Until::Refusal(slots * 95 / 100), lookups)
        }
        Contender::Bloom => filled(of, &mut Bloom::new(bits, 9), by_bits, lookups),
        Contender::Blocked => filled(of, &mut Blocked::new(bits, 9), by_bits, lookups),
        Contender::Quotient => {
            forgetful(of, Quotient::new(index_bits + 2, 9), Until::Count(slots * 9 / 10), lookups)
        }
        Contender::DLeft => {
            let filter = DLeft::new(bits, 12);
            let about = filter.slots() * 85 / 100;
            forgetful(of, filter, Until::Refusal(about), lookups)
        }
    }
}

fn forgetful(of: Contender, mut filter: impl Forget, until: Until, lookups: usize) -> Result<Life> {
    let mut life = filled(of, &mut filter, until, lookups)?;
    for step in (0..STEPS).rev() {
        let (from, to) = (life.members * step / STEPS, life.members * (step + 1) / STEPS);
        let remove = || (from..to).for_each(|number| filter.remove(keys::member(number)));
        life.remove.push(clock::each((to - from) as usize, remove));
    }
    let left = (0..life.members).filter(|&number| filter.contains(keys::member(number))).count();
    ensure!(left == 0, "{} remembers {left} that were taken out", of.name());
    Ok(life)
}

fn filled(of: Contender, filter: &mut impl Filter, until: Until, lookups: usize) -> Result<Life> {
    let (Until::Count(about) | Until::Refusal(about)) = until;
    let mut life = Life {
        of,
        members: 0,
        bits: filter.bits(),
        false_positives: 0.0,
        insert: Vec::new(),
        hit: Vec::new(),
        miss: Vec::new(),
        mixed: Vec::new(),
        remove: Vec::new(),
    };
    let mut choices = Choices::default();
    for step in 1..=STEPS {
        let is_last = step == STEPS && matches!(until, Until::Refusal(_));
        let target = if is_last { u64::MAX } else { about * step / STEPS };
        life.fill(filter, target);
        ensure!(is_last || life.members == target, "{} is full at {}", of.name(), life.members);
        for (percent, times) in [(100, 0), (0, 1)] {
            let time = life.ask(filter, lookups, percent, &mut choices)?;
            [&mut life.hit, &mut life.miss][times].push(time);
        }
    }
    for percent in SHARES {
        let time = life.ask(filter, lookups * 2, percent, &mut choices)?;
        life.mixed.push(time);
    }
    const NON_MEMBERS: u64 = 2_000_000;
    let found =
        (0..NON_MEMBERS).filter(|&number| filter.contains(keys::non_member(1 << 32 | number))).count();
    life.false_positives = found as f64 / NON_MEMBERS as f64;
    Ok(life)
}

impl Life {
    /// Lets members in until there are so many, or until one is refused.
    fn fill(&mut self, filter: &mut impl Filter, target: u64) {
        let pending = self.members..target;
        let (time, count) = clock::counted(|| {
            pending.take_while(|&number| filter.insert(keys::member(number)).is_ok()).count()
        });
        self.members += count as u64;
        self.insert.push(time);
    }

    /// A filter that loses somebody would be fast for the wrong reason.
    fn ask(&self, filter: &impl Filter, count: usize, percent: u32, choices: &mut Choices) -> Result<f64> {
        let keys = keys::lookups(count, self.members, percent, choices);
        let (time, found) = clock::lookups(&keys, |key| filter.contains(key));
        ensure!(percent < 100 || found == count, "{} lost {} members", self.of.name(), count - found);
        Ok(time)
    }

    /// Million members let in a second, over all the steps.
    pub fn million_inserts(&self) -> f64 {
        STEPS as f64 * 1000.0 / self.insert.iter().sum::<f64>()
    }
}
