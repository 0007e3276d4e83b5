//! A reload: read away from the owner (`load`), told apart from what is in force (`matching`), given its rows (`rows`), and
//! then made true page by page, in an order in which at no moment anything passes that the old and the new configuration
//! both block, and nothing is dropped that both let pass:
//!
//! room for old and new together, and the judge for it (`room`) → settings that drop less, and what is allowed (`entering`) →
//! (grace period) → what is blocked, also for the sake of what is widened otherwise → (grace period) → what is blocked no
//! longer (`leaving`) → (grace period) → what is allowed no longer, and settings that drop more.
//!
//! A page that is refused all the same ends it: then everything is undone in pages, in the opposite order (`undoing`).

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
mod parted;
mod possible;
mod reaching;
mod room;
mod rows;
mod sources;
#[cfg(test)]
mod tests;
mod timed;
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
use crate::blocklist::{
    Blocklist, Change, Effects, ListId, ListRegistry, Polarity, Settings, Targets, Timestamp, Undo, Want,
};
use crate::clock;
use crate::config::Config;
use crate::control::wire::reload::Reply as Reloaded;
use crate::kernel::Needs;
pub use beginning::{begin_with, settings_of};
pub use ends::Expiries;
pub use find::ListFinding;
pub use load::{Loaded, LoadedList, known};
pub use look::written;
pub use matching::{KnownList, called};
pub use parted::PartedLists;
pub use possible::must_be_possible;
pub use rows::ListRows;
pub use sources::ListSources;
pub use told::tell_log;
use undoing::ReloadUndo;
pub use way_back::WayBack;

/// A reload under way.
pub struct RunningReload {
    config: Config,
    rows: ListRows,
    settings: [Settings; 2],
    stage: ReloadStage,
    applied: Vec<ReloadStep>,
    done: ChangeTotals,
}

/// What can be undone.
enum ReloadStep {
    /// The settings were loosened.
    Settings,
    /// What has come onto this list meanwhile reaches farther than it is to.
    Reach(ListId),
    /// That, page by page.
    Anew(Change),
    /// Something entered with it on this side, or it only released.
    Page { undo: Undo, polarity: Polarity, entered: bool },
}

/// What is done next.
enum ReloadStage {
    /// Look what is to be on lists that continue others, of this one's behind this target.
    Keep { list: usize, after: Option<Target> },
    /// Count what enters, looking closely or as if none of it were there: from this target of this list's on.
    Measure { list: usize, from: usize, closely: bool, needs: Needs },
    /// Make room for it.
    Room(Needs),
    /// The settings, if they drop less.
    Loosen,
    /// Let in what is new on this side: from this target of this list's on.
    Enter { polarity: Polarity, list: usize, from: usize },
    /// Let in what is blocked for the sake of what is there already and reaches farther: of this list, behind this target.
    Reach { list: usize, after: Option<Target> },
    /// Let go what was blocked for its sake before.
    Settle { list: usize, after: Option<Target> },
    /// Let packets in flight see what is allowed and the settings that drop less, until this commit.
    Loosened(u64),
    /// Let packets in flight see what is blocked since this commit.
    Entered(u64),
    /// Release what is over on this side: of this list, behind this target.
    Leave { polarity: Polarity, list: usize, after: Option<Target> },
    /// Let packets in flight see what has left until this commit, and what drops less.
    Left(u64),
    /// The settings, if they drop more.
    Tighten,
    /// Look up since when and until when what lists with an end name is there: from this target of this list's on.
    Note { list: usize, from: usize },
    /// Undo everything.
    Undo(ReloadUndo),
    /// It has come to its end.
    Ended(Result<(), CommitError>),
}

impl RunningReload {
    /// Begins to make `loaded` true. If lists stand in its way, nothing has changed.
    pub fn begin(mut loaded: Loaded, blocklist: &mut Blocklist) -> Result<Self, DaemonError> {
        let rows = ListRows::take(&mut loaded, blocklist)?;
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

    /// What it is doing, for people.
    pub fn what(&self) -> &'static str {
        if let ReloadStage::Undo(_) = self.stage { "rolling back" } else { "reloading" }
    }

    /// What became of it: the configuration now in force, what the operator should know, and which copies there should be.
    /// To be asked at its end.
    pub fn finish(
        self,
        blocklist: &mut Blocklist,
    ) -> Result<(Config, Reloaded, Vec<ListToKeep>), CommitError> {
        if let ReloadStage::Ended(Err(error)) = self.stage {
            self.rows.give_back(blocklist);
            return Err(error);
        }
        let ChangeTotals { entered, left, allowed, disallowed, lists, .. } = self.done;
        aside(self.applied);
        let mut reloaded = Reloaded { entered, left, allowed, disallowed, ..Reloaded::default() };
        let to_keep = self.rows.settle(&lists, blocklist, &mut reloaded);
        Ok((self.config, reloaded, to_keep))
    }

    /// The same, which puts back what was before: that ends when it was to end, as far as that is known.
    pub fn ending_as(mut self, ends: Option<Arc<Expiries>>) -> Self {
        self.rows.end_as(ends);
        self
    }

    /// When what it has let go, or given another time, was to end. To be asked at its end: it cannot be undone from then on.
    pub fn take_ends(&mut self, lists: &ListRegistry) -> Expiries {
        let pages = std::mem::take(&mut self.applied).into_iter().rev().filter_map(|step| match step {
            ReloadStep::Page { undo, .. } => Some(undo),
            ReloadStep::Settings | ReloadStep::Reach(_) | ReloadStep::Anew(_) => None,
        });
        Expiries::of(pages, &self.rows.limited(lists))
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
        let live = self.rows.reaching.give_back(protection.blocklist_mut().lists_mut());
        // Undone last of all.
        let mut steps: Vec<_> = live.into_iter().map(ReloadStep::Reach).collect();
        steps.append(&mut self.applied);
        ReloadStage::Undo(ReloadUndo::new(steps, self.settings[0], cause))
    }

    fn want(&self, id: ListId, targets: Targets, blocklist: &Blocklist) -> Change {
        let list = blocklist.lists().get(id);
        let (origin, polarity, list) = (list.origin, list.polarity, list.name.clone());
        let stay = self.rows.stay(id);
        let (shorten, until) = (stay.is_some(), self.rows.until(id));
        // What is there keeps its time, and what is over does not begin again.
        let targets = match stay {
            Some(_) if self.rows.is_over(id) => blocklist.there_on(id, &targets),
            Some(stay) if !stay.is_new => blocklist.new_on(id, &targets),
            Some(_) | None => targets,
        };
        Change::Want(Want { origin, until, shorten, ..Want::live(list, polarity, targets) })
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
                    self.rows.reaching.settle(parts.protection.blocklist_mut().lists_mut());
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
            ReloadStage::Note { list, from } => self.note_times(list, from, parts.protection.blocklist()),
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

/// Gives memory back where nobody waits for it: of ten million targets that takes milliseconds.
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
