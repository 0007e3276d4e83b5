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
use super::change::Done;
use super::commit::{NotDone, Protection};
use super::error::DaemonError;
use super::lists::ToKeep;
use super::pages::{Parts, Turn, Work};
use crate::blocklist::{
    Blocklist, Change, Effects, ListId, Lists, Polarity, Settings, Targets, Timestamp, Undo, Want,
};
use crate::clock;
use crate::config::Config;
use crate::control::wire::reload::Reply as Reloaded;
use crate::kernel::Needs;
pub use beginning::{begin_with, settings_of};
pub use ends::Ends;
pub use find::Found;
pub use load::{Loaded, LoadedList, known};
pub use look::written;
pub use matching::{Known, called};
pub use parted::Parted;
pub use possible::must_be_possible;
pub use rows::Rows;
pub use sources::Sources;
pub use told::tell_log;
use undoing::Undoing;
pub use way_back::WayBack;

/// A reload under way.
pub struct Reload {
    config: Config,
    rows: Rows,
    settings: [Settings; 2],
    stage: Stage,
    applied: Vec<Step>,
    done: Done,
}

/// What can be undone.
enum Step {
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
enum Stage {
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
    Undo(Undoing),
    /// It has come to its end.
    Ended(Result<(), NotDone>),
}

impl Reload {
    /// Begins to make `loaded` true. If lists stand in its way, nothing has changed.
    pub fn begin(mut loaded: Loaded, blocklist: &mut Blocklist) -> Result<Self, DaemonError> {
        let rows = Rows::take(&mut loaded, blocklist)?;
        let after = settings_of(&loaded.config);
        Ok(Self {
            config: loaded.config,
            rows,
            settings: [blocklist.settings(), after],
            stage: Stage::Keep { list: 0, after: None },
            applied: Vec::new(),
            done: Done::default(),
        })
    }

    /// What it is doing, for people.
    pub fn what(&self) -> &'static str {
        if let Stage::Undo(_) = self.stage { "rolling back" } else { "reloading" }
    }

    /// What became of it: the configuration now in force, what the operator should know, and which copies there should be.
    /// To be asked at its end.
    pub fn finish(self, blocklist: &mut Blocklist) -> Result<(Config, Reloaded, Vec<ToKeep>), NotDone> {
        if let Stage::Ended(Err(error)) = self.stage {
            self.rows.give_back(blocklist);
            return Err(error);
        }
        let Done { entered, left, allowed, disallowed, lists, .. } = self.done;
        aside(self.applied);
        let mut reloaded = Reloaded { entered, left, allowed, disallowed, ..Reloaded::default() };
        let to_keep = self.rows.settle(&lists, blocklist, &mut reloaded);
        Ok((self.config, reloaded, to_keep))
    }

    /// The same, which puts back what was before: that ends when it was to end, as far as that is known.
    pub fn ending_as(mut self, ends: Option<Arc<Ends>>) -> Self {
        self.rows.end_as(ends);
        self
    }

    /// When what it has let go, or given another time, was to end. To be asked at its end: it cannot be undone from then on.
    pub fn take_ends(&mut self, lists: &Lists) -> Ends {
        let pages = std::mem::take(&mut self.applied).into_iter().rev().filter_map(|step| match step {
            Step::Page { undo, .. } => Some(undo),
            Step::Settings | Step::Reach(_) | Step::Anew(_) => None,
        });
        Ends::of(pages, &self.rows.limited(lists))
    }

    fn commit(&mut self, change: Change, next: Stage, protection: &mut Protection) -> Stage {
        self.commit_as_of(clock::now(), change, next, protection)
    }

    fn commit_as_of(
        &mut self,
        since: Timestamp,
        change: Change,
        next: Stage,
        protection: &mut Protection,
    ) -> Stage {
        match protection.commit(&change, since) {
            Ok(applied) => {
                self.done.add(&applied);
                let Effects { sets, .. } = &applied.effects;
                let polarity = if sets.allow.is_empty() { Polarity::Block } else { Polarity::Allow };
                let entered = sets.iter().any(|(_, set)| !set.entered.is_empty());
                self.applied.push(Step::Page { undo: applied.undo, polarity, entered });
                next
            }
            Err(error) => self.undo(error, protection),
        }
    }

    fn undo(&mut self, cause: NotDone, protection: &mut Protection) -> Stage {
        let live = self.rows.reaching.give_back(protection.blocklist_mut().lists_mut());
        // Undone last of all.
        let mut steps: Vec<_> = live.into_iter().map(Step::Reach).collect();
        steps.append(&mut self.applied);
        Stage::Undo(Undoing::new(steps, self.settings[0], cause))
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

impl Work for Reload {
    fn turn(&mut self, parts: &mut Parts<'_>) -> Turn {
        let stage = std::mem::replace(&mut self.stage, Stage::Ended(Ok(())));
        let (stage, turn) = match stage {
            Stage::Keep { list, after } => (self.keep(list, after, parts.protection.blocklist()), Turn::More),
            Stage::Measure { list, from, closely, needs } => {
                (self.measure((list, from), closely, needs, parts.protection), Turn::More)
            }
            Stage::Room(needs) => self.make_room(needs, parts),
            Stage::Loosen => self.loosen(parts.protection),
            Stage::Loosened(commit) => {
                wait(commit, parts.capacity, Stage::Loosened, || Stage::enter(Polarity::Block))
            }
            Stage::Enter { polarity, list, from } => self.enter(polarity, list, from, parts),
            Stage::Entered(commit) => {
                let (stage, turn) =
                    wait(commit, parts.capacity, Stage::Entered, || Stage::Settle { list: 0, after: None });
                if let Stage::Settle { .. } = stage {
                    self.rows.reaching.settle(parts.protection.blocklist_mut().lists_mut());
                }
                (stage, turn)
            }
            Stage::Reach { list, after } => self.reach(
                (list, after),
                |list, after| Stage::Reach { list, after },
                Self::after_entering,
                parts,
            ),
            Stage::Settle { list, after } => self.reach(
                (list, after),
                |list, after| Stage::Settle { list, after },
                |_, _| Stage::leave(Polarity::Block),
                parts,
            ),
            Stage::Leave { polarity, list, after } => {
                (self.leave(polarity, list, after, parts.protection), Turn::More)
            }
            Stage::Left(commit) => {
                wait(commit, parts.capacity, Stage::Left, || Stage::leave(Polarity::Allow))
            }
            Stage::Tighten => self.tighten(parts.protection),
            Stage::Note { list, from } => self.note_times(list, from, parts.protection.blocklist()),
            Stage::Undo(mut undoing) => match undoing.turn(parts) {
                Turn::Done => (Stage::Ended(Err(undoing.into_cause())), Turn::Done),
                turn @ (Turn::More | Turn::Wait) => (Stage::Undo(undoing), turn),
            },
            Stage::Ended(result) => (Stage::Ended(result), Turn::Done),
        };
        self.stage = stage;
        turn
    }
}

impl Stage {
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
    again: impl FnOnce(u64) -> Stage,
    then: impl FnOnce() -> Stage,
) -> (Stage, Turn) {
    if capacity.has_been_seen(commit) { (then(), Turn::More) } else { (again(commit), Turn::Wait) }
}
