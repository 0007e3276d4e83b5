//! A reload: read away from the owner (`load`), told apart from what is in force (`matching`), given its rows (`rows`), and
//! then made true page by page, in an order in which at no moment anything passes that the old and the new configuration
//! both block, and nothing is dropped that both let pass:
//!
//! room for old and new together, and the judge for it → settings that drop less → (grace period) → what enters → (grace
//! period) → what leaves → (grace period) → settings that drop more.
//!
//! A page that is refused all the same ends it: then everything is undone in pages, in the opposite order.

mod find;
mod load;
mod look;
mod matching;
mod rows;
mod sources;
mod told;
mod undoing;

use std::time::Instant;

use filter_common::target::Target;

use super::capacity::Capacity;
use super::change::Done;
use super::commit::{NotDone, Protection};
use super::error::DaemonError;
use super::lists::ToKeep;
use super::needs;
use super::pages::{Parts, Turn, Work};
use crate::blocklist::{Blocklist, Change, From, ListId, Origin, PAGE, Record, Settings, Targets, Undo};
use crate::clock;
use crate::config::Config;
use crate::control::wire::reload::Reply as Reloaded;
use crate::kernel::Needs;
pub use find::Found;
pub use load::{Loaded, known};
pub use matching::Known;
pub use rows::{Rows, must_not_be_live};
pub use sources::Sources;
pub use told::tell_log;
use undoing::Undoing;

/// A reload under way.
pub struct Reload {
    began: Instant,
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
    /// Something entered with it, or it only released.
    Page { undo: Undo, entered: bool },
}

/// What is done next.
enum Stage {
    /// Count what enters: from this target of this list's on.
    Measure { list: usize, from: usize, needs: Needs },
    /// Make room for it.
    Room(Needs),
    /// Let packets in flight see the settings that drop less, of this commit.
    Loosened(u64),
    /// Let in what is new: from this target of this list's on.
    Enter { list: usize, from: usize },
    /// Let packets in flight see what has entered until this commit.
    Entered(u64),
    /// Release what is over: of this list, behind this target.
    Leave { list: usize, after: Option<Target> },
    /// Let packets in flight see what has left until this commit, and what drops less.
    Left(u64),
    /// The settings, if they drop more.
    Tighten,
    /// Undo everything.
    Undo(Undoing),
    /// It has come to its end.
    Ended(Result<(), NotDone>),
}

impl Reload {
    /// Begins to make `loaded` true. If lists stand in its way, nothing has changed.
    pub fn begin(mut loaded: Loaded, began: Instant, blocklist: &mut Blocklist) -> Result<Self, DaemonError> {
        let rows = Rows::take(&mut loaded, blocklist)?;
        let after = Settings { enforce: loaded.config.enforce, ..Settings::default() };
        let needs = needs::of(blocklist);
        Ok(Self {
            began,
            config: loaded.config,
            rows,
            settings: [blocklist.settings(), after],
            stage: Stage::Measure { list: 0, from: 0, needs },
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
        let Done { entered, left, .. } = self.done;
        let mut reloaded = Reloaded { entered, left, ..Reloaded::default() };
        let to_keep = self.rows.settle(blocklist, &mut reloaded);
        reloaded.milliseconds = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok((self.config, reloaded, to_keep))
    }

    /// Exactly only where it matters: most reloads bring little that is new.
    fn measure(&mut self, list: usize, from: usize, mut needs: Needs, protection: &Protection) -> Stage {
        if list == 0 && from == 0 {
            let mut most = needs.clone();
            self.rows.contents.iter().for_each(|(_, targets)| needs::add(&mut most, targets));
            if protection.filter().has_room(&most) {
                return Stage::Room(most);
            }
        }
        let Some((id, targets)) = self.rows.contents.get(list) else { return Stage::Room(needs) };
        let page = targets.page(from, PAGE);
        if page.is_empty() {
            return Stage::Measure { list: list + 1, from: 0, needs };
        }
        let from = from + page.len();
        let difference = protection.blocklist().preview(&self.want(*id, page, protection.blocklist()));
        needs::add(&mut needs, &difference.enters);
        Stage::Measure { list, from, needs }
    }

    /// Room for old and new together, and the judge for it; then the settings, if they drop less.
    fn make_room(&mut self, needs: Needs, parts: &mut Parts<'_>) -> (Stage, Turn) {
        if parts.capacity.is_graceless() {
            return (Stage::Ended(self.replace(parts.protection)), Turn::Done);
        }
        let (filter, blocklist) = parts.protection.parts();
        let waits = !filter.has_room(&needs)
            && filter.grow_aside(&needs, blocklist).is_ok_and(|growing| growing.any());
        if waits {
            return (Stage::Room(needs), Turn::Wait);
        }
        if let Err(error) = filter.reserve(&needs, blocklist) {
            return (Stage::Ended(Err(error.into())), Turn::Done);
        }
        let [before, after] = self.settings;
        let loosens = before.enforce && !after.enforce;
        let settings = if loosens { after } else { before };
        match parts.protection.commit(&Change::Settings(settings), clock::now()) {
            Err(error) => (Stage::Ended(Err(error)), Turn::Done),
            Ok(_) => {
                self.applied.extend(loosens.then_some(Step::Settings));
                (Stage::Loosened(parts.protection.latest().loosened), Turn::More)
            }
        }
    }

    fn enter(&mut self, list: usize, from: usize, parts: &mut Parts<'_>) -> (Stage, Turn) {
        let Some((id, targets)) = self.rows.contents.get(list) else {
            return (self.after_entering(parts.protection), Turn::More);
        };
        let page = targets.page(from, PAGE);
        if page.is_empty() {
            return (Stage::Enter { list: list + 1, from: 0 }, Turn::More);
        }
        if !parts.capacity.has_room(parts.protection, &page) {
            return (Stage::Enter { list, from }, Turn::Wait);
        }
        let next = Stage::Enter { list, from: from + page.len() };
        let change = self.want(*id, page, parts.protection.blocklist());
        (self.commit(change, next, parts.protection), Turn::More)
    }

    /// Where nothing leaves, nobody needs to have seen what entered.
    fn after_entering(&self, protection: &Protection) -> Stage {
        let blocklist = protection.blocklist();
        let shrinks =
            |(id, targets): &(ListId, Targets)| blocklist.lists().get(*id).entries > targets.len() as u64;
        let is_there = |id: &ListId| blocklist.lists().get(*id).entries > 0;
        let leaves = self.rows.contents.iter().any(shrinks) || self.rows.gone.iter().any(is_there);
        if leaves {
            Stage::Entered(protection.latest().entered)
        } else {
            Stage::Leave { list: 0, after: None }
        }
    }

    fn leave(&mut self, list: usize, after: Option<Target>, protection: &mut Protection) -> Stage {
        let (contents, nothing) = (&self.rows.contents, Targets::default());
        let gone = |list: usize| Some((*self.rows.gone.get(list - contents.len())?, &nothing));
        let kept = contents.get(list).map(|(id, targets)| (*id, targets)).or_else(|| gone(list));
        let Some((id, targets)) = kept else { return self.after_leaving(protection) };
        let row = protection.blocklist().lists().get(id);
        if row.entries <= targets.len() as u64 {
            return Stage::Leave { list: list + 1, after: None };
        }
        let name = row.name.clone();
        let (over, next) = protection.blocklist().to_release(id, after, |target| !targets.contains(target));
        let next = match next {
            Some(_) => Stage::Leave { list, after: next },
            None => Stage::Leave { list: list + 1, after: None },
        };
        if over.is_empty() {
            return next;
        }
        self.commit(Change::Release { from: From::List(name), targets: over }, next, protection)
    }

    fn after_leaving(&self, protection: &Protection) -> Stage {
        let [before, after] = self.settings;
        let tightens = !before.enforce && after.enforce;
        let latest = protection.latest();
        if tightens { Stage::Left(latest.left.max(latest.loosened)) } else { Stage::Tighten }
    }

    fn tighten(&mut self, protection: &mut Protection) -> (Stage, Turn) {
        let change = Change::Settings(self.settings[1]);
        match protection.commit(&change, clock::now()) {
            Ok(_) => (Stage::Ended(Ok(())), Turn::Done),
            Err(error) => (self.undo(error), Turn::More),
        }
    }

    fn commit(&mut self, change: Change, next: Stage, protection: &mut Protection) -> Stage {
        match protection.commit(&change, clock::now()) {
            Ok(applied) => {
                self.done.add(&applied);
                let entered = !applied.effects.block.entered.is_empty();
                self.applied.push(Step::Page { undo: applied.undo, entered });
                next
            }
            Err(error) => self.undo(error),
        }
    }

    fn undo(&mut self, cause: NotDone) -> Stage {
        Stage::Undo(Undoing::new(std::mem::take(&mut self.applied), self.settings[0], cause))
    }

    /// Everything at once, for kernels without grace periods.
    fn replace(&mut self, protection: &mut Protection) -> Result<(), NotDone> {
        let blocklist = protection.blocklist();
        let mut changes = vec![Change::Settings(self.settings[1])];
        for (id, targets) in &self.rows.contents {
            changes.push(self.want(*id, targets.clone(), blocklist));
        }
        let nothing = Targets::default();
        let gone = self.rows.gone.iter().map(|id| (*id, &nothing));
        for (id, targets) in self.rows.contents.iter().map(|(id, targets)| (*id, targets)).chain(gone) {
            let over = blocklist.entries_of(id).filter(|target| !targets.contains(*target)).collect();
            let from = From::List(blocklist.lists().get(id).name.clone());
            changes.push(Change::Release { from, targets: over });
        }
        let done = protection.replace(&changes, clock::now())?;
        done.iter().for_each(|applied| self.done.add(applied));
        Ok(())
    }

    fn want(&self, id: ListId, targets: Targets, blocklist: &Blocklist) -> Change {
        let list = blocklist.lists().get(id);
        let origin: Origin = list.origin;
        Change::Want { list: list.name.clone(), origin, until: None, shorten: false, note: None, targets }
    }
}

impl Work for Reload {
    fn turn(&mut self, parts: &mut Parts<'_>) -> Turn {
        let stage = std::mem::replace(&mut self.stage, Stage::Ended(Ok(())));
        let (stage, turn) = match stage {
            Stage::Measure { list, from, needs } => {
                (self.measure(list, from, needs, parts.protection), Turn::More)
            }
            Stage::Room(needs) => self.make_room(needs, parts),
            Stage::Loosened(commit) => {
                wait(commit, parts.capacity, Stage::Loosened, || Stage::Enter { list: 0, from: 0 })
            }
            Stage::Enter { list, from } => self.enter(list, from, parts),
            Stage::Entered(commit) => {
                wait(commit, parts.capacity, Stage::Entered, || Stage::Leave { list: 0, after: None })
            }
            Stage::Leave { list, after } => (self.leave(list, after, parts.protection), Turn::More),
            Stage::Left(commit) => wait(commit, parts.capacity, Stage::Left, || Stage::Tighten),
            Stage::Tighten => self.tighten(parts.protection),
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

fn wait(
    commit: u64,
    capacity: &mut Capacity,
    again: impl FnOnce(u64) -> Stage,
    then: impl FnOnce() -> Stage,
) -> (Stage, Turn) {
    if capacity.has_been_seen(commit) { (then(), Turn::More) } else { (again(commit), Turn::Wait) }
}

/// Makes a blocklist that nobody enforces yet what was loaded. Tells what the operator should know, and which copies there
/// should be.
pub fn begin_with(
    mut loaded: Loaded,
    blocklist: &mut Blocklist,
) -> Result<(Config, Reloaded, Vec<ToKeep>), DaemonError> {
    let mut rows = Rows::take(&mut loaded, blocklist)?;
    let now = clock::now();
    let enforce = Settings { enforce: loaded.config.enforce, ..Settings::default() };
    blocklist.apply(&Change::Settings(enforce), now)?;
    for (id, targets) in std::mem::take(&mut rows.contents) {
        let list = blocklist.lists().get(id).name.clone();
        let since = rows.copied_at(id).unwrap_or(now);
        // As if it had been so before: nobody will want it undone.
        blocklist.replay(Record::Want { list, since, until: None, note: None, targets }, now)?;
    }
    let mut reloaded = Reloaded::default();
    let to_keep = rows.settle(blocklist, &mut reloaded);
    Ok((loaded.config, reloaded, to_keep))
}
