//! The only reader of clocks. Whoever else needs the time is told it, so that nearly everything can be tried at any time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use crate::blocklist::Timestamp;

/// This very second.
pub fn now() -> Timestamp {
    Timestamp::begun(since_1970())
}

/// The first full second at which `ttl` is over for something that begins now.
pub fn after(ttl: Duration) -> Timestamp {
    Timestamp::complete(since_1970() + ttl)
}

/// How long it is until then; nothing if it is over.
pub fn until(then: Timestamp) -> Duration {
    Duration::from_secs(then.secs()).saturating_sub(since_1970())
}

/// The second in which that was, by today's clock.
pub fn then(then: Instant) -> Timestamp {
    Timestamp::begun(since_1970().saturating_sub(then.elapsed()))
}

/// To measure how long something takes, whatever is done to the clock meanwhile.
pub fn instant() -> Instant {
    Instant::now()
}

/// What the clock is ahead of the time since boot, which nobody can set, in milliseconds.
pub fn offset() -> i64 {
    let boot = clock_gettime(ClockId::Boottime);
    let boot = boot.tv_sec * 1000 + boot.tv_nsec / 1_000_000;
    i64::try_from(since_1970().as_millis()).unwrap_or(i64::MAX).saturating_sub(boot)
}

/// How long this machine has been up, as every process on it sees it: for a moment that two of them agree on.
pub fn uptime() -> Duration {
    clock_gettime(ClockId::Monotonic).try_into().unwrap_or_default()
}

/// How long it is since 1970 began. A clock that is before stands at its beginning.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_is_never_cut_short_and_never_a_second_too_long() {
        let ttl = Duration::from_secs(7200);
        let before = since_1970() + ttl;
        let end = Duration::from_secs(after(ttl).secs());
        assert!(end >= before && end < since_1970() + ttl + Duration::from_secs(1));
        assert!(until(after(ttl)) >= ttl - Duration::from_secs(1));
        assert_eq!(until(Timestamp::from_secs(0)), Duration::ZERO);
    }
}
