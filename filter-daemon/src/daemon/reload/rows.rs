//! The lists that a new configuration names get their rows before anything enters, and give them back if it is refused:
//! a name that the configuration uses is nobody else's, however empty its list is.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::ends::Expiries;
use super::find::{ListFinding, ReadReport};
use super::load::{Loaded, LoadedList};
use super::reaching::ReachChanges;
use super::timed::ListTimes;
use super::warnings;
use crate::blocklist::{
    AcceptedSource, Blocklist, ListId, ListRegistry, ListTrouble, Meaning, Origin, Polarity, SourceReading,
    Targets, Timestamp,
};
use crate::clock;
use crate::config::name::{CONFIG_ALLOW_LIST, CONFIG_LIST};
use crate::control::wire::reload::{HeldBack, Renamed, Reply as Reloaded};
use crate::daemon::error::DaemonError;
use crate::daemon::lists::ListToKeep;
use crate::source::copies::CopySource;
use crate::source::{Limits, ReadOptions};
use crate::text::Explanation;

/// What a configuration makes of the lists.
pub struct ListRows {
    /// What is to be on each list from now on; lists that are as they were are not among them.
    pub contents: Vec<(ListId, Targets)>,
    /// Lists that the configuration no longer names.
    pub gone: Vec<ListId>,
    /// Lists of which the entries of another are to be the contents: that one, and which of the contents.
    pub kept: Vec<(ListId, usize)>,
    /// Lists of which what is there already is to reach farther from now on, or less far.
    pub reaching: ReachChanges,
    /// How long what lists name stays on them, where that has an end, and whether it has been so before.
    stays: HashMap<ListId, ListLifetime>,
    /// For lists that block on other ports from now on: those of which the times go on.
    turned: HashMap<ListId, ListId>,
    /// What its lists name was there before, and counts from when their copies say.
    pub restores: bool,
    /// When each of it was to end, as far as that is known: to the filterd that tried, or else to its copies.
    ends: [Option<Arc<Expiries>>; 2],
    /// When what its lists name came, and ends.
    pub timed: ListTimes,
    pub found: Vec<FoundList>,
    /// Those of which there was none.
    pub made: Vec<ListId>,
    /// Those of which nothing but what is on them can be other.
    alike: Vec<ListId>,
    names_before: Vec<(ListId, Arc<str>)>,
    renamed: Vec<Renamed>,
    /// By name: those that the configuration did not name before, and those that it names no longer.
    come_and_gone: [Vec<String>; 2],
}

/// How the file of a list was found; its targets are among the contents.
pub struct FoundList {
    pub id: ListId,
    path: PathBuf,
    pub how: ReadOptions,
    limits: Limits,
    ttl: Option<Duration>,
    pub found: ListFinding,
}

/// How long what a list names stays on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListLifetime {
    /// So long.
    pub ttl: Duration,
    /// It has not been so before: everything on the list counts anew.
    pub is_new: bool,
}

impl ListRows {
    /// Makes rows for new lists, and gives renamed ones their names.
    pub fn take(loaded: &mut Loaded, blocklist: &mut Blocklist) -> Result<Self, DaemonError> {
        let come_and_gone = [loaded.new_lists(), loaded.gone_lists(blocklist.lists())];
        let continued: HashSet<ListId> = loaded.lists.iter().filter_map(|list| list.before).collect();
        let rows = blocklist.lists().iter();
        let gone: Vec<ListId> = rows
            .filter(|(id, list)| list.origin == Origin::File && !continued.contains(id))
            .map(|(id, _)| id)
            .collect();
        let now = clock::now();
        let config = match blocklist.lists().find(CONFIG_LIST) {
            Some(config) => config,
            None => blocklist.make_list(CONFIG_LIST, Origin::Config, Polarity::Block, now)?,
        };
        let (allow, mut made) = (blocklist.lists().find(CONFIG_ALLOW_LIST), Vec::new());
        // There is nothing to tell of it where nobody has allowed anything.
        let allow = match allow {
            None if loaded.allow.is_empty() => None,
            None => {
                let id = blocklist.make_list(CONFIG_ALLOW_LIST, Origin::Config, Polarity::Allow, now)?;
                made.push(id);
                Some(id)
            }
            allow => allow,
        };
        let lists = blocklist.lists_mut();
        let name_of = |id: &ListId| (*id, lists.get(*id).name.clone());
        let names_before: Vec<_> = continued.iter().chain(&gone).map(name_of).collect();
        let renamed =
            loaded.lists.iter().filter_map(|list| Some((list.before?, list.name.clone()))).collect();
        // What is gone must not stand in the way of a new list of its name.
        lists.rename_and_part(renamed, &gone);
        let mut contents = vec![(config, std::mem::take(&mut loaded.block))];
        contents.extend(allow.map(|allow| (allow, std::mem::take(&mut loaded.allow))));
        let reaching = ReachChanges::live(&loaded.config.live, blocklist.lists_mut());
        let (stays, turned, found, kept) = (HashMap::new(), HashMap::new(), Vec::new(), Vec::new());
        let (restores, renamed) = (loaded.restores, loaded.renamed());
        let mut this = Self {
            contents,
            gone,
            kept,
            reaching,
            stays,
            turned,
            restores,
            ends: [None, None],
            timed: ListTimes::default(),
            found,
            made,
            alike: Vec::new(),
            names_before,
            renamed,
            come_and_gone,
        };
        for list in loaded.lists.drain(..) {
            this.take_list(list, blocklist)?;
        }
        Ok(this)
    }

    fn take_list(&mut self, list: LoadedList, blocklist: &mut Blocklist) -> Result<(), DaemonError> {
        let keeps = list.keeps_entries_of();
        self.alike.extend(list.before.filter(|_| list.is_alike(blocklist.lists())));
        let LoadedList { name, path, ttl, meaning, how, limits, before, turned, times, was: _, mut found } =
            list;
        let Meaning { polarity, ports, reach } = meaning;
        let id = match before {
            Some(id) => {
                self.reaching.begin(id, reach, blocklist.lists_mut());
                id
            }
            None => {
                let id = blocklist.make_list(&name, Origin::File, polarity, clock::now())?;
                blocklist.lists_mut().set_reach(id, reach);
                self.made.push(id);
                if let Some(clause) = ports {
                    blocklist.restrict(id, clause)?;
                }
                id
            }
        };
        let known = blocklist.lists().get(turned.unwrap_or(id)).ttl();
        let is_new = known != ttl;
        self.stays.extend(ttl.map(|ttl| (id, ListLifetime { ttl, is_new })));
        times.into_iter().for_each(|times| self.timed.tells(id, name.clone(), times));
        self.turned.extend(turned.filter(|_| !is_new).map(|turned| (id, turned)));
        let targets = match &mut found {
            ListFinding::Accepted { targets, .. } => Some(std::mem::take(targets)),
            ListFinding::Doubted { targets, .. } => targets.take(),
            ListFinding::Unchanged | ListFinding::Awaited => None,
        };
        if let Some(turned) = keeps {
            self.kept.push((turned, self.contents.len()));
            self.contents.push((id, Targets::default()));
            let was = blocklist.lists().get(turned).reading.clone().unwrap_or_default();
            let reading = blocklist.lists_mut().reading_mut(id);
            (reading.rejected, reading.special, reading.accepted) = (was.rejected, was.special, was.accepted);
        }
        // What is held back keeps the time it had, until it is read again.
        let ttl = if targets.is_some() || keeps.is_some() { ttl } else { known };
        self.contents.extend(targets.map(|targets| (id, targets)));
        self.found.push(FoundList { id, path, how, limits, ttl, found });
        Ok(())
    }

    /// What is known of what is on this list from now on, if it is believed, or what its copy says.
    pub fn accepted(&self, id: ListId) -> Option<&AcceptedSource> {
        let found = self.found.iter().find(|found| found.id == id)?;
        match &found.found {
            ListFinding::Doubted { accepted, .. } => accepted.as_ref(),
            ListFinding::Accepted { accepted, .. } => Some(accepted),
            ListFinding::Unchanged | ListFinding::Awaited => None,
        }
    }

    /// How long what this list names stays on it, if that has an end.
    pub fn stay(&self, id: ListId) -> Option<ListLifetime> {
        self.stays.get(&id).copied()
    }

    /// The list of which the times go on on this one.
    pub fn turned(&self, id: ListId) -> Option<ListId> {
        self.turned.get(&id).copied()
    }

    /// Since when is on this list what comes onto it now?
    pub fn since(&self, id: ListId) -> Timestamp {
        let now = clock::now();
        self.copied(id).map_or(now, |copied| copied.at.min(now))
    }

    /// When does what comes onto this list now end, if it does?
    pub fn until(&self, id: ListId) -> Option<Timestamp> {
        let stay = self.stay(id)?;
        let of_copy = |copied: &AcceptedSource| copied.until(stay.ttl, clock::after(Duration::ZERO));
        Some(self.copied(id).map_or_else(|| clock::after(stay.ttl), of_copy))
    }

    /// What is put back ends when it was to end.
    pub fn end_as(&mut self, ends: Option<Arc<Expiries>>) {
        let copied = self.timed.take_ends(&self.contents);
        self.ends = [ends, Some(Arc::new(copied))];
    }

    /// Lists whose entries had an end before, as they were called. Until it is settled that is what stands in their rows.
    pub fn limited(&self, lists: &ListRegistry) -> Vec<(ListId, Arc<str>)> {
        let has_end = |(id, _): &&(ListId, Arc<str>)| lists.get(*id).ttl().is_some();
        self.names_before.iter().filter(has_end).cloned().collect()
    }

    /// When each entry that is put back onto this list was to end, if that is known.
    pub fn ends(&self, list: &str) -> Option<&Arc<Expiries>> {
        self.ends.iter().flatten().find(|ends| ends.know(list))
    }

    /// Is the time of what is put back onto this list over by now?
    pub fn is_over(&self, id: ListId) -> bool {
        self.restores && self.until(id).is_some_and(|until| until <= clock::now())
    }

    fn copied(&self, id: ListId) -> Option<&AcceptedSource> {
        self.accepted(id).filter(|_| self.restores)
    }

    /// Lists are called what they were called before, and those that were made are forgotten. Nothing is on them.
    pub fn give_back(mut self, blocklist: &mut Blocklist) {
        let lists = blocklist.lists_mut();
        self.reaching.give_back(lists);
        self.made.into_iter().for_each(|id| lists.forget(id));
        lists.rename(self.names_before);
    }

    /// Remembers how each file was found, forgets the lists that are gone, and tells what the operator should know, and
    /// which copies there should be. Entries have come onto `moved`, or gone from it.
    pub fn settle(
        mut self,
        moved: &BTreeSet<Arc<str>>,
        blocklist: &mut Blocklist,
        reloaded: &mut Reloaded,
    ) -> Vec<ListToKeep> {
        let is_moved = |id: &&ListId| moved.contains(&blocklist.lists().get(**id).name);
        reloaded.unchanged = (self.alike.len() - self.alike.iter().filter(is_moved).count()) as u64;
        reloaded.renamed = std::mem::take(&mut self.renamed);
        [reloaded.new, reloaded.gone] = std::mem::take(&mut self.come_and_gone);
        for (id, turned) in &self.turned {
            blocklist.lists_mut().take_spent(*id, *turned);
        }
        for id in &self.gone {
            blocklist.lists_mut().forget(*id);
        }
        let own =
            [CONFIG_LIST, CONFIG_ALLOW_LIST].into_iter().filter_map(|name| blocklist.lists().find(name));
        let places: Vec<_> = own.chain(self.found.iter().map(|found| found.id)).collect();
        blocklist.lists_mut().set_places(places);
        let nothing = Targets::default();
        for (id, named) in &self.contents {
            warnings::of_contents(blocklist.lists().get(*id), named, &mut reloaded.warnings);
            // Where everything counts anew, or for good, nothing is over.
            let goes_on = self.stays.get(id).is_some_and(|stay| !stay.is_new);
            let is_over = self.is_over(*id) || self.ends(&blocklist.lists().get(*id).name).is_some();
            blocklist.lists_mut().forget_spent(*id, if goes_on || is_over { named } else { &nothing });
            if is_over {
                let over = blocklist.new_on(*id, named);
                blocklist.lists_mut().spend_all(*id, &over);
            }
        }
        super::aside(self.contents);
        // It is told of only where the configuration allows something.
        if let Some(allow) = blocklist.lists().find(CONFIG_ALLOW_LIST) {
            blocklist.lists_mut().forget(allow);
        }
        let now = clock::now();
        let (found, mut timed) = (self.found.into_iter(), self.timed);
        let to_keep = found.filter_map(|found| {
            let times = timed.take_noted(found.id);
            Some(ListToKeep { times, ..note(blocklist, found, now, reloaded)? })
        });
        to_keep.collect()
    }
}

/// Notes how a file was found, and says which copy there should be of it.
fn note(
    blocklist: &mut Blocklist,
    found: FoundList,
    now: Timestamp,
    reloaded: &mut Reloaded,
) -> Option<ListToKeep> {
    let FoundList { id, path, how, limits, ttl, found } = found;
    let list = blocklist.lists().get(id);
    let (name, entries, meaning) = (list.name.clone(), list.entries, blocklist.meaning(list));
    let reading = blocklist.lists_mut().reading_mut(id);
    let before = reading.accepted.clone();
    (reading.path, reading.ttl) = (path, ttl);
    (reading.how, reading.limits) = (how.to_string(), limits.numbers());
    let mut draft = None;
    match found {
        ListFinding::Unchanged => {}
        // It is read when it was fetched, whatever it was before.
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
            // Nothing is there, and that is meant.
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
    let accepted = AcceptedSource { term, meaning: Some(meaning), ..renamed(&read, &name, &reading.path) };
    reading.accepted = Some(accepted.clone());
    let is_other = |one: &AcceptedSource, other: &AcceptedSource| {
        (&one.name, &one.path, one.term, one.meaning) != (&other.name, &other.path, other.term, other.meaning)
    };
    let has_other_peaks = before.as_ref().is_some_and(|before| before.peaks != accepted.peaks);
    let bytes = match draft {
        Some(draft) => Some(CopySource::Draft(draft)),
        None => (is_other(&read, &accepted) || has_other_peaks).then(|| CopySource::before(read.clone())),
    };
    Some(ListToKeep { id, accepted, before: before.or(Some(read)), bytes, times: None })
}

fn note_read(reading: &mut SourceReading, read: ReadReport) {
    let ReadReport { rejected, examples, special, format, .. } = read;
    (reading.rejected, reading.examples, reading.special, reading.format) =
        (rejected, examples, special, format);
}

/// The same for a list of this name with its file there. What another file was, and that it may be missing, says nothing of
/// it.
fn renamed(accepted: &AcceptedSource, name: &Arc<str>, path: &Path) -> AcceptedSource {
    let stamp = accepted.stamp.filter(|_| accepted.path == path);
    let is_missing = accepted.may_be_missing(path);
    AcceptedSource { name: name.clone(), path: path.into(), stamp, is_missing, ..accepted.clone() }
}

/// The next reload is to read it again, whatever it is then.
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
