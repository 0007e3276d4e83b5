//! Gives the lists of a new configuration their rows before anything enters, and undoes this if it is
//! refused. The rows reserve their names even while they are empty.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::find::{ListFinding, ReadReport};
use super::load::{Loaded, LoadedList};
use super::reaching::ReachChanges;
use super::timed::ListTimes;
use super::warnings;
use crate::blocklist::{
    Blocklist, Change, EntryTimes, ListChange, ListId, Origin, Refusal, Settings, Targets, Timestamp,
};
use crate::clock;
use crate::config::name::{CONFIG_ALLOW_LIST, CONFIG_LIST};
use crate::control::wire::reload::{HeldBack, Renamed, Reply as Reloaded};
use crate::daemon::lists::ListToKeep;
use crate::plan::{Contents, Lifetime, Plan, PlannedList};
use crate::source::reading::{AcceptedSource, ListTrouble, SourceReading, SourceReadings};
use crate::source::{Limits, ReadOptions};
use crate::state::ListToSave;
use crate::text::Explanation;

/// The changes of a configuration to the lists.
pub struct ListRows {
    /// The settings of the configuration.
    pub settings: Settings,
    /// The new contents of each list that may have changed.
    pub contents: Vec<(ListId, Targets)>,
    /// Lists that the configuration no longer names.
    pub gone: Vec<ListId>,
    /// Lists that take over entries: the list they continue, and their index in `contents`.
    pub kept: Vec<(ListId, usize)>,
    /// Lists whose existing entries change their reach.
    pub reaching: ReachChanges,
    /// How long the entries of its lists stay.
    lifetimes: HashMap<ListId, Lifetime>,
    /// The entries are restored, and count from when their copies say.
    pub restores: bool,
    /// The entries count from when their files were accepted, as at a start.
    pub counts_from_copies: bool,
    /// The times of restored entries, for lists whose copies know all of them.
    pub restored: HashMap<ListId, EntryTimes>,
    /// When the entries of its lists were added and expire.
    pub timed: ListTimes,
    pub found: Vec<FoundList>,
    /// The lists that were newly made.
    pub made: Vec<ListId>,
    /// Lists of which at most the entries can change.
    alike: Vec<ListId>,
    names_before: Vec<(ListId, Arc<str>)>,
    renamed: Vec<Renamed>,
    /// The names of lists that are new, and of those that are gone.
    come_and_gone: [Vec<String>; 2],
}

/// How the file of a list was found. Its targets are in `contents`.
pub struct FoundList {
    pub id: ListId,
    path: PathBuf,
    pub how: ReadOptions,
    limits: Limits,
    ttl: Option<Duration>,
    pub found: ListFinding,
}

impl ListRows {
    /// Makes rows for new lists, and renames those that continue. If a list has no room, nothing has changed.
    pub fn take(
        loaded: &mut Loaded,
        blocklist: &mut Blocklist,
        sources: &mut SourceReadings,
    ) -> Result<Self, Refusal> {
        let come_and_gone = [loaded.new_lists(), loaded.gone_lists(blocklist.lists())];
        let renamed = loaded.renamed(blocklist.lists());
        let Plan { settings, lists, mut gone } = loaded.plan(blocklist);
        // A list that is replaced leaves as one that is no longer named.
        gone.extend(lists.iter().filter_map(|list| list.continues.turned().or(list.continues.replaced())));
        let files = || lists.iter().filter(|list| list.origin == Origin::File);
        let names: Vec<_> =
            files().filter_map(|list| Some((list.continues.same()?, list.name.clone()))).collect();
        let name_of = |id: &ListId| (*id, blocklist.lists().get(*id).name.clone());
        let names_before = names.iter().map(|(id, _)| id).chain(&gone).map(name_of).collect();
        let alike = files().filter(|list| list.is_alike(blocklist));
        let alike = alike.filter_map(|list| list.continues.same()).collect();
        // A list that is gone must not reserve its name.
        ListChange::Rename { renamed: names, going: gone.clone() }.apply_to(blocklist, clock::now());
        let mut this = Self {
            settings,
            contents: Vec::new(),
            gone,
            kept: Vec::new(),
            reaching: ReachChanges::live(&loaded.config.live, blocklist),
            lifetimes: HashMap::new(),
            restores: loaded.restores,
            counts_from_copies: loaded.restores,
            restored: HashMap::new(),
            timed: ListTimes::default(),
            found: Vec::new(),
            made: Vec::new(),
            alike,
            names_before,
            renamed,
            come_and_gone,
        };
        let mut files = loaded.lists.drain(..);
        for list in lists {
            let file = if list.origin == Origin::File { files.next() } else { None };
            if let Err(refusal) = this.take_list(list, file, blocklist, sources) {
                this.give_back(blocklist, sources);
                return Err(refusal);
            }
        }
        Ok(this)
    }

    fn take_list(
        &mut self,
        list: PlannedList,
        file: Option<LoadedList>,
        blocklist: &mut Blocklist,
        sources: &mut SourceReadings,
    ) -> Result<(), Refusal> {
        let takes_over = list.takes_over();
        let PlannedList { name, origin, meaning, continues, lifetime, contents } = list;
        let id = match continues.same() {
            Some(id) => {
                self.reaching.begin(id, meaning.reach, blocklist);
                id
            }
            None => {
                let make = Change::Make { name: name.clone(), origin, meaning };
                let made = blocklist.apply(&make, clock::now())?.made;
                let id = made.expect("what is not refused is made");
                self.made.push(id);
                id
            }
        };
        self.lifetimes.insert(id, lifetime);
        let is_read = contents != Contents::Stay;
        match contents {
            Contents::Stay => {}
            Contents::Replaced(targets) => self.contents.push((id, targets)),
            Contents::TakenOver => self.contents.push((id, Targets::default())),
        }
        let Some(LoadedList { path, ttl, how, limits, times, ttl_before, found, .. }) = file else {
            return Ok(());
        };
        if let Some(turned) = takes_over {
            self.kept.push((turned, self.contents.len() - 1));
            let was = sources.of(turned).cloned().unwrap_or_default();
            let reading = sources.of_mut(id);
            (reading.rejected, reading.special, reading.accepted) = (was.rejected, was.special, was.accepted);
        }
        times.into_iter().for_each(|times| self.timed.tells(id, times));
        // A list that is held back keeps its `ttl` until it is read again.
        let ttl = if is_read { ttl } else { continues.alive().and(ttl_before) };
        self.found.push(FoundList { id, path, how, limits, ttl, found });
        Ok(())
    }

    /// The record of this list's new contents, from its file or its copy.
    pub fn accepted(&self, id: ListId) -> Option<&AcceptedSource> {
        let found = self.found.iter().find(|found| found.id == id)?;
        match &found.found {
            ListFinding::Doubted { accepted, .. } => accepted.as_ref(),
            ListFinding::Accepted { accepted, .. } => Some(accepted),
            ListFinding::Unchanged | ListFinding::Awaited => None,
        }
    }

    /// How long the entries of this list stay.
    pub fn lifetime(&self, id: ListId) -> Lifetime {
        self.lifetimes.get(&id).copied().unwrap_or(Lifetime::FOR_GOOD)
    }

    /// Whether entries of this list expire.
    pub fn expires(&self, id: ListId) -> bool {
        self.lifetime(id).ttl.is_some()
    }

    /// The list with other ports whose times this one continues.
    pub fn turned(&self, id: ListId) -> Option<ListId> {
        self.lifetime(id).known.filter(|known| *known != id)
    }

    /// The time from which new entries of this list count.
    pub fn since(&self, id: ListId) -> Timestamp {
        let now = clock::now();
        self.copied(id).map_or(now, |copied| copied.at.min(now))
    }

    /// When new entries of this list expire, if they do.
    pub fn until(&self, id: ListId) -> Option<Timestamp> {
        let (lifetime, now) = (self.lifetime(id), clock::after(Duration::ZERO));
        let of_copy = |copied: &AcceptedSource| Some(copied.until(lifetime.ttl?, now));
        self.copied(id).map_or_else(|| lifetime.anew(now), of_copy)
    }

    /// Whether the time of the entries restored to this list is over.
    pub fn is_over(&self, id: ListId) -> bool {
        self.restores && self.until(id).is_some_and(|until| until <= clock::now())
    }

    fn copied(&self, id: ListId) -> Option<&AcceptedSource> {
        self.accepted(id).filter(|_| self.counts_from_copies)
    }

    /// Restores the names of lists, and forgets those that were made. These have no entries.
    pub fn give_back(mut self, blocklist: &mut Blocklist, sources: &mut SourceReadings) {
        self.reaching.give_back(blocklist);
        self.made.into_iter().for_each(|id| forget(id, blocklist, sources));
        let back = ListChange::Rename { renamed: self.names_before, going: Vec::new() };
        back.apply_to(blocklist, clock::now());
    }

    /// Records how each file was found and forgets the lists that are gone. Returns the copies to keep, and
    /// adds the messages for the operator. Lists in `moved` gained or lost entries.
    pub fn settle(
        mut self,
        moved: &BTreeSet<Arc<str>>,
        blocklist: &mut Blocklist,
        sources: &mut SourceReadings,
        reloaded: &mut Reloaded,
    ) -> Vec<ListToKeep> {
        let now = clock::now();
        let is_moved = |id: &&ListId| moved.contains(&blocklist.lists().get(**id).name);
        reloaded.unchanged = (self.alike.len() - self.alike.iter().filter(is_moved).count()) as u64;
        reloaded.renamed = std::mem::take(&mut self.renamed);
        [reloaded.new, reloaded.gone] = std::mem::take(&mut self.come_and_gone);
        for to in &self.made {
            if let Some(from) = self.turned(*to) {
                ListChange::PassSpent { from, to: *to }.apply_to(blocklist, now);
            }
        }
        self.gone.iter().for_each(|id| forget(*id, blocklist, sources));
        let own =
            [CONFIG_LIST, CONFIG_ALLOW_LIST].into_iter().filter_map(|name| blocklist.lists().find(name));
        let places = own.chain(self.found.iter().map(|found| found.id)).collect();
        ListChange::Places(places).apply_to(blocklist, now);
        let nothing = Targets::default();
        for (id, named) in &self.contents {
            warnings::of_contents(blocklist.lists().get(*id), named, &mut reloaded.warnings);
            // If everything counts anew or has no `ttl`, no entry is expired.
            let goes_on = self.lifetime(*id).goes_on();
            let is_over = self.is_over(*id) || self.restored.contains_key(id);
            let named_still = if goes_on || is_over { named } else { &nothing };
            let others = blocklist.lists().get(*id).spent.besides(named_still);
            ListChange::Unspend(*id, others).apply_to(blocklist, now);
            if is_over {
                ListChange::Spend(*id, blocklist.new_on(*id, named)).apply_to(blocklist, now);
            }
        }
        super::aside(self.contents);
        // The list stays only if the configuration allows something.
        if let Some(allow) = blocklist.lists().find(CONFIG_ALLOW_LIST) {
            forget(allow, blocklist, sources);
        }
        let (found, mut timed) = (self.found.into_iter(), self.timed);
        let to_keep = found.filter_map(|found| {
            let times = timed.take_noted(found.id);
            let id = found.id;
            let list = note(blocklist, sources, found, now, reloaded)?;
            Some(ListToKeep { id, list: ListToSave { times, ..list } })
        });
        to_keep.collect()
    }
}

/// Forgets a list, if it is empty, and what is known of its source.
fn forget(id: ListId, blocklist: &mut Blocklist, sources: &mut SourceReadings) {
    ListChange::Forget(id).apply_to(blocklist, clock::now());
    if !blocklist.lists().has(id) {
        sources.forget(id);
    }
}

/// Records how a file was found, and returns the copy to keep of it.
fn note(
    blocklist: &Blocklist,
    sources: &mut SourceReadings,
    found: FoundList,
    now: Timestamp,
    reloaded: &mut Reloaded,
) -> Option<ListToSave> {
    let FoundList { id, path, how, limits, ttl, found } = found;
    let list = blocklist.lists().get(id);
    let (name, entries, meaning) = (list.name.clone(), list.entries, blocklist.meaning(list));
    let reading = sources.of_mut(id);
    let before = reading.accepted.clone();
    (reading.path, reading.ttl) = (path, ttl);
    (reading.how, reading.limits) = (how.to_string(), limits.numbers());
    let mut draft = None;
    match found {
        ListFinding::Unchanged => {}
        // It is read once it was fetched, whatever it was before.
        ListFinding::Awaited => (reading.stamp, reading.trouble) = (None, None),
        ListFinding::Doubted { told, read, accepted, .. } => {
            if let Some(read) = read {
                warnings::of_special(&name, read.special, &mut reloaded.warnings);
                note_read(reading, read);
            }
            reading.accepted = accepted.or(reading.accepted.take());
            hold_back(reading, &name, told, now, reloaded);
        }
        ListFinding::Accepted { accepted, draft: bytes, read, remarks, .. } => {
            // A list whose file is missing, and may be, has no format.
            let format = Some(read.format).filter(|format| !["", "plain"].contains(format));
            tracing::info!(
                watch.verb = "read",
                watch.lists = name.as_ref(),
                entries,
                format,
                "list \"{name}\" read"
            );
            warnings::of_rejected(&name, read.rejected, &mut reloaded.warnings);
            warnings::of_left_out(&name, &read.left_out, &mut reloaded.warnings);
            warnings::of_special(&name, read.special, &mut reloaded.warnings);
            reloaded.warnings.extend(remarks.told(&name, clock::on_the_wall(now)));
            reading.built = remarks.built;
            reading.stamp = accepted.stamp;
            note_read(reading, read);
            reading.trouble = None;
            reading.accepted = Some(accepted);
            draft = bytes;
        }
    }
    let read = reading.accepted.take()?;
    let term = read.term_of(ttl, clock::after(Duration::ZERO));
    // With another `ttl`, all its entries count anew.
    let times = read.times.filter(|_| term.map(|term| term.ttl) == read.term.map(|term| term.ttl));
    let renamed = renamed(&read, &name, &reading.path);
    let accepted = AcceptedSource { term, meaning: Some(meaning), times, ..renamed };
    reading.accepted = Some(accepted.clone());
    Some(ListToSave { accepted, before: before.or(Some(read)), draft, times: None })
}

fn note_read(reading: &mut SourceReading, read: ReadReport) {
    let ReadReport { rejected, examples, special, format, .. } = read;
    (reading.rejected, reading.examples, reading.special, reading.format) =
        (rejected, examples, special, format);
}

/// The record under this name and path. For another file the stamp, and that it may be missing, do not apply.
fn renamed(accepted: &AcceptedSource, name: &Arc<str>, path: &Path) -> AcceptedSource {
    let stamp = accepted.stamp.filter(|_| accepted.path == path);
    let is_missing = accepted.may_be_missing(path);
    AcceptedSource { name: name.clone(), path: path.into(), stamp, is_missing, ..accepted.clone() }
}

/// Holds a list back. The next reload reads it again, whatever its stamp.
fn hold_back(
    reading: &mut SourceReading,
    name: &str,
    told: Explanation,
    now: Timestamp,
    reloaded: &mut Reloaded,
) {
    let since = reading.trouble.as_ref().map_or(now, |trouble| trouble.since);
    let Explanation { message, remedy } = told;
    let trouble = ListTrouble { since, message, remedy: remedy.unwrap_or_default() };
    let ListTrouble { message, remedy, .. } = trouble.clone();
    reloaded.held_back.push(HeldBack {
        list: name.to_owned(),
        since: clock::on_the_wall(since),
        told: Explanation::new(message, remedy),
    });
    reading.stamp = None;
    reading.trouble = Some(trouble);
}
