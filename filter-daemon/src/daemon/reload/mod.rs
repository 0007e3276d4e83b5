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
mod ends;
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

use std::sync::Arc;
use std::thread;

use filter_common::target::Target;

use super::capacity::Capacity;
use super::change::ChangeTotals;
use super::commit::{CommitError, Protection};
use super::error::DaemonError;
use super::lists::ListToKeep;
use super::pages::{OwnerParts, Turn, Work};
use crate::blocklist::{Blocklist, Change, Effects, ListId, Polarity, Settings, Timestamp, Undo};
use crate::clock;
use crate::config::Config;
use crate::control::wire::reload::Reply as Reloaded;
use crate::kernel::Needs;
use crate::source::reading::SourceReadings;
pub use beginning::{begin_with, settings_of};
pub use ends::Expiries;
pub use find::ListFinding;
pub use load::{Loaded, LoadedList, known};
pub use look::written;
pub use matching::KnownList;
pub use possible::must_be_possible;
pub use rows::ListRows;
pub use sources::ListSources;
pub use told::tell_log;
use undoing::ReloadUndo;
pub use way_back::WayBack;

/// A reload that is being applied.
pub struct RunningReload {
    config: Config,
    rows: ListRows,
    settings: [Settings; 2],
    stage: ReloadStage,
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

/// The next thing to do.
enum ReloadStage {
    /// Collect the entries of the lists that others continue: of this list, after this target.
    Keep { list: usize, after: Option<Target> },
    /// Count what enters, exactly or as if no entry existed yet: from this position of this list on.
    Measure { list: usize, from: usize, closely: bool, needs: Needs },
    /// Reserve the capacity for it.
    Room(Needs),
    /// Apply the settings, if they drop less.
    Loosen,
    /// Add the new entries of this polarity: from this position of this list on.
    Enter { polarity: Polarity, list: usize, from: usize },
    /// Block what existing entries must cover in addition, because they reach farther: of this list, after
    /// this target.
    Reach { list: usize, after: Option<Target> },
    /// Release what they covered before and no longer do.
    Settle { list: usize, after: Option<Target> },
    /// Wait until packets in flight see the allowed entries and looser settings up to this commit.
    Loosened(u64),
    /// Wait until packets in flight see the blocked entries as of this commit.
    Entered(u64),
    /// Release the entries of this polarity that are gone: of this list, after this target.
    Leave { polarity: Polarity, list: usize, after: Option<Target> },
    /// Wait until packets in flight see what left up to this commit, and the looser settings.
    Left(u64),
    /// Apply the settings, if they drop more.
    Tighten,
    /// Look up the times of the entries of lists that expire: from this position of this list on.
    Note { list: usize, from: usize },
    /// Undo everything that was done.
    Undo(ReloadUndo),
    /// The reload has ended with this result.
    Ended(Result<(), CommitError>),
}

impl RunningReload {
    /// Starts to apply `loaded`. If lists conflict with it, nothing has changed.
    pub fn begin(
        mut loaded: Loaded,
        blocklist: &mut Blocklist,
        sources: &mut SourceReadings,
    ) -> Result<Self, DaemonError> {
        let rows = ListRows::take(&mut loaded, blocklist, sources)?;
        let after = settings_of(&loaded.config);
        Ok(Self {
            config: loaded.config,
            rows,
            settings: [blocklist.settings(), after],
            stage: ReloadStage::Keep { list: 0, after: None },
            applied: Vec::new(),
            done: ChangeTotals::default(),
        })
    }

    /// The activity to show people.
    pub fn what(&self) -> &'static str {
        if let ReloadStage::Undo(_) = self.stage { "rolling back" } else { "reloading" }
    }

    /// The result: the configuration now in force, the messages for the operator, and the copies to keep.
    /// Call this at the end of the reload.
    pub fn finish(
        self,
        blocklist: &mut Blocklist,
        sources: &mut SourceReadings,
    ) -> Result<(Config, Reloaded, Vec<ListToKeep>), CommitError> {
        if let ReloadStage::Ended(Err(error)) = self.stage {
            self.rows.give_back(blocklist, sources);
            return Err(error);
        }
        let ChangeTotals { entered, left, allowed, disallowed, lists, .. } = self.done;
        aside(self.applied);
        let mut reloaded = Reloaded { entered, left, allowed, disallowed, ..Reloaded::default() };
        let to_keep = self.rows.settle(&lists, blocklist, sources, &mut reloaded);
        Ok((self.config, reloaded, to_keep))
    }

    /// Makes a rollback give its entries their earlier expiries, as far as known.
    pub fn ending_as(mut self, ends: Option<Arc<Expiries>>) -> Self {
        self.rows.end_as(ends);
        self
    }

    /// Takes the expiries of the entries that it removed or changed. Call this at the end of the reload. It
    /// cannot be undone afterwards.
    pub fn take_ends(&mut self, sources: &SourceReadings) -> Expiries {
        let pages = std::mem::take(&mut self.applied).into_iter().rev().filter_map(|step| match step {
            ReloadStep::Page { undo, .. } => Some(undo),
            ReloadStep::Settings | ReloadStep::Reach(_) | ReloadStep::Anew(_) => None,
        });
        Expiries::of(pages, &self.rows.limited(sources))
    }

    fn commit(&mut self, change: Change, next: ReloadStage, protection: &mut Protection) -> ReloadStage {
        self.commit_as_of(clock::now(), change, next, protection)
    }

    fn commit_as_of(
        &mut self,
        since: Timestamp,
        change: Change,
        next: ReloadStage,
        protection: &mut Protection,
    ) -> ReloadStage {
        match protection.commit(&change, since) {
            Ok(applied) => {
                self.done.add(&applied);
                let Effects { sets, .. } = &applied.effects;
                let polarity = if sets.allow.is_empty() { Polarity::Block } else { Polarity::Allow };
                let entered = sets.iter().any(|(_, set)| !set.entered.is_empty());
                self.applied.push(ReloadStep::Page { undo: applied.undo, polarity, entered });
                next
            }
            Err(error) => self.undo(error, protection),
        }
    }

    fn undo(&mut self, cause: CommitError, protection: &mut Protection) -> ReloadStage {
        let live = self.rows.reaching.give_back(protection.blocklist_mut());
        // These steps are undone last.
        let mut steps: Vec<_> = live.into_iter().map(ReloadStep::Reach).collect();
        steps.append(&mut self.applied);
        ReloadStage::Undo(ReloadUndo::new(steps, self.settings[0], cause))
    }
}

impl Work for RunningReload {
    fn turn(&mut self, parts: &mut OwnerParts<'_>) -> Turn {
        let stage = std::mem::replace(&mut self.stage, ReloadStage::Ended(Ok(())));
        let (stage, turn) = match stage {
            ReloadStage::Keep { list, after } => {
                (self.keep(list, after, parts.protection.blocklist()), Turn::More)
            }
            ReloadStage::Measure { list, from, closely, needs } => {
                (self.measure((list, from), closely, needs, parts.protection), Turn::More)
            }
            ReloadStage::Room(needs) => self.make_room(needs, parts),
            ReloadStage::Loosen => self.loosen(parts.protection),
            ReloadStage::Loosened(commit) => {
                wait(commit, parts.capacity, ReloadStage::Loosened, || ReloadStage::enter(Polarity::Block))
            }
            ReloadStage::Enter { polarity, list, from } => self.enter(polarity, list, from, parts),
            ReloadStage::Entered(commit) => {
                let (stage, turn) = wait(commit, parts.capacity, ReloadStage::Entered, || {
                    ReloadStage::Settle { list: 0, after: None }
                });
                if let ReloadStage::Settle { .. } = stage {
                    self.rows.reaching.settle(parts.protection.blocklist_mut());
                }
                (stage, turn)
            }
            ReloadStage::Reach { list, after } => self.reach(
                (list, after),
                |list, after| ReloadStage::Reach { list, after },
                Self::after_entering,
                parts,
            ),
            ReloadStage::Settle { list, after } => self.reach(
                (list, after),
                |list, after| ReloadStage::Settle { list, after },
                |_, _| ReloadStage::leave(Polarity::Block),
                parts,
            ),
            ReloadStage::Leave { polarity, list, after } => {
                (self.leave(polarity, list, after, parts.protection), Turn::More)
            }
            ReloadStage::Left(commit) => {
                wait(commit, parts.capacity, ReloadStage::Left, || ReloadStage::leave(Polarity::Allow))
            }
            ReloadStage::Tighten => self.tighten(parts.protection),
            ReloadStage::Note { list, from } => self.note_times(list, from, parts),
            ReloadStage::Undo(mut undoing) => match undoing.turn(parts) {
                Turn::Done => (ReloadStage::Ended(Err(undoing.into_cause())), Turn::Done),
                turn @ (Turn::More | Turn::Wait) => (ReloadStage::Undo(undoing), turn),
            },
            ReloadStage::Ended(result) => (ReloadStage::Ended(result), Turn::Done),
        };
        self.stage = stage;
        turn
    }
}

impl ReloadStage {
    const fn enter(polarity: Polarity) -> Self {
        Self::Enter { polarity, list: 0, from: 0 }
    }

    const fn leave(polarity: Polarity) -> Self {
        Self::Leave { polarity, list: 0, after: None }
    }
}

/// Frees memory in another thread: ten million targets take milliseconds.
fn aside(whatever: impl Send + 'static) {
    thread::spawn(move || drop(whatever));
}

fn wait(
    commit: u64,
    capacity: &mut Capacity,
    again: impl FnOnce(u64) -> ReloadStage,
    then: impl FnOnce() -> ReloadStage,
) -> (ReloadStage, Turn) {
    if capacity.check_grace(commit) { (then(), Turn::More) } else { (again(commit), Turn::Wait) }
}
