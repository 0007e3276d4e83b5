//! A point in time, to the second.

use std::time::Duration;

/// Seconds since 1970, until 2106.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u32);

impl Timestamp {
    /// The second that contains this time since 1970.
    pub fn begun(since_1970: Duration) -> Self {
        Self::of(since_1970.as_secs())
    }

    /// The first second that starts no earlier than this time since 1970.
    pub fn complete(since_1970: Duration) -> Self {
        Self::of(since_1970.as_secs() + u64::from(since_1970.subsec_nanos() > 0))
    }

    /// The time this many seconds after 1970 began.
    pub const fn from_secs(secs: u32) -> Self {
        Self(secs)
    }

    pub const fn secs(self) -> u64 {
        self.0 as u64
    }

    /// The time moved by this many seconds, which may be negative.
    pub fn later_by(self, seconds: i64) -> Self {
        Self::of(self.secs().saturating_add_signed(seconds))
    }

    /// The seconds from `other` to this time; negative if it is earlier.
    pub fn after(self, other: Self) -> i64 {
        i64::from(self.0) - i64::from(other.0)
    }

    /// Times beyond the range become its last second.
    fn of(seconds: u64) -> Self {
        Self(u32::try_from(seconds).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_begun_before_it_is_complete() {
        let (whole, part) = (Duration::from_secs(7), Duration::from_millis(7001));
        assert_eq!((Timestamp::begun(whole).secs(), Timestamp::complete(whole).secs()), (7, 7));
        assert_eq!((Timestamp::begun(part).secs(), Timestamp::complete(part).secs()), (7, 8));
        assert_eq!(Timestamp::complete(Duration::MAX - Duration::from_secs(1)).secs(), u64::from(u32::MAX));
    }

    #[test]
    fn timestamps_stay_within_the_scale() {
        let [early, late] = [Timestamp(5), Timestamp(u32::MAX - 5)];
        assert_eq!(
            (early.later_by(-7), late.later_by(7), early.later_by(2)),
            (Timestamp(0), Timestamp(u32::MAX), Timestamp(7))
        );
    }
}
