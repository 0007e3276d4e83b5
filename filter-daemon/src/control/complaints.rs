//! Logs misbehaving clients, at a limited rate, so that no client can flood the log.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::clock;

/// At most one line is written in this time. Complaints in between are counted in the next line.
const PAUSE: Duration = Duration::from_secs(10);

/// The complaints of one server. Clones share the same state.
#[derive(Clone)]
pub struct Complaints(Arc<ComplaintLog>);

struct ComplaintLog {
    opened: Instant,
    /// Milliseconds after `opened` until which nothing more is written.
    quiet_until: AtomicU64,
    unwritten: AtomicU64,
}

impl Complaints {
    pub fn new() -> Self {
        let book = ComplaintLog {
            opened: clock::instant(),
            quiet_until: AtomicU64::new(0),
            unwritten: AtomicU64::new(0),
        };
        Self(Arc::new(book))
    }

    /// Logs a complaint, or counts it.
    pub fn about(&self, what: impl fmt::Display) {
        match self.turn(self.0.opened.elapsed()) {
            Some(0) => tracing::warn!("control socket: {what}"),
            Some(unwritten) => {
                tracing::warn!("control socket: {what} ({unwritten} earlier complaints were not written)");
            }
            None => {}
        }
    }

    /// Takes the right to write a line, if it is due. Returns how many complaints were not written since the
    /// last one.
    fn turn(&self, now: Duration) -> Option<u64> {
        let now = now.as_millis() as u64;
        if now < self.0.quiet_until.load(Ordering::Relaxed) {
            self.0.unwritten.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        self.0.quiet_until.store(now + PAUSE.as_millis() as u64, Ordering::Relaxed);
        Some(self.0.unwritten.swap(0, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_becomes_one_line_in_ten_seconds() {
        let complaints = Complaints::new();
        assert_eq!(complaints.turn(Duration::from_secs(1)), Some(0));
        for _ in 0..1000 {
            assert_eq!(complaints.turn(Duration::from_secs(2)), None);
        }
        assert_eq!(complaints.turn(Duration::from_secs(11)), Some(1000));
        assert_eq!(complaints.turn(Duration::from_secs(12)), None);
        assert_eq!(complaints.turn(Duration::from_secs(30)), Some(1));
    }
}
