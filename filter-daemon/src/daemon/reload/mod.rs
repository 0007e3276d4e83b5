//! A reload: read away from the owner (`load`), told apart from what is in force (`matching`), given its rows (`rows`), and
//! then made true page by page, in an order in which at no moment anything passes that the old and the new configuration
//! both block, and nothing is dropped that both let pass:
//!
//! room for old and new together, and the judge for it → settings that drop less, and what is allowed → (grace period) →
//! what is blocked, also for the sake of what is widened otherwise → (grace period) → what is blocked no longer → (grace period) → what is allowed no longer, and settings
//! that drop more.
//!
//! A page that is refused all the same ends it: then everything is undone in pages, in the opposite order.

mod find;
mod load;
mod look;
mod matching;
mod reaching;
mod rows;
mod sources;
mod told;
mod undoing;
mod warnings;

use std::thread;
use std::time::Instant;

use filter_common::target::Target;

use super::capacity::Capacity;
use super::change::Done;
use super::commit::{NotDone, Protection};
use super::error::DaemonError;
use super::lists::ToKeep;
use super::needs;
use super::pages::{Parts, Turn, Work};
use crate::blocklist::{
    Blocklist, Change, Effects, From, ListId, PAGE, Polarity, Record, Settings, Targets, Undo, Want,
};
use crate::clock;
use crate::config::{Config, Matches};
use crate::control::wire::reload::Reply as Reloaded;
use crate::kernel::Needs;
pub use find::Found;
#[cfg(test)]
pub use load::LoadedList;
pub use load::{Loaded, known};
pub use look::written;
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
    /// What has come onto this list meanwhile reaches farther than it is to.
    Reach(ListId),
    /// That, page by page.
    Anew(Change),
    /// Something entered with it on this side, or it only released.
    Page { undo: Undo, polarity: Polarity, entered: bool },
}

/// What is done next.
enum Stage {
    /// Count what enters: from this target of this list's on.
    Measure { list: usize, from: usize, needs: Needs },
    /// Make room for it.
    Room(Needs),
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
    /// Undo everything.
    Undo(Undoing),
    /// It has come to its end.
    Ended(Result<(), NotDone>),
}

impl Reload {
    /// Begins to make `loaded` true. If lists stand in its way, nothing has changed.
    pub fn begin(mut loaded: Loaded, began: Instant, blocklist: &mut Blocklist) -> Result<Self, DaemonError> {
        let rows = Rows::take(&mut loaded, blocklist)?;
        let after = settings_of(&loaded.config);
        let needs = Needs { counters: after.counters, ..needs::of(blocklist) };
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
        let Done { entered, left, allowed, disallowed, .. } = self.done;
        aside(self.applied);
        let mut reloaded = Reloaded { entered, left, allowed, disallowed, ..Reloaded::default() };
        let to_keep = self.rows.settle(blocklist, &mut reloaded);
        reloaded.milliseconds = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok((self.config, reloaded, to_keep))
    }

    /// Exactly only where it matters: most reloads bring little that is new.
    fn measure(&mut self, list: usize, from: usize, mut needs: Needs, protection: &Protection) -> Stage {
        if list == 0 && from == 0 {
            let mut most = needs.clone();
            let lists = protection.blocklist().lists();
            let contents = self.rows.contents.iter();
            contents.for_each(|(id, targets)| {
                needs::add(&mut most, lists.get(*id).set(), &lists.get(*id).reach.all_of(targets));
            });
            self.rows.reaching.add_needs(&mut most, lists);
            if protection.filter().has_room(&most) {
                return Stage::Room(most);
            }
        }
        let Some((id, targets)) = self.rows.contents.get(list) else {
            self.rows.reaching.add_needs(&mut needs, protection.blocklist().lists());
            return Stage::Room(needs);
        };
        let page = targets.page(from, PAGE);
        if page.is_empty() {
            return Stage::Measure { list: list + 1, from: 0, needs };
        }
        let from = from + page.len();
        let difference = protection.blocklist().preview(&self.want(*id, page, protection.blocklist()));
        needs::add(&mut needs, protection.blocklist().lists().get(*id).set(), &difference.enters);
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
        let loosens = after.strictness() < before.unpaused().strictness();
        let settings = if loosens { after } else { before };
        match parts.protection.commit(&Change::Settings(settings), clock::now()) {
            Err(error) => (Stage::Ended(Err(error)), Turn::Done),
            Ok(_) => {
                self.applied.extend(loosens.then_some(Step::Settings));
                (Stage::enter(Polarity::Allow), Turn::More)
            }
        }
    }

    fn enter(
        &mut self,
        polarity: Polarity,
        list: usize,
        from: usize,
        parts: &mut Parts<'_>,
    ) -> (Stage, Turn) {
        let Some((id, targets)) = self.rows.contents.get(list) else {
            let next = match polarity {
                Polarity::Allow => Stage::Loosened(parts.protection.latest().loosened),
                Polarity::Block => Stage::Reach { list: 0, after: None },
            };
            return (next, Turn::More);
        };
        let row = parts.protection.blocklist().lists().get(*id);
        let (is_meant, set) = (row.polarity == polarity, row.set());
        let page = if is_meant { targets.page(from, PAGE) } else { Targets::default() };
        if page.is_empty() {
            return (Stage::Enter { polarity, list: list + 1, from: 0 }, Turn::More);
        }
        let reach = parts.protection.blocklist().lists().get(*id).reach;
        if !parts.capacity.has_room(parts.protection, set, &reach.all_of(&page)) {
            return (Stage::Enter { polarity, list, from }, Turn::Wait);
        }
        let next = Stage::Enter { polarity, list, from: from + page.len() };
        let change = self.want(*id, page, parts.protection.blocklist());
        (self.commit(change, next, parts.protection), Turn::More)
    }

    /// What is there already reaches as far as its list does by now, page by page, before what leaves (`Stage::Reach`) and
    /// after that may (`Stage::Settle`).
    fn reach(
        &mut self,
        (list, after): (usize, Option<Target>),
        again: impl Fn(usize, Option<Target>) -> Stage,
        then: impl FnOnce(&Self, &Protection) -> Stage,
        parts: &mut Parts<'_>,
    ) -> (Stage, Turn) {
        let lists = parts.protection.blocklist().lists();
        let Some((at, id)) = self.rows.reaching.next(list, lists) else {
            return (then(self, parts.protection), Turn::More);
        };
        let after = after.filter(|_| at == list);
        let row = lists.get(id);
        let (name, reach, set) = (row.name.clone(), row.reach, row.set());
        let (page, next) = parts.protection.blocklist().to_reach_anew(id, after);
        if !parts.capacity.has_room(parts.protection, set, &reach.all_of(&page)) {
            return (again(at, after), Turn::Wait);
        }
        let next = if next.is_some() { again(at, next) } else { again(at + 1, None) };
        if page.is_empty() {
            return (next, Turn::More);
        }
        (self.commit(Change::Reach { list: name, targets: page }, next, parts.protection), Turn::More)
    }

    /// Where nothing leaves, nobody needs to have seen what entered.
    fn after_entering(&self, protection: &Protection) -> Stage {
        if self.leaves(Polarity::Block, protection) {
            Stage::Entered(protection.latest().entered)
        } else {
            self.after_leaving(protection)
        }
    }

    /// Does anything leave this side?
    fn leaves(&self, polarity: Polarity, protection: &Protection) -> bool {
        let lists = protection.blocklist().lists();
        let is_longer = |id: &ListId, than: usize| {
            let list = lists.get(*id);
            // Of one with an end, some that are named are not there.
            list.polarity == polarity && (list.entries > than as u64 || self.rows.term(*id).is_some())
        };
        let Rows { contents, gone, reaching, .. } = &self.rows;
        let is_reaching = polarity == Polarity::Block && !reaching.is_empty();
        is_reaching
            || contents.iter().any(|(id, targets)| is_longer(id, targets.len()))
            || gone.iter().any(|id| is_longer(id, 0))
    }

    fn leave(
        &mut self,
        polarity: Polarity,
        list: usize,
        after: Option<Target>,
        protection: &mut Protection,
    ) -> Stage {
        let (contents, nothing) = (&self.rows.contents, Targets::default());
        let gone = |list: usize| Some((*self.rows.gone.get(list - contents.len())?, &nothing));
        let kept = contents.get(list).map(|(id, targets)| (*id, targets)).or_else(|| gone(list));
        let Some((id, targets)) = kept else {
            return match polarity {
                Polarity::Block => self.after_leaving(protection),
                Polarity::Allow => Stage::Tighten,
            };
        };
        let row = protection.blocklist().lists().get(id);
        // Of one with an end, some that are named are not there.
        let may_leave = row.entries > targets.len() as u64 || self.rows.term(id).is_some();
        if row.polarity != polarity || !may_leave {
            return Stage::Leave { polarity, list: list + 1, after: None };
        }
        let name = row.name.clone();
        let (over, next) = protection.blocklist().to_release(id, after, |target| !targets.contains(target));
        let next = match next {
            Some(_) => Stage::Leave { polarity, list, after: next },
            None => Stage::Leave { polarity, list: list + 1, after: None },
        };
        if over.is_empty() {
            return next;
        }
        self.commit(Change::Release { from: From::List(name), targets: over }, next, protection)
    }

    fn after_leaving(&self, protection: &Protection) -> Stage {
        let [before, after] = self.settings;
        let tightens = after.strictness() > before.unpaused().strictness();
        let latest = protection.latest();
        if tightens || self.leaves(Polarity::Allow, protection) {
            Stage::Left(latest.left.max(latest.loosened))
        } else {
            Stage::Tighten
        }
    }

    fn tighten(&mut self, protection: &mut Protection) -> (Stage, Turn) {
        let change = Change::Settings(self.settings[1]);
        match protection.commit(&change, clock::now()) {
            Ok(_) => (Stage::Ended(Ok(())), Turn::Done),
            Err(error) => (self.undo(error, protection), Turn::More),
        }
    }

    fn commit(&mut self, change: Change, next: Stage, protection: &mut Protection) -> Stage {
        match protection.commit(&change, clock::now()) {
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

    /// Everything at once, for kernels without grace periods.
    fn replace(&mut self, protection: &mut Protection) -> Result<(), NotDone> {
        self.rows.reaching.settle(protection.blocklist_mut().lists_mut());
        let blocklist = protection.blocklist();
        let mut changes = vec![Change::Settings(self.settings[1])];
        for (id, targets) in &self.rows.contents {
            changes.push(self.want(*id, targets.clone(), blocklist));
        }
        changes.extend(self.rows.reaching.all_anew(blocklist));
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
        let (origin, polarity, list) = (list.origin, list.polarity, list.name.clone());
        let term = self.rows.term(id);
        let (shorten, until) = (term.is_some(), term.map(|term| clock::after(term.ttl)));
        // What is there keeps its time, and what is over does not begin again.
        let targets =
            if term.is_some_and(|term| !term.is_new) { blocklist.new_on(id, &targets) } else { targets };
        Change::Want(Want { origin, until, shorten, ..Want::live(list, polarity, targets) })
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

/// How packets are to be judged, as a configuration says.
pub fn settings_of(config: &Config) -> Settings {
    let match_new = config.matches == Matches::New;
    Settings { enforce: config.enforce, match_new, counters: config.counters, ..Settings::default() }
}

/// Makes a blocklist that nobody enforces yet what was loaded. Tells what the operator should know, and which copies there
/// should be.
pub fn begin_with(
    mut loaded: Loaded,
    blocklist: &mut Blocklist,
) -> Result<(Config, Reloaded, Vec<ToKeep>), DaemonError> {
    let mut rows = Rows::take(&mut loaded, blocklist)?;
    let now = clock::now();
    blocklist.apply(&Change::Settings(settings_of(&loaded.config)), now)?;
    let mut reloaded = Reloaded::default();
    for (id, targets) in std::mem::take(&mut rows.contents) {
        warnings::of_contents(blocklist.lists().get(id), &targets, &mut reloaded.warnings);
        let (list, polarity) = (blocklist.lists().get(id).name.clone(), blocklist.lists().get(id).polarity);
        let since = rows.read_at(id).unwrap_or(now).min(now);
        let until = rows.term(id).map(|term| since.later_by(term.ttl.as_secs() as i64));
        // As if it had been so before: nobody will want it undone.
        let want = Record::Want { list, polarity, since, until, note: None, by: None, targets };
        blocklist.replay(want, now)?;
    }
    // Live lists were there before anybody said how far they reach.
    rows.reaching.settle(blocklist.lists_mut());
    for change in rows.reaching.all_anew(blocklist) {
        blocklist.apply(&change, now)?;
    }
    blocklist.expire_all(now);
    let to_keep = rows.settle(blocklist, &mut reloaded);
    blocklist.begin(now);
    Ok((loaded.config, reloaded, to_keep))
}
