//! The largest sizes of a list within the last seven days. A list that halves repeatedly is compared with
//! the largest.

use std::fmt;
use std::str::FromStr;

use crate::blocklist::Timestamp;

/// Seconds of a day.
const DAY: i64 = 24 * 60 * 60;

/// How long a size counts after the list last had it, in seconds.
const WEEK: i64 = 7 * DAY;

/// The sizes of a list before it shrank, the largest and oldest first, at most one for each day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peaks(Vec<Peak>);

/// A size, and when the list had it last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Peak {
    until: Timestamp,
    entries: u64,
}

impl Peaks {
    /// The largest size within the last seven days; 0 if the list has not shrunk since.
    #[must_use]
    pub fn largest(&self, now: Timestamp) -> u64 {
        let recent = self.0.iter().filter(|peak| peak.is_recent(now));
        recent.map(|peak| peak.entries).max().unwrap_or(0)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The peaks after the list changed from `before` to `entries` entries.
    #[must_use]
    pub fn replaced(&self, before: u64, entries: u64, now: Timestamp) -> Self {
        let mut peaks = self.0.clone();
        peaks.retain(|peak| peak.is_recent(now) && peak.entries > entries.max(before));
        let is_new_day = peaks.last().is_none_or(|last| now.after(last.until) >= DAY);
        if before > entries && is_new_day {
            peaks.push(Peak { until: now, entries: before });
        }
        Self(peaks)
    }

    /// All times moved by this many seconds.
    #[must_use]
    pub fn later_by(&self, seconds: i64) -> Self {
        let later = |peak: &Peak| Peak { until: peak.until.later_by(seconds), ..*peak };
        Self(self.0.iter().map(later).collect())
    }
}

impl Peak {
    fn is_recent(&self, now: Timestamp) -> bool {
        now.after(self.until) < WEEK
    }
}

/// The format in copies of lists: `1795296480:4000 1795382880:2100`.
impl fmt::Display for Peaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Peak { until, entries }) in self.0.iter().enumerate() {
            let blank = if number == 0 { "" } else { " " };
            write!(f, "{blank}{}:{entries}", until.secs())?;
        }
        Ok(())
    }
}

impl FromStr for Peaks {
    type Err = ();

    fn from_str(words: &str) -> Result<Self, ()> {
        let peak = |word: &str| {
            let (until, entries) = word.split_once(':')?;
            Some(Peak { until: Timestamp::from_secs(until.parse().ok()?), entries: entries.parse().ok()? })
        };
        words.split(' ').map(peak).collect::<Option<_>>().map(Self).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_secs(1_795_296_480).later_by(hours * 3600)
    }

    #[test]
    fn the_largest_size_counts_for_seven_days() {
        let peaks = Peaks::default().replaced(4000, 2001, at(0));
        assert_eq!(peaks.largest(at(0)), 4000);
        let peaks = peaks.replaced(2001, 1500, at(1)).replaced(1500, 1400, at(25));
        assert_eq!(peaks.largest(at(7 * 24 - 1)), 4000);
        assert_eq!(peaks.largest(at(7 * 24)), 1500, "that was later");
        assert_eq!(peaks.largest(at(9 * 24)), 0);
    }

    #[test]
    fn a_longer_list_is_its_own_peak() {
        let peaks = Peaks::default().replaced(4000, 2001, at(0)).replaced(2001, 5000, at(1));
        assert!(peaks.is_empty());
        assert_eq!(peaks.replaced(5000, 4999, at(2)).largest(at(3)), 5000);
    }

    #[test]
    fn a_size_a_day_is_remembered() {
        let mut peaks = Peaks::default();
        for hour in 0..1000 {
            let before = 100_000 - u64::try_from(hour).unwrap();
            peaks = peaks.replaced(before, before - 1, at(hour));
            assert!(peaks.0.len() <= 8, "{peaks}");
        }
        let largest = peaks.largest(at(1000));
        assert!((99_150..=99_200).contains(&largest), "{largest}");
    }

    #[test]
    fn peaks_are_read_as_written() {
        let peaks = Peaks::default().replaced(4000, 2001, at(0)).replaced(2001, 1500, at(25));
        assert_eq!(peaks.to_string(), "1795296480:4000 1795386480:2001");
        assert_eq!(peaks.to_string().parse(), Ok(peaks.clone()));
        assert_eq!(peaks.later_by(-5).later_by(5), peaks);
        for damaged in ["", "1", "1:x", "1:2  3:4", "99999999999:1"] {
            assert_eq!(damaged.parse::<Peaks>(), Err(()), "{damaged:?}");
        }
    }
}
