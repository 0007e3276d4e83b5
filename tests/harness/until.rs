//! Waiting for what comes about by itself.

use std::thread;
use std::time::{Duration, Instant};

/// Machines are slow.
pub const SOON: Duration = Duration::from_secs(60);

/// Waits until it is so.
#[track_caller]
pub fn until(mut is_so: impl FnMut() -> bool, why: &str) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < SOON, "{why}");
        thread::sleep(Duration::from_millis(50));
    }
}
