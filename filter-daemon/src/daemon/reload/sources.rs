//! Where the configuration and its lists are read from.

use std::path::{Path, PathBuf};

use super::look::FileCheck;
use super::matching::KnownList;
use super::parted::PartedLists;
use crate::blocklist::{AcceptedSource, EntryTimes, SourceReading};
use crate::config::{self, ConfigError, Feed, ListConfig};
use crate::source::copies::CopyError;
use crate::source::feeds::{FeedKey, FeedStore};
use crate::source::file::FileError;
use crate::source::patience::TimedReader;
use crate::source::trouble::{HoldBackReason, ListFallback, Phrasing, explain, foretell};
use crate::source::{Copies, Draft, copies};
use crate::text::{Explanation, printable};

/// Where lists are read from, and what was learned while doing so. One reading after another has it.
pub struct ListSources {
    /// What was good before.
    pub copies: Copies,
    /// What was fetched.
    feeds: FeedStore,
    /// One of them is damaged where it says what it is of.
    pub has_lost_one: bool,
    /// Who reads list files, and which of them hang.
    pub lists: TimedReader<Result<FileCheck, FileError>>,
    /// The lists that our user may not read and of which no copy is in force, when they were last looked at.
    pub(super) denied: Vec<PathBuf>,
    /// May copies be written? Not where all that is wanted is a look.
    pub writes: bool,
    /// Who reads the configuration.
    config: TimedReader<Result<Vec<u8>, ConfigError>>,
}

impl ListSources {
    /// The copies of this state directory, and files as they are.
    pub fn of(state: &Path) -> Self {
        Self {
            copies: Copies::of(state),
            feeds: FeedStore::of(state),
            has_lost_one: false,
            lists: TimedReader::default(),
            denied: Vec::new(),
            writes: true,
            config: TimedReader::default(),
        }
    }

    /// Is what is read about to be in force, or is somebody only told of it?
    pub fn mood(&self) -> Phrasing {
        if self.writes { Phrasing::Is } else { Phrasing::Would }
    }

    /// What is wrong with this list, and what is in force instead, or would be.
    pub fn explain(&self, list: &ListConfig, why: &HoldBackReason<'_>, instead: ListFallback) -> Explanation {
        let (name, path) = (list.name.as_str(), &list.path);
        match self.mood() {
            Phrasing::Is => explain(name, path, why, instead, Phrasing::Is),
            Phrasing::Would => foretell(name, path, why, instead),
        }
    }

    /// Where the file of this list is.
    pub fn file_of(&self, list: &ListConfig) -> PathBuf {
        let of_feed = |feed: &Feed| self.feeds.file(FeedKey::of(&feed.key()));
        list.feed.as_ref().map_or_else(|| list.path.clone(), of_feed)
    }

    /// What the server of this feed called the kind of what it sent.
    pub(super) fn content_type_of(&self, feed: &Feed) -> Option<String> {
        self.feeds.known(FeedKey::of(&feed.key()), &feed.url.to_string()).content_type
    }

    /// The lists that our user may not read, and of which there is no copy, when they were last looked at.
    pub fn denied(&self) -> &[PathBuf] {
        &self.denied
    }

    /// The lists of which there is a copy.
    pub fn known(&mut self) -> Vec<KnownList> {
        self.has_lost_one = false;
        self.known_by(self.copies.find())
    }

    /// The same for a start that goes on with a trial: what is known of a list on trial is what is known of it.
    /// What lists of before are not part of it, `parted` tells.
    pub fn on_trial(&mut self, before: &[KnownList], parted: &PartedLists) -> Vec<KnownList> {
        let mut known = self.known_by(self.copies.find_tried());
        let others = before.iter().filter_map(|before| parted.on_trial(before.clone()));
        let others: Vec<_> = others.filter(|other| known.iter().all(|one| one.name != other.name)).collect();
        known.extend(others);
        known
    }

    /// When the entries of this came, and end, as its copy says at a start.
    pub fn times(&self, accepted: &AcceptedSource) -> Option<EntryTimes> {
        self.told(accepted, self.copies.times_on_trial(accepted))
    }

    /// What the copy of this was found to say of that. Where it says nothing, nobody knows more than since when its file is as
    /// it is.
    pub fn told(
        &self,
        accepted: &AcceptedSource,
        found: Result<Option<EntryTimes>, CopyError>,
    ) -> Option<EntryTimes> {
        found.unwrap_or_else(|error| {
            let (name, path) = (&accepted.name, self.copies.path(accepted));
            tracing::warn!(
                "list \"{name}\": its copy does not say when its entries were added, so its `ttl` counts from when its file was first read: {error}: {}",
                printable::path(&path)
            );
            None
        })
    }

    /// The same, to be read again where their copies are gone.
    pub fn missed(&self, known: Vec<KnownList>) -> Vec<KnownList> {
        let is_gone = |known: &KnownList| {
            known.reading.accepted.as_ref().is_some_and(|accepted| !self.copies.has(accepted))
        };
        known.into_iter().map(|known| if is_gone(&known) { known.uncopied() } else { known }).collect()
    }

    fn known_by(&mut self, found: copies::FoundCopies) -> Vec<KnownList> {
        let copies::FoundCopies { copies, damaged, .. } = found;
        self.has_lost_one |= !damaged.is_empty();
        for path in damaged {
            tracing::error!(
                "{}: this copy of a list is damaged where it names its list, and is ignored",
                printable::path(&path)
            );
        }
        let known = copies.into_iter().map(|accepted| KnownList {
            meaning: accepted.meaning,
            id: None,
            turned: None,
            name: accepted.name.clone(),
            entries: accepted.entries,
            reading: SourceReading {
                path: accepted.path.clone(),
                accepted: Some(accepted),
                ..SourceReading::default()
            },
        });
        known.collect()
    }

    /// A file to write down what is being read, unless nothing is to be written.
    pub(super) fn draft(&self) -> Draft {
        if self.writes { self.copies.draft() } else { Draft::gone() }
    }

    /// The text of a configuration.
    pub fn read_config(&mut self, path: &Path) -> Result<Vec<u8>, ConfigError> {
        let owned = path.to_owned();
        self.config.read(path, move |_| config::read(&owned))?
    }
}
