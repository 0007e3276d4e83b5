//! Logs progress during slow steps of a start. This is a log line and not a progress bar, because a terminal
//! that is held must not stop the daemon.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tracing::info;

/// The time from each message to the next.
const AFTER: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(10)];

/// Runs `act`, and logs that it continues if it takes long.
pub fn told<T>(what: &'static str, act: impl FnOnce() -> T) -> T {
    let (done, over) = mpsc::channel::<()>();
    let begun = crate::clock::instant();
    let telling = thread::spawn(move || {
        let waits = AFTER.iter().chain(std::iter::repeat(&AFTER[2]));
        for wait in waits {
            if over.recv_timeout(*wait) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            info!("{what} ({} s so far)", begun.elapsed().as_secs());
        }
    });
    let acted = act();
    drop(done);
    // The thread has nothing more to report.
    let _ = telling.join();
    acted
}
