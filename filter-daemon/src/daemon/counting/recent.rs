//! The counts since counting began, and recent rates.

use std::time::{Duration, Instant};

use filter_common::labels::{Counted, Label};

/// How many packets were counted in each way.
pub type OutcomeCounts = [u64; Counted::ALL.len()];

/// The time between two readings. A rate covers between one and two of these intervals.
const APART: Duration = Duration::from_secs(5);

/// No rate is reported over less time than this.
const SHORTEST: Duration = Duration::from_millis(500);

/// The counters when counting began, and the two latest readings, by label.
#[derive(Debug)]
pub struct RecentCounts {
    begun: Vec<OutcomeCounts>,
    looks: [(Instant, Vec<OutcomeCounts>); 2],
}

impl RecentCounts {
    /// Begins counting with these counters as zero.
    pub fn begin(counters: Vec<OutcomeCounts>, now: Instant) -> Self {
        Self { begun: counters.clone(), looks: [(now, counters.clone()), (now, counters)] }
    }

    /// The counts since counting began.
    pub fn since_begun(&self, counters: &[OutcomeCounts]) -> Vec<OutcomeCounts> {
        counters.iter().enumerate().map(|(label, counts)| less(*counts, at(&self.begun, label))).collect()
    }

    /// The increase of each label since the older reading, and the seconds since then.
    pub fn of_late(&self, counters: &[OutcomeCounts], now: Instant) -> Option<(Vec<OutcomeCounts>, f64)> {
        let [(then, before), _] = &self.looks;
        let past = now.duration_since(*then);
        let more = counters.iter().enumerate().map(|(label, counts)| less(*counts, at(before, label)));
        (past >= SHORTEST).then(|| (more.collect(), past.as_secs_f64()))
    }

    pub fn until_due(&self, now: Instant) -> Duration {
        APART.saturating_sub(now.duration_since(self.looks[1].0))
    }

    /// Records a reading of the counters.
    pub fn note(&mut self, counters: Vec<OutcomeCounts>, now: Instant) {
        self.looks.rotate_left(1);
        self.looks[1] = (now, counters);
    }

    /// Records that the counters of this label were reset to zero.
    pub fn begin_anew(&mut self, label: Label) {
        let [(_, one), (_, other)] = &mut self.looks;
        for counters in [&mut self.begun, one, other] {
            if let Some(counts) = counters.get_mut(usize::from(label)) {
                *counts = OutcomeCounts::default();
            }
        }
    }
}

fn at(counters: &[OutcomeCounts], label: usize) -> OutcomeCounts {
    counters.get(label).copied().unwrap_or_default()
}

fn less(counts: OutcomeCounts, before: OutcomeCounts) -> OutcomeCounts {
    std::array::from_fn(|way| counts[way].saturating_sub(before[way]))
}

pub fn sum(one: OutcomeCounts, other: OutcomeCounts) -> OutcomeCounts {
    std::array::from_fn(|way| one[way] + other[way])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_covers_only_the_last_seconds() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let counters = |dropped| vec![OutcomeCounts::default(), [dropped, 0, 0, 0]];
        let mut recent = RecentCounts::begin(counters(1000), begun);
        assert!(recent.of_late(&counters(1000), begun).is_none());
        assert_eq!(recent.of_late(&counters(1030), after(3)), Some((counters(30), 3.0)));
        assert_eq!(recent.until_due(after(3)), Duration::from_secs(2));
        (1..=20).for_each(|look| recent.note(counters(1000 + look * 50), after(look * 5)));
        assert_eq!(recent.of_late(&counters(2002), after(101)), Some((counters(52), 6.0)));
        assert_eq!(recent.since_begun(&counters(2002)), counters(1002));
    }

    #[test]
    fn reset_counter_starts_from_zero() {
        let begun = Instant::now();
        let mut recent = RecentCounts::begin(vec![[0; 4], [7; 4]], begun);
        recent.note(vec![[0; 4], [9; 4]], begun + APART);
        recent.begin_anew(1);
        assert_eq!(recent.since_begun(&[[0; 4], [3; 4]]), [[0; 4], [3; 4]]);
        assert_eq!(recent.of_late(&[[0; 4], [3; 4]], begun + APART).unwrap().0, [[0; 4], [3; 4]]);
    }
}
