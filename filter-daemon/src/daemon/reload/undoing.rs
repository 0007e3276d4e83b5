//! A reload that was refused half-way is undone: the last page first, with the same grace periods in between.

use std::time::{Duration, Instant};

use tracing::error;

use super::{ReloadStep, RunningReload, reaching};
use crate::blocklist::{Change, Polarity};
use crate::clock;
use crate::daemon::commit::CommitError;
use crate::daemon::jobs::{HasParts, OwnerParts, Turn};
use crate::text::Explain;

/// How long the kernel is left alone when it refuses even what puts everything back.
const RETRY: Duration = Duration::from_secs(1);

/// The last commits of the rollback that allowed, blocked and removed entries. Packets in flight must see
/// them before anything is blocked, before anything leaves, and before less is allowed and the settings are
/// restored.
#[derive(Default)]
struct UndoCommits {
    loosened: u64,
    entered: u64,
    left: u64,
}

impl RunningReload {
    /// Undoes everything that was applied.
    pub(super) async fn undo(&mut self, cause: &CommitError, turn: &Turn<impl HasParts>) {
        error!("the reload was refused and is rolled back: {}", cause.explain());
        let live = turn.now(|state| {
            state.show("rolling back");
            self.rows.reaching.give_back(state.parts().protection.blocklist_mut())
        });
        // These steps are undone last.
        let mut steps: Vec<_> = live.into_iter().map(ReloadStep::Reach).collect();
        steps.append(&mut self.applied);
        let mut latest = UndoCommits::default();
        while let Some(step) = steps.pop() {
            if let ReloadStep::Reach(list) = step {
                let pages = turn.page(|parts| reaching::anew(list, parts.protection.blocklist())).await;
                steps.extend(pages.into_iter().map(ReloadStep::Anew));
                continue;
            }
            let mut retry = None;
            turn.until(|parts| self.undo_page(&step, &mut latest, &mut retry, parts)).await;
        }
    }

    /// Undoes one page, once packets in flight have seen those before it.
    fn undo_page(
        &self,
        step: &ReloadStep,
        latest: &mut UndoCommits,
        retry: &mut Option<Instant>,
        parts: &mut OwnerParts<'_>,
    ) -> Option<()> {
        let (change, seen) = match step {
            ReloadStep::Page { undo, polarity, entered } => {
                let seen = match (polarity, entered) {
                    (Polarity::Block, true) => latest.entered,
                    (Polarity::Block, false) => latest.loosened,
                    (Polarity::Allow, true) => latest.left,
                    (Polarity::Allow, false) => 0,
                };
                (Change::Undo(undo.clone()), seen)
            }
            ReloadStep::Reach(_) => return Some(()),
            ReloadStep::Anew(change) => (change.clone(), latest.entered),
            ReloadStep::Settings => (Change::Settings(self.settings[0]), latest.left),
        };
        let is_early = retry.is_some_and(|retry| clock::instant() < retry);
        if is_early || !parts.capacity.check_grace(seen) {
            return None;
        }
        match parts.protection.commit(&change, clock::now()) {
            Ok(applied) => {
                let commit = parts.protection.latest().commit;
                if !applied.effects.sets.allow.entered.is_empty() {
                    latest.loosened = commit;
                }
                if applied.effects.blocks() {
                    latest.entered = commit;
                }
                if applied.effects.unblocks() {
                    latest.left = commit;
                }
                Some(())
            }
            Err(error) => {
                error!("cannot roll back a page, retrying in a second: {}", error.explain());
                *retry = Some(clock::instant() + RETRY);
                None
            }
        }
    }
}
