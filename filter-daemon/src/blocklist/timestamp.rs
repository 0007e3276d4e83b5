//! A point in time, to the second.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds since 1970. Good until 2106.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u32);

impl Timestamp {
    /// This very second.
    pub fn now() -> Self {
        Self::of(SystemTime::now(), Duration::as_secs)
    }

    /// The first full second at which `ttl` is over for something that begins now.
    pub fn in_time(ttl: Duration) -> Self {
        Self::of(SystemTime::now() + ttl, |since| since.as_secs() + u64::from(since.subsec_nanos() > 0))
    }

    /// The moment so many seconds after 1970 began.
    pub const fn from_secs(secs: u32) -> Self {
        Self(secs)
    }

    /// How long it is until then; nothing if it is over.
    pub fn from_now(self) -> Duration {
        (UNIX_EPOCH + Duration::from_secs(self.secs())).duration_since(SystemTime::now()).unwrap_or_default()
    }

    /// Seconds since 1970.
    pub const fn secs(self) -> u64 {
        self.0 as u64
    }

    /// A clock that is off the scale is taken for the nearest end of it.
    fn of(time: SystemTime, seconds: impl Fn(&Duration) -> u64) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u32::try_from(seconds(&since)).unwrap_or(u32::MAX))
    }
}
