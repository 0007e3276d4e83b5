//! Reads the configuration and its list files outside the owner, which then applies them as changes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::find::{self, ListFinding, find};
use super::matching::{self, KnownList, meaning_of};
use super::sources::ListSources;
use super::way_back::WayBack;
use crate::blocklist::{Blocklist, EntryTimes, ListRegistry, Meaning, Origin, Targets};
use crate::clock;
use crate::config::{Config, ListConfig};
use crate::control::wire::accept::Accept;
use crate::control::wire::reload::Renamed;
use crate::daemon::error::DaemonError;
use crate::plan::{Contents, Continued, Lifetime, Plan, PlannedList};
use crate::source::reading::{AcceptedSource, SourceReadings};
use crate::source::trouble::{Phrasing, still};
use crate::source::{Limits, ReadOptions};
use crate::state::ConfigText;

/// A configuration with everything it names.
#[derive(Debug)]
pub struct Loaded {
    pub config: Config,
    /// The entries of `block:`.
    pub block: Targets,
    /// The entries of `allow:`.
    pub allow: Targets,
    /// Its lists, in its order.
    pub lists: Vec<LoadedList>,
    /// Its text, if it has a file.
    pub text: Option<Arc<ConfigText>>,
    /// The checksum of its text.
    pub checksum: u32,
    /// It was in force before and is restored, with lists from their copies.
    pub restores: bool,
    /// It is restored, and its file has the same text.
    pub says_its_file: bool,
}

/// A list file as it was found.
#[derive(Debug)]
pub struct LoadedList {
    pub name: Arc<str>,
    /// The path of its file.
    pub path: PathBuf,
    /// How long its entries stay on it.
    pub ttl: Option<Duration>,
    /// The polarity, ports and reach of its entries.
    pub meaning: Meaning,
    /// The list in force that it continues.
    pub continues: Continued,
    /// How long the entries of that list stay on it.
    pub ttl_before: Option<Duration>,
    /// When its entries were added and expire, if its copy says so. Used at a start and for a rollback.
    pub times: Option<EntryTimes>,
    /// The options for reading it.
    pub how: ReadOptions,
    /// The limits for accepting it.
    pub limits: Limits,
    pub found: ListFinding,
}

impl LoadedList {
    fn of(list: &ListConfig, continues: Continued, found: ListFinding) -> Self {
        Self {
            name: list.name.as_str().into(),
            path: list.path.clone(),
            ttl: list.ttl,
            meaning: meaning_of(list),
            how: list.how.clone(),
            limits: list.limits,
            continues,
            ttl_before: None,
            times: None,
            found,
        }
    }
}

/// The lists whose files were read before, for the next reading.
pub fn known(blocklist: &Blocklist, sources: &SourceReadings) -> Vec<KnownList> {
    let files = blocklist.lists().iter().filter(|(_, list)| list.origin == Origin::File);
    let known = files.map(|(id, list)| KnownList {
        continues: Continued::Same(id),
        name: list.name.clone(),
        meaning: Some(blocklist.meaning(list)),
        // The entries that its file named, including expired ones.
        entries: list.entries + list.spent.len() as u64,
        reading: sources.of(id).cloned().unwrap_or_default(),
    });
    known.collect()
}

impl LoadedList {
    /// Records the list in force that has its name or its file. If nothing else is said of that, it is
    /// replaced.
    fn which_was(self, before: Option<&KnownList>) -> Self {
        let in_force = before.and_then(|before| Some((before.continues.same()?, before.reading.ttl)));
        let Some((id, ttl_before)) = in_force else { return self };
        let continues = match self.continues {
            Continued::New => Continued::Replaced(id),
            known @ (Continued::Same(_) | Continued::Turned(_) | Continued::Replaced(_)) => known,
        };
        Self { continues, ttl_before, ..self }
    }

    /// How long its entries stay on it.
    pub fn lifetime(&self) -> Lifetime {
        Lifetime::new(self.ttl, self.continues, self.ttl_before)
    }

    /// What it would be, with the targets that were read.
    fn planned(&mut self) -> PlannedList {
        let contents = match (&mut self.found, self.continues) {
            (ListFinding::Accepted { targets, .. }, _)
            | (ListFinding::Doubted { targets: Some(targets), .. }, _) => {
                Contents::Replaced(std::mem::take(targets))
            }
            // Its file is not accepted and there is no copy.
            (ListFinding::Doubted { targets: None, .. } | ListFinding::Awaited, Continued::Turned(_)) => {
                Contents::TakenOver
            }
            (ListFinding::Doubted { targets: None, .. } | ListFinding::Awaited, _)
            | (ListFinding::Unchanged, _) => Contents::Stay,
        };
        PlannedList {
            name: self.name.clone(),
            origin: Origin::File,
            meaning: self.meaning,
            continues: self.continues,
            lifetime: self.lifetime(),
            contents,
        }
    }

    /// Takes the times of the entries from the copy. With another `ttl`, or if block and allow were
    /// exchanged, all entries begin anew.
    fn timed(
        self,
        copy: Option<&KnownList>,
        times: impl FnOnce(&AcceptedSource) -> Option<EntryTimes>,
    ) -> Self {
        let is_same = |copy: &&KnownList| copy.meaning.is_none_or(|was| !was.is_reverse_of(&self.meaning));
        let copied = copy.filter(is_same).and_then(|copy| copy.reading.accepted.as_ref());
        let lasts = |accepted: &&AcceptedSource| {
            accepted.term.is_some_and(|term| Some(term.ttl) == self.ttl) && self.found.targets().is_some()
        };
        let times = copied.filter(lasts).and_then(times);
        Self { times, ..self }
    }

    /// Reads this list, which was `before`.
    fn read(
        list: &ListConfig,
        before: Option<&KnownList>,
        is_meant: bool,
        sources: &mut ListSources,
    ) -> Self {
        if let Some(was) = before.filter(|before| before.reversed_by(list).is_some()) {
            let mut found = find(list, Some(&was.unread()), is_meant, sources);
            // Block and allow were exchanged, so all entries begin now.
            if let ListFinding::Accepted { accepted, .. } = &mut found {
                (accepted.at, accepted.term) = (clock::now(), None);
            }
            let says_it = matches!(
                found,
                ListFinding::Accepted { .. } | ListFinding::Doubted { targets: Some(_), accepted: None, .. }
            );
            return if says_it {
                Self::of(list, Continued::New, found)
            } else {
                Self::as_before(list, was, found, sources.mood())
            };
        }
        let turned = before.filter(|before| before.is_turned_by(list)).map(KnownList::turned);
        let before = turned.as_ref().or(before);
        let found = find(list, before, is_meant, sources);
        // Of an empty list that blocked where this one allows, or the reverse, nothing goes on.
        let goes_on = |known: &&KnownList| {
            known.is_in_force() || known.meaning.is_none_or(|was| !was.is_reverse_of(&meaning_of(list)))
        };
        let continues = before.filter(goes_on).map_or(Continued::New, |known| known.continues);
        Self::of(list, continues, found)
    }

    /// Reads this list again for its copy, which the disk refused. Returns nothing if the file has changed or
    /// if there is still no space.
    fn read_for_copy(list: &ListConfig, before: &KnownList, sources: &mut ListSources) -> Option<Self> {
        let known = before.reading.accepted.as_ref()?;
        let is_other = before.reversed_by(list).is_some() || before.is_turned_by(list);
        if is_other || !sources.store.has_room(known.bytes) {
            return None;
        }
        let found = find(list, Some(&before.unread()), false, sources);
        let ListFinding::Accepted { targets, accepted, draft, read, remarks } = found else { return None };
        let is_same = |known: &AcceptedSource| {
            (known.bytes, known.digest, known.is_missing)
                == (accepted.bytes, accepted.digest, accepted.is_missing)
        };
        let accepted =
            AcceptedSource { stamp: accepted.stamp, ..Some(known).filter(|known| is_same(known))?.clone() };
        Some(Self::of(
            list,
            before.continues,
            ListFinding::Accepted { targets, accepted, draft, read, remarks },
        ))
    }

    /// Keeps this list as it was `before`. A block list does not become an allow list, nor the reverse, until
    /// a file is accepted.
    fn as_before(list: &ListConfig, before: &KnownList, found: ListFinding, mood: Phrasing) -> Self {
        let mut this = Self::of(list, before.continues, found);
        let Some(meaning) = before.reversed_by(list) else { return this };
        if let ListFinding::Doubted { told, .. } = &mut this.found {
            *told = still(told.clone(), meaning.allows(), mood);
        }
        Self { meaning, ttl: before.ttl(), ..this }
    }
}

impl Loaded {
    /// What it would change. The targets that were read go into the plan.
    pub fn plan(&mut self, in_force: &Blocklist) -> Plan {
        let inline = [&mut self.block, &mut self.allow].map(std::mem::take);
        Plan::new(in_force, &self.config, inline, self.lists.iter_mut().map(LoadedList::planned))
    }

    /// The names of lists that are not in force yet.
    pub fn new_lists(&self) -> Vec<String> {
        let new = self.lists.iter().filter(|list| list.continues == Continued::New);
        new.map(|list| list.name.to_string()).collect()
    }

    /// The lists in force that have files and are not continued.
    pub fn gone_lists(&self, lists: &ListRegistry) -> Vec<String> {
        let gone = Continued::gone(self.lists.iter().map(|list| list.continues), lists);
        gone.into_iter().map(|id| lists.get(id).name.to_string()).collect()
    }

    /// The lists that have another name in force.
    pub fn renamed(&self, lists: &ListRegistry) -> Vec<Renamed> {
        let renamed = self.lists.iter().filter_map(|list| {
            let was = list.continues.name_before(&list.name, lists)?;
            Some(Renamed { from: was.to_string(), to: list.name.to_string() })
        });
        let mut renamed: Vec<_> = renamed.collect();
        renamed.sort();
        renamed
    }

    /// Whether the restored lists match their files.
    pub fn say_their_files(&self) -> bool {
        self.lists.iter().all(|list| !matches!(list.found, ListFinding::Doubted { .. }))
    }

    /// Combines a configuration with its lists, without a copy of its text.
    fn of(config: Config, lists: Vec<LoadedList>) -> Self {
        let (block, allow) = (config.block.iter().copied().collect(), config.allow.iter().copied().collect());
        Self { block, allow, lists, config, text: None, checksum: 0, restores: false, says_its_file: false }
    }

    /// Reads every list file of this configuration that has changed.
    pub fn gather(
        config: Config,
        known: &[KnownList],
        accept: &Accept,
        sources: &mut ListSources,
    ) -> Result<Self, DaemonError> {
        sources.denied.clear();
        let before = matching::match_up(known, &config.lists);
        let lists = config.lists.iter().zip(before).map(|(list, before)| {
            let read = LoadedList::read(list, before, accept.has_list(list.name.as_str()), sources);
            // For a list in force, the times are known without its copy.
            let copy = before.filter(|before| !before.is_in_force());
            read.timed(copy, |accepted| sources.times(accepted)).which_was(before)
        });
        let lists = lists.collect();
        Ok(Self::of(config, lists))
    }

    /// Reads the `named` lists of this configuration, which is in force. Lists in `uncopied` get copies, and
    /// all others stay as they are.
    pub fn refresh(
        config: Config,
        known: &[KnownList],
        named: &BTreeSet<Arc<str>>,
        uncopied: &BTreeSet<Arc<str>>,
        sources: &mut ListSources,
    ) -> Self {
        let before = matching::match_up(known, &config.lists);
        let lists = config.lists.iter().zip(before).map(|(list, before)| {
            if named.contains(list.name.as_str()) {
                return LoadedList::read(list, before, false, sources).which_was(before);
            }
            let is_uncopied = uncopied.contains(list.name.as_str());
            let again = before
                .filter(|_| is_uncopied)
                .and_then(|before| LoadedList::read_for_copy(list, before, sources));
            if let Some(again) = again {
                return again.which_was(before);
            }
            let this = before.map_or_else(
                || LoadedList::of(list, Continued::New, ListFinding::Unchanged),
                |before| LoadedList::as_before(list, before, ListFinding::Unchanged, Phrasing::Is),
            );
            this.which_was(before)
        });
        let lists = lists.collect();
        Self::of(config, lists)
    }

    /// Restores the lists of this configuration from their copies, whatever their files contain. The copies
    /// are those held open, or those in the state directory.
    pub fn restore(
        config: Config,
        known: &[KnownList],
        way_back: Option<&WayBack>,
        sources: &mut ListSources,
    ) -> Self {
        let copies = match way_back {
            Some(way_back) => way_back.known(sources),
            None => sources.known(),
        };
        let before = matching::match_up(known, &config.lists);
        let lists = config.lists.iter().zip(before).map(|(list, before)| {
            let is_of =
                |copy: &&KnownList| *copy.name == *list.name.as_str() && copy.reading.path == list.path;
            let (file, copy) = (sources.file_of(list), copies.iter().find(is_of));
            // A trial begins only when all lists in force have copies. A start knows them, unless some are lost.
            let had_nothing = match way_back {
                Some(way_back) => way_back.has_nothing_of(list.name.as_str()),
                None => !sources.has_lost_one,
            };
            if had_nothing && copy.is_none() && list.feed.is_none() {
                // It gets a new row. The record of the reading on trial is dropped.
                return LoadedList::of(list, Continued::New, find::nothing_again(list)).which_was(before);
            }
            let found = find::restored(list, &file, copy, |accepted| {
                let held = way_back.and_then(|way_back| way_back.read(accepted, &list.how));
                held.unwrap_or_else(|| sources.store.read_list(accepted, &list.how))
            });
            let found = match &found {
                // At a start nothing is in force that could stay, so the file is used.
                ListFinding::Doubted { told, targets: None, .. } if way_back.is_none() => {
                    tracing::error!("{}: its current file is used", told.message);
                    find::find(list, None, false, sources)
                }
                ListFinding::Unchanged
                | ListFinding::Awaited
                | ListFinding::Accepted { .. }
                | ListFinding::Doubted { .. } => found,
            };
            // Its earlier meaning may have been kept until a file is accepted.
            let this = match copy.filter(|copy| copy.reversed_by(list).is_some()) {
                Some(was) => LoadedList::as_before(list, was, found, Phrasing::Is),
                None => LoadedList::of(list, Continued::New, found),
            };
            let this = this.timed(copy, |accepted| {
                let held = way_back.and_then(|way_back| way_back.times(accepted));
                sources.told(accepted, held.unwrap_or_else(|| sources.store.times(accepted)))
            });
            let is_same = |known: &&KnownList| {
                known.meaning.is_none_or(|meaning| !meaning.is_other_than(&this.meaning))
            };
            let continues = before.filter(is_same).map_or(Continued::New, |known| known.continues);
            LoadedList { continues, ..this }.which_was(before)
        });
        let lists = lists.collect();
        Self { restores: true, ..Self::of(config, lists) }
    }
}
