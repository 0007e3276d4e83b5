//! How long commits took, as a histogram, because a mean would hide the few slow ones.

use std::time::Duration;

use crate::control::wire::snapshot::{Changes, Within};

/// The bounds in microseconds, from the time for one address to the time for the growth of a table.
const TIMES: [u64; 10] = [10, 50, 100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 1_000_000];

#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// Counts of commits up to each bound, and longer than the one before.
    counts: [u64; TIMES.len()],
    /// Commits longer than all bounds.
    longer: u64,
    all: Duration,
}

impl Latencies {
    /// Counts one commit that took this long.
    pub fn note(&mut self, took: Duration) {
        self.all += took;
        let at = TIMES.iter().position(|time| took <= Duration::from_micros(*time));
        *at.map_or(&mut self.longer, |at| &mut self.counts[at]) += 1;
    }

    /// The histogram in cumulative form, for clients.
    pub fn told(&self) -> Changes {
        let mut changes = 0;
        let within = TIMES.iter().zip(self.counts).map(|(time, count)| {
            changes += count;
            Within { seconds: Duration::from_micros(*time).as_secs_f64(), changes }
        });
        let within = within.collect();
        Changes { count: changes + self.longer, seconds: self.all.as_secs_f64(), within }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_counts_in_every_larger_bucket() {
        let mut latencies = Latencies::default();
        [9, 10, 11, 2_000_000].iter().for_each(|micros| latencies.note(Duration::from_micros(*micros)));
        let Changes { count, seconds, within } = latencies.told();
        assert_eq!((count, seconds), (4, 2.000_03));
        assert_eq!(
            within.iter().map(|within| within.changes).collect::<Vec<_>>(),
            [2, 3, 3, 3, 3, 3, 3, 3, 3, 3]
        );
        assert_eq!(within[0].seconds, 0.000_01);
    }
}
