//! What was counted since counting began, and how much of it of late.

use std::time::{Duration, Instant};

use filter_common::labels::{Counted, Label};

/// How many packets were counted in each way.
pub type Counts = [u64; Counted::ALL.len()];

/// How far apart looks are: a rate is over one to two of these.
const APART: Duration = Duration::from_secs(5);

/// In less time nothing is said of a rate.
const SHORTEST: Duration = Duration::from_millis(500);

/// The counters as they were when counting began, and at the latest two looks; by label.
#[derive(Debug)]
pub struct Recent {
    begun: Vec<Counts>,
    looks: [(Instant, Vec<Counts>); 2],
}

impl Recent {
    /// From now on it counts.
    pub fn begin(counters: Vec<Counts>, now: Instant) -> Self {
        Self { begun: counters.clone(), looks: [(now, counters.clone()), (now, counters)] }
    }

    /// What was counted since.
    pub fn since_begun(&self, counters: &[Counts]) -> Vec<Counts> {
        counters.iter().enumerate().map(|(label, counts)| less(*counts, at(&self.begun, label))).collect()
    }

    /// How much more it is than a while ago, for each label, and how many seconds ago that was.
    pub fn of_late(&self, counters: &[Counts], now: Instant) -> Option<(Vec<Counts>, f64)> {
        let [(then, before), _] = &self.looks;
        let past = now.duration_since(*then);
        let more = counters.iter().enumerate().map(|(label, counts)| less(*counts, at(before, label)));
        (past >= SHORTEST).then(|| (more.collect(), past.as_secs_f64()))
    }

    /// How long until the next look.
    pub fn until_due(&self, now: Instant) -> Duration {
        APART.saturating_sub(now.duration_since(self.looks[1].0))
    }

    /// The counters are these now.
    pub fn note(&mut self, counters: Vec<Counts>, now: Instant) {
        self.looks.rotate_left(1);
        self.looks[1] = (now, counters);
    }

    /// The counters of this label were set back.
    pub fn begin_anew(&mut self, label: Label) {
        let [(_, one), (_, other)] = &mut self.looks;
        for counters in [&mut self.begun, one, other] {
            if let Some(counts) = counters.get_mut(usize::from(label)) {
                *counts = Counts::default();
            }
        }
    }
}

fn at(counters: &[Counts], label: usize) -> Counts {
    counters.get(label).copied().unwrap_or_default()
}

fn less(counts: Counts, before: Counts) -> Counts {
    std::array::from_fn(|way| counts[way].saturating_sub(before[way]))
}

/// Both together.
pub fn sum(one: Counts, other: Counts) -> Counts {
    std::array::from_fn(|way| one[way] + other[way])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_over_the_last_seconds_however_long_it_counts_already() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let counters = |dropped| vec![Counts::default(), [dropped, 0, 0, 0]];
        let mut recent = Recent::begin(counters(1000), begun);
        assert!(recent.of_late(&counters(1000), begun).is_none());
        assert_eq!(recent.of_late(&counters(1030), after(3)), Some((counters(30), 3.0)));
        assert_eq!(recent.until_due(after(3)), Duration::from_secs(2));
        (1..=20).for_each(|look| recent.note(counters(1000 + look * 50), after(look * 5)));
        assert_eq!(recent.of_late(&counters(2002), after(101)), Some((counters(52), 6.0)));
        assert_eq!(recent.since_begun(&counters(2002)), counters(1002));
    }

    #[test]
    fn what_was_set_back_counts_from_nothing() {
        let begun = Instant::now();
        let mut recent = Recent::begin(vec![[0; 4], [7; 4]], begun);
        recent.note(vec![[0; 4], [9; 4]], begun + APART);
        recent.begin_anew(1);
        assert_eq!(recent.since_begun(&[[0; 4], [3; 4]]), [[0; 4], [3; 4]]);
        assert_eq!(recent.of_late(&[[0; 4], [3; 4]], begun + APART).unwrap().0, [[0; 4], [3; 4]]);
    }
}
