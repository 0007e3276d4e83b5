//! Giving memory back: a table that has long been nearly empty is built anew, as small as it can be.

use std::time::{Duration, Instant};

use tracing::error;

use super::needs;
use super::owner::Owner;

/// A wave of attackers may come back within this time, and a table that was made for them is better kept.
const LONG: Duration = Duration::from_secs(10 * 60);

/// Since when tables are much larger than they need be.
#[derive(Debug, Default)]
pub struct Roominess(Option<Instant>);

impl Roominess {
    /// Has it been so for long?
    fn is_long(&mut self, is_roomy: bool, now: Instant) -> bool {
        if !is_roomy {
            self.0 = None;
            return false;
        }
        now.duration_since(*self.0.get_or_insert(now)) >= LONG
    }
}

impl Owner {
    /// Builds tables anew that have long been much too large.
    pub(super) fn shrink_in_time(&mut self) {
        let needs = needs::at_most(&self.blocklist, std::iter::empty());
        let is_roomy = !self.filter.is_growing() && self.filter.is_roomy_for(&needs);
        if self.roominess.is_long(is_roomy, Instant::now()) {
            self.shrink();
        }
    }

    /// Builds tables anew that are much too large.
    pub(super) fn shrink(&mut self) {
        let needs = needs::at_most(&self.blocklist, std::iter::empty());
        self.roominess = Roominess::default();
        if let Err(error) = self.filter.shrink_to(&needs, &self.blocklist) {
            error!("cannot give memory back: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_empty_all_the_time_is_long_empty() {
        let (mut roominess, begun) = (Roominess::default(), Instant::now());
        assert!(!roominess.is_long(true, begun));
        assert!(!roominess.is_long(true, begun + LONG / 2));
        assert!(roominess.is_long(true, begun + LONG));
        assert!(!roominess.is_long(false, begun + LONG));
        assert!(!roominess.is_long(true, begun + LONG), "it begins anew");
    }
}
