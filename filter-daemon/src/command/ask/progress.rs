//! A progress bar for commands with many targets.
//!
//! It has no thread of its own, because a thread that draws and the thread that prints could wait for each
//! other.

use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar, or none.
pub struct ProgressIndicator(Option<ProgressBar>);

/// The number of targets between two updates.
const STEP: u64 = 4096;

impl ProgressIndicator {
    /// Shows a bar on standard error if `watched`. `length` is the input's length in bytes, if known.
    pub fn new(watched: bool, length: Option<u64>) -> Self {
        Self(watched.then(|| {
            match length {
                Some(length) => ProgressBar::new(length)
                    .with_style(style("{bar:40} {binary_bytes} of {binary_total_bytes}, {msg}, {eta} left")),
                None => ProgressBar::new_spinner().with_style(style("{spinner} {binary_bytes} read, {msg}")),
            }
        }))
    }

    /// Updates the bar with the number of targets read and the position in bytes.
    pub fn show(&self, targets: u64, position: u64) {
        if let Some(bar) = self.0.as_ref().filter(|_| targets.is_multiple_of(STEP)) {
            bar.set_position(position);
            bar.set_message(super::super::render::figure::counted(targets, "target"));
        }
    }

    /// Prints something above the bar.
    pub fn above(&self, say: impl FnOnce()) {
        match &self.0 {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }

    /// Removes the bar from the terminal.
    pub fn end(self) {
        if let Some(bar) = self.0 {
            bar.finish_and_clear();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
