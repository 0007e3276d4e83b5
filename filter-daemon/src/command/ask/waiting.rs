//! Shows after a second that a silent operation still runs, and for how long it has.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// An operation that ends earlier shows nothing.
const SOON: Duration = Duration::from_secs(1);

/// The interval between two updates.
const STEP: Duration = Duration::from_millis(100);

/// Runs an operation and shows `what` it does. The line is removed before this returns, so no other output
/// is mixed with it.
pub fn shown<T>(watched: bool, what: &'static str, act: impl FnOnce() -> T) -> T {
    if !watched {
        return act();
    }
    let (done, over) = mpsc::channel::<()>();
    let drawing = thread::spawn(move || draw(what, &over));
    let acted = act();
    drop(done);
    // If drawing failed, the result is not affected.
    let _ = drawing.join();
    acted
}

fn draw(what: &'static str, over: &mpsc::Receiver<()>) {
    let goes_on = |time| over.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    if !goes_on(SOON) {
        return;
    }
    let bar = ProgressBar::new_spinner().with_message(what).with_elapsed(SOON);
    let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.tick();
    while goes_on(STEP) {
        bar.tick();
    }
    bar.finish_and_clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_returns_with_or_without_progress() {
        assert_eq!([true, false].map(|watched| shown(watched, "counting", || 7)), [7, 7]);
    }
}
