//! When to repeat a write that the disk refused: soon, then less and less often.

use std::time::{Duration, Instant};

use crate::clock;

/// A disk that is full for a moment has room again soon.
const FIRST: Duration = Duration::from_secs(1);

/// A disk that stays full is not written to all the time.
pub const LONGEST: Duration = Duration::from_secs(300);

/// The time of the next attempt. The pause doubles after each failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    pause: Duration,
    at: Instant,
}

impl Retry {
    /// The retry after the first failure.
    pub fn soon() -> Self {
        Self { pause: FIRST, at: clock::instant() + FIRST }
    }

    /// The retry after one more failure.
    pub fn later(self) -> Self {
        let pause = LONGEST.min(self.pause * 2);
        Self { pause, at: clock::instant() + pause }
    }

    /// The time until the next attempt.
    pub fn until_due(&self) -> Duration {
        self.at.saturating_duration_since(clock::instant())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_five_minutes() {
        let mut retry = Retry::soon();
        let pauses = [(); 11].map(|()| {
            let pause = retry.pause.as_secs();
            retry = retry.later();
            pause
        });
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert!(retry.until_due() > Duration::from_secs(299));
    }
}
