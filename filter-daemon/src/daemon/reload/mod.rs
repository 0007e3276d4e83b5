//! A reload. The configuration is read outside the owner (`load`), its lists are matched to those in force
//! (`matching`) and get their rows (`rows`). Then it is applied page by page. The order guarantees at each
//! moment that a packet which both configurations block is dropped, and that a packet which both let pass is
//! passed:
//!
//! 1. Capacity for old and new together, and the judge for it (`room`).
//! 2. Settings that drop less, and allowed entries (`entering`). A grace period follows.
//! 3. Blocked entries, also those that a new reach adds. A grace period follows.
//! 4. Removal of entries that are blocked no longer (`leaving`). A grace period follows.
//! 5. Removal of entries that are allowed no longer, and settings that drop more.
//!
//! If a page is refused nevertheless, everything is undone in pages, in the opposite order (`undoing`).

mod beginning;
mod entering;
mod find;
mod keeping;
mod leaving;
mod load;
mod look;
mod matching;
mod noting;
mod possible;
mod reaching;
mod room;
mod rows;
mod sources;
#[cfg(test)]
mod tests;
mod timed;
mod times;
mod told;
mod undoing;
mod warnings;
mod way_back;

use std::thread;

use super::change::ChangeTotals;
use super::commit::{CommitError, Protection};
use super::core::Core;
use super::error::DaemonError;
use super::jobs::Turn;
use super::lists::ListToKeep;
use crate::blocklist::{Blocklist, Change, Effects, ListId, Polarity, Settings, Timestamp, Undo};
use crate::config::Config;
use crate::control::wire::reload::Reply as Reloaded;
use crate::source::reading::SourceReadings;
pub use beginning::begin_with;
pub use find::ListFinding;
pub use load::{Loaded, LoadedList, known};
pub use look::written;
pub use matching::KnownList;
pub use possible::must_be_possible;
pub use rows::ListRows;
pub use sources::ListSources;
pub use told::tell_log;
pub use way_back::WayBack;

/// A reload that is being applied.
pub struct RunningReload {
    config: Config,
    rows: ListRows,
    settings: [Settings; 2],
    applied: Vec<ReloadStep>,
    done: ChangeTotals,
}

/// A step that can be undone.
enum ReloadStep {
    /// The settings were loosened.
    Settings,
    /// Entries that were added to this list meanwhile have a reach that must be reset.
    Reach(ListId),
    /// One page of such entries.
    Anew(Change),
    /// One page of entries: it added some to this polarity, or only released some.
    Page { undo: Undo, polarity: Polarity, entered: bool },
}

/// A reload that was applied.
pub struct AppliedReload {
    /// The configuration that is in force now.
    pub config: Config,
    /// The messages for the operator.
    pub reloaded: Reloaded,
    /// The copies to keep.
    pub to_keep: Vec<ListToKeep>,
}

impl RunningReload {
    /// Starts to apply `loaded`. If lists conflict with it, nothing has changed.
    pub fn begin(
        mut loaded: Loaded,
        blocklist: &mut Blocklist,
        sources: &mut SourceReadings,
    ) -> Result<Self, DaemonError> {
        let mut rows = ListRows::take(&mut loaded, blocklist, sources)?;
        rows.restored = rows.timed.take_copied(&rows.contents);
        let settings = [blocklist.settings(), rows.settings];
        let (applied, done) = (Vec::new(), ChangeTotals::default());
        Ok(Self { config: loaded.config, rows, settings, applied, done })
    }

    /// Applies it completely or not at all.
    pub async fn run(&mut self, turn: &Turn<impl AsMut<Core>>) -> Result<(), CommitError> {
        self.keep(turn).await;
        let needs = self.measure(turn).await;
        if turn.page(|core| core.capacity.is_graceless()).await {
            return turn.core(|core| self.replace(&mut core.protection));
        }
        // A refusal of these two leaves nothing to undo.
        self.make_room(needs, turn).await?;
        self.loosen(turn).await?;
        if let Err(cause) = self.apply(turn).await {
            self.undo(&cause, turn).await;
            return Err(cause);
        }
        self.note_times(turn).await;
        Ok(())
    }

    async fn apply(&mut self, turn: &Turn<impl AsMut<Core>>) -> Result<(), CommitError> {
        self.enter(Polarity::Allow, turn).await?;
        turn.seen(|latest| latest.loosened).await;
        self.enter(Polarity::Block, turn).await?;
        self.reach(turn).await?;
        // If no entry leaves, there is no need to wait for a grace period.
        if turn.core(|core| self.leaves(Polarity::Block, &core.protection)) {
            turn.seen(|latest| latest.entered).await;
            turn.core(|core| self.rows.reaching.settle(core.protection.blocklist_mut()));
            self.reach(turn).await?;
            self.leave(Polarity::Block, turn).await?;
        }
        let [before, after] = self.settings;
        let tightens = after.strictness() > before.unpaused().strictness();
        if tightens || turn.core(|core| self.leaves(Polarity::Allow, &core.protection)) {
            turn.seen(|latest| latest.left.max(latest.loosened)).await;
            self.leave(Polarity::Allow, turn).await?;
        }
        self.set(after, turn).await
    }

    /// Records what a reload that was applied has read.
    pub fn finish(self, blocklist: &mut Blocklist, sources: &mut SourceReadings) -> AppliedReload {
        aside(self.applied);
        let ChangeTotals { entered, left, allowed, disallowed, lists, .. } = self.done;
        let mut reloaded = Reloaded { entered, left, allowed, disallowed, ..Reloaded::default() };
        let to_keep = self.rows.settle(&lists, blocklist, sources, &mut reloaded);
        AppliedReload { config: self.config, reloaded, to_keep }
    }

    /// Restores the lists after a refusal.
    pub fn give_back(self, blocklist: &mut Blocklist, sources: &mut SourceReadings) {
        self.rows.give_back(blocklist, sources);
    }

    fn commit(
        &mut self,
        change: &Change,
        since: Timestamp,
        protection: &mut Protection,
    ) -> Result<(), CommitError> {
        let applied = protection.commit(change, since)?;
        self.done.add(&applied);
        let Effects { sets, .. } = &applied.effects;
        let polarity = if sets.allow.is_empty() { Polarity::Block } else { Polarity::Allow };
        let entered = sets.iter().any(|(_, set)| !set.entered.is_empty());
        self.applied.push(ReloadStep::Page { undo: applied.undo, polarity, entered });
        Ok(())
    }
}

/// Frees memory in another thread: ten million targets take milliseconds.
fn aside(whatever: impl Send + 'static) {
    thread::spawn(move || drop(whatever));
}
