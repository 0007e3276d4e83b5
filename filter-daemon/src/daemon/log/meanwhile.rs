//! What takes long at a start is told while it goes on. In the log, and not as a bar: a terminal that is held must not keep
//! the daemon from its work.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tracing::info;

/// When it is told, counted from the one before.
const AFTER: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(10)];

/// Does something, and tells that it goes on if it does not end soon.
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
    // It has nothing to say any more.
    let _ = telling.join();
    acted
}
