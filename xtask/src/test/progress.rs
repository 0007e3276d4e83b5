//! The line that shows what runs: layer, progress and time. A terminal has it redrawn, a log gets one every few seconds.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How often a terminal is redrawn, and how often a log gets a line.
const REDRAWN: Duration = Duration::from_millis(100);
const LOGGED: Duration = Duration::from_secs(15);

/// Shared by everything that runs at the same time.
pub struct Progress {
    is_terminal: bool,
    state: Mutex<State>,
}

struct State {
    begun: Instant,
    shown: Option<Instant>,
    /// One for this machine and one for each guest.
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Part {
    place: String,
    layer: String,
    done: usize,
    all: usize,
    failed: usize,
}

impl Progress {
    pub fn new() -> Self {
        let state = State { begun: Instant::now(), shown: None, parts: Vec::new() };
        Self { is_terminal: stderr().is_terminal(), state: Mutex::new(state) }
    }

    /// A layer begins in this place: in a guest, or on this machine, whose place has no name. 0 tests are an unknown number.
    pub fn begin(&self, place: &str, layer: &str, all: usize) {
        self.change(true, |state| {
            let part = state.part(place);
            *part = Part {
                layer: layer.to_owned(),
                all,
                failed: part.failed,
                place: part.place.clone(),
                done: 0,
            };
        });
    }

    /// One of its tests has ended.
    pub fn advance(&self, place: &str, has_failed: bool) {
        self.change(false, |state| {
            let part = state.part(place);
            part.done += 1;
            part.failed += usize::from(has_failed);
        });
    }

    /// Nothing more runs there.
    pub fn end(&self, place: &str) {
        self.change(false, |state| state.parts.retain(|part| part.place != place));
    }

    /// Prints lines that stay.
    pub fn print(&self, lines: &str) {
        let mut state = self.lock();
        self.clear();
        let _ = writeln!(stderr(), "{}", lines.trim_end());
        state.shown = None;
    }

    fn change(&self, at_once: bool, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let pause = if self.is_terminal { REDRAWN } else { LOGGED };
        let is_due = state.shown.is_none_or(|shown| shown.elapsed() >= pause);
        if state.parts.is_empty() || !(is_due || at_once) {
            return;
        }
        state.shown = Some(Instant::now());
        self.clear();
        let end = if self.is_terminal { "" } else { "\n" };
        let _ = write!(stderr(), "{}{end}", line(&state.parts, state.begun.elapsed()));
    }

    /// Takes the line off the terminal.
    pub fn clear(&self) {
        if self.is_terminal {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("showing progress does not panic")
    }
}

impl State {
    fn part(&mut self, place: &str) -> &mut Part {
        let at = self.parts.iter().position(|part| part.place == place).unwrap_or_else(|| {
            self.parts.push(Part { place: place.to_owned(), ..Part::default() });
            self.parts.len() - 1
        });
        &mut self.parts[at]
    }
}

/// `1:04  network 132/735, 1 failed | 6.1: program 12`
fn line(parts: &[Part], time: Duration) -> String {
    let seconds = time.as_secs();
    let parts: Vec<_> = parts.iter().map(ToString::to_string).collect();
    format!("{}:{:02}  {}", seconds / 60, seconds % 60, parts.join(" | "))
}

impl std::fmt::Display for Part {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { place, layer, done, all, failed } = self;
        let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
        let all = if *all == 0 { String::new() } else { format!("/{all}") };
        let failed = if *failed == 0 { String::new() } else { format!(", {failed} failed") };
        write!(out, "{place}{layer} {done}{all}{failed}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_layer_progress_and_time() {
        let part = |place: &str, all, failed| Part {
            place: place.into(),
            layer: "network".into(),
            done: 12,
            all,
            failed,
        };
        let parts = [part("", 735, 1), part("6.1", 0, 0)];
        let shown = line(&parts, Duration::from_secs(64));
        assert_eq!(shown, "1:04  network 12/735, 1 failed | 6.1: network 12");
    }
}
