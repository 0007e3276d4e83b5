//! Waiting for what comes about by itself.

use std::process::{Child, ExitStatus};
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

/// Waits until a program ends; how did it?
#[track_caller]
pub fn end_of(child: &mut Child) -> ExitStatus {
    let mut ended = None;
    until(
        || {
            ended = child.try_wait().expect("it is our child");
            ended.is_some()
        },
        "it does not end",
    );
    ended.expect("it has just ended")
}
