//! Handles Ctrl-C while standard input is read: reports how much was done before the process ends.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use nix::sys::signal::{SigSet, Signal, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::super::render::console;
use super::super::render::figure::{count, counted};
use crate::control::wire::Failure;
use crate::text::Explanation;

/// The progress of a command, shared between threads.
#[derive(Debug, Default)]
pub struct SendProgress {
    sent: AtomicU64,
    answered: AtomicU64,
}

/// The signals by which users and systems interrupt a command.
const GIVING_UP: [Signal; 2] = [Signal::SIGINT, Signal::SIGTERM];

impl SendProgress {
    /// Adds lines that were sent.
    pub fn sends(&self, lines: u64) {
        self.sent.fetch_add(lines, Ordering::Relaxed);
    }

    /// Adds lines that were answered.
    pub fn note_answered(&self, lines: u64) {
        self.answered.fetch_add(lines, Ordering::Relaxed);
    }

    fn explain(&self, input: &str) -> Explanation {
        // Read in this order, so that never more lines are answered than were sent.
        let answered = self.answered.load(Ordering::Relaxed);
        let open = self.sent.load(Ordering::Relaxed).saturating_sub(answered);
        let mut message = format!("interrupted after {} of {input}", counted(answered, "line"));
        if open > 0 {
            message.push_str(&format!("; {} more were sent and may be done too", count(open)));
        }
        Explanation::new(
            message,
            "run the same command again to continue: entries that were done stay as they are",
        )
    }
}

/// Makes interrupting signals report how much of `input` is `done` before they end this process. Signals
/// that are ignored stay ignored.
pub fn tell_when_interrupted(done: Arc<SendProgress>, json: bool, input: String) {
    let mut signals = SigSet::empty();
    GIVING_UP.into_iter().filter(|signal| !is_ignored(*signal)).for_each(|signal| signals.add(signal));
    let Ok(came) = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC) else { return };
    // New threads inherit the blocked signals of the thread that starts them.
    if signals.thread_block().is_err() {
        return;
    }
    thread::spawn(move || {
        let Ok(Some(signal)) = came.read_signal() else { return };
        let failure = Failure::Partly(done.explain(&input));
        if json {
            console::print_json(&failure)
        } else {
            eprintln!("\r{}", console::laid_out(failure.explanation()))
        }
        // The parent process learns which signal ended this one.
        let ends_us = Signal::try_from(signal.ssi_signo.cast_signed()).unwrap_or(Signal::SIGINT);
        let _ = signals.thread_unblock();
        let _ = raise(ends_us);
    });
}

fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or_default();
    u64::from_str_radix(ignored.trim(), 16).is_ok_and(|mask| mask >> (signal as u32 - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupt_separates_done_from_unanswered() {
        let done = SendProgress::default();
        done.sends(10_000);
        done.note_answered(2048);
        let message =
            "interrupted after 2,048 lines of standard input; 7,952 more were sent and may be done too";
        assert_eq!(done.explain("standard input").message, message);
        done.note_answered(7952);
        assert_eq!(
            done.explain("standard input").message,
            "interrupted after 10,000 lines of standard input"
        );
    }
}
