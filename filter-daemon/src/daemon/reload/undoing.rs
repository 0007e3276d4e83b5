//! A reload that was refused half-way is undone: the last page first, with the same grace periods in between.

use std::time::{Duration, Instant};

use tracing::error;

use super::{ReloadStep, RunningReload, reaching};
use crate::blocklist::{Change, Polarity};
use crate::clock;
use crate::daemon::commit::CommitError;
use crate::daemon::core::Core;
use crate::daemon::jobs::Turn;
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
    pub(super) async fn undo(&mut self, cause: &CommitError, turn: &Turn<impl AsMut<Core>>) {
        error!("the reload was refused and is rolled back: {}", cause.explain());
        let live = turn.core(|core| {
            core.activity = Some("rolling back");
            self.rows.reaching.give_back(core.protection.blocklist_mut())
        });
        // These steps are undone last.
        let mut steps: Vec<_> = live.into_iter().map(ReloadStep::Reach).collect();
        steps.append(&mut self.applied);
        let mut latest = UndoCommits::default();
        while let Some(step) = steps.pop() {
            if let ReloadStep::Reach(list) = step {
                let pages = turn.page(|core| reaching::anew(list, core.protection.blocklist())).await;
                steps.extend(pages.into_iter().map(ReloadStep::Anew));
                continue;
            }
            let mut retry = None;
            turn.until(|core| self.undo_page(&step, &mut latest, &mut retry, core)).await;
        }
    }

    /// Undoes one page, once packets in flight have seen those before it.
    fn undo_page(
        &self,
        step: &ReloadStep,
        latest: &mut UndoCommits,
        retry: &mut Option<Instant>,
        core: &mut Core,
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
        if is_early || !core.capacity.check_grace(seen) {
            return None;
        }
        match core.protection.commit(&change, clock::now()) {
            Ok(applied) => {
                let commit = core.protection.latest().commit;
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
