//! A reload that was refused half-way is undone: the last page first, with the same grace periods in between.

use std::time::{Duration, Instant};

use tracing::error;

use super::{ReloadStep, reaching};
use crate::blocklist::{Change, Polarity, Settings};
use crate::clock;
use crate::daemon::commit::CommitError;
use crate::daemon::pages::{OwnerParts, Turn};
use crate::text::Explain;

/// How long the kernel is left alone when it refuses even what puts everything back.
const RETRY: Duration = Duration::from_secs(1);

/// The rollback of a refused reload, with the steps that are left.
pub struct ReloadUndo {
    steps: Vec<ReloadStep>,
    settings: Settings,
    cause: CommitError,
    /// The last commits of the rollback that allowed, blocked and removed entries. Packets in flight must see
    /// them before anything is blocked, before anything leaves, and before less is allowed and the settings
    /// are restored.
    loosened: u64,
    entered: u64,
    left: u64,
    retry: Option<Instant>,
}

impl ReloadUndo {
    /// Undoes these, and puts the settings back.
    pub fn new(steps: Vec<ReloadStep>, settings: Settings, cause: CommitError) -> Self {
        error!("the reload was refused and is rolled back: {}", cause.explain());
        Self { steps, settings, cause, loosened: 0, entered: 0, left: 0, retry: None }
    }

    /// Why the reload was refused.
    pub fn into_cause(self) -> CommitError {
        self.cause
    }

    /// Undoes the next page.
    pub fn turn(&mut self, parts: &mut OwnerParts<'_>) -> Turn {
        if self.retry.is_some_and(|retry| clock::instant() < retry) {
            return Turn::Wait;
        }
        let Some(step) = self.steps.last() else { return Turn::Done };
        let (change, seen) = match step {
            ReloadStep::Page { undo, polarity, entered } => {
                let seen = match (polarity, entered) {
                    (Polarity::Block, true) => self.entered,
                    (Polarity::Block, false) => self.loosened,
                    (Polarity::Allow, true) => self.left,
                    (Polarity::Allow, false) => 0,
                };
                (Change::Undo(undo.clone()), seen)
            }
            ReloadStep::Reach(list) => {
                let (list, blocklist) = (*list, parts.protection.blocklist());
                let pages =
                    if blocklist.lists().has(list) { reaching::anew(list, blocklist) } else { Vec::new() };
                self.steps.pop();
                self.steps.extend(pages.into_iter().map(ReloadStep::Anew));
                return Turn::More;
            }
            ReloadStep::Anew(change) => (change.clone(), self.entered),
            ReloadStep::Settings => (Change::Settings(self.settings), self.left),
        };
        if !parts.capacity.check_grace(seen) {
            return Turn::Wait;
        }
        match parts.protection.commit(&change, clock::now()) {
            Ok(applied) => {
                self.steps.pop();
                self.retry = None;
                let latest = parts.protection.latest();
                if !applied.effects.sets.allow.entered.is_empty() {
                    self.loosened = latest.commit;
                }
                if applied.effects.blocks() {
                    self.entered = latest.commit;
                }
                if applied.effects.unblocks() {
                    self.left = latest.commit;
                }
                Turn::More
            }
            Err(error) => {
                error!("cannot roll back a page, retrying in a second: {}", error.explain());
                self.retry = Some(clock::instant() + RETRY);
                Turn::Wait
            }
        }
    }
}
