//! A reload that was refused half-way is undone: the last page first, with the same grace periods in between.

use std::time::{Duration, Instant};

use tracing::error;

use super::Step;
use crate::blocklist::{Change, Settings};
use crate::clock;
use crate::daemon::commit::NotDone;
use crate::daemon::pages::{Parts, Pause, Turn};
use crate::text::Explain;

/// How long the kernel is left alone when it refuses even what puts everything back.
const RETRY: Duration = Duration::from_secs(1);

/// What is still to be undone.
pub struct Undoing {
    steps: Vec<Step>,
    settings: Settings,
    cause: NotDone,
    /// What has entered again must be seen by packets in flight before anything leaves.
    entered: Option<Pause>,
    left: Option<Pause>,
    retry: Option<Instant>,
}

impl Undoing {
    /// Undoes these, and puts the settings back.
    pub fn new(steps: Vec<Step>, settings: Settings, cause: NotDone) -> Self {
        error!("the reload was refused, and is rolled back: {}", cause.explain());
        Self { steps, settings, cause, entered: None, left: None, retry: None }
    }

    /// Why the reload was refused.
    pub fn into_cause(self) -> NotDone {
        self.cause
    }

    /// Undoes the next page.
    pub fn turn(&mut self, parts: &mut Parts<'_>) -> Turn {
        if self.retry.is_some_and(|retry| Instant::now() < retry) {
            return Turn::Wait;
        }
        let Some(step) = self.steps.last() else { return Turn::Done };
        let (change, pause) = match step {
            Step::Page { undo, entered } => {
                (Change::Undo(undo.clone()), self.entered.as_mut().filter(|_| *entered))
            }
            Step::Settings => (Change::Settings(self.settings), self.left.as_mut()),
        };
        if pause.is_some_and(|pause| !pause.is_over(parts.capacity)) {
            return Turn::Wait;
        }
        match parts.protection.commit(&change, clock::now()) {
            Ok(applied) => {
                self.steps.pop();
                self.retry = None;
                if !applied.effects.block.entered.is_empty() {
                    self.entered = Some(Pause::default());
                }
                if !applied.effects.block.left.is_empty() {
                    self.left = Some(Pause::default());
                }
                Turn::More
            }
            Err(error) => {
                error!("a page cannot be rolled back, and is tried again in a second: {}", error.explain());
                self.retry = Some(Instant::now() + RETRY);
                Turn::Wait
            }
        }
    }
}
