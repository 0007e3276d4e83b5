//! A bar for whoever watches a million targets go by.
//!
//! It has no thread of its own: one that draws while this one speaks could wait for it, and it for that one.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar, or none.
pub struct Progress(Option<ProgressBar>);

/// How often it is looked at, in targets.
const STEP: u64 = 4096;

impl Progress {
    /// A bar on standard error if somebody watches; `length` is the input's, in bytes, if it is known.
    pub fn new(watched: bool, length: Option<u64>) -> Self {
        Self(watched.then(|| {
            match length {
                Some(length) => ProgressBar::new(length)
                    .with_style(style("{bar:40} {binary_bytes} of {binary_total_bytes}, {msg}, {eta} left")),
                None => ProgressBar::new_spinner().with_style(style("{spinner} {binary_bytes} read, {msg}")),
            }
        }))
    }

    /// So many targets have been read, out of so many bytes.
    pub fn show(&self, targets: u64, position: u64) {
        if let Some(bar) = self.0.as_ref().filter(|_| targets.is_multiple_of(STEP)) {
            bar.set_position(position);
            bar.set_message(super::super::render::figure::counted(targets, "target"));
        }
    }

    /// Says something above the bar.
    pub fn above(&self, say: impl FnOnce()) {
        match &self.0 {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }

    /// Takes the bar away.
    pub fn end(self) {
        if let Some(bar) = self.0 {
            bar.finish_and_clear();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
