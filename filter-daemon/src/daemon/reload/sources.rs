//! The sources of the configuration and its lists.

use std::path::{Path, PathBuf};

use super::look::FileCheck;
use super::matching::KnownList;
use crate::blocklist::EntryTimes;
use crate::config::{self, ConfigError, Feed, ListConfig};
use crate::daemon::error::DaemonError;
use crate::plan::Continued;
use crate::source::feeds::{FeedKey, FeedStore};
use crate::source::file::FileError;
use crate::source::patience::TimedReader;
use crate::source::reading::{AcceptedSource, SourceReading};
use crate::source::trouble::{HoldBackReason, ListFallback, Phrasing, explain, foretell};
use crate::state::{CarriedOver, CopyError, Draft, FoundGeneration, GenerationName, StateStore};
use crate::text::{Explanation, printable};

/// The sources of lists, and the findings of earlier readings. One reading at a time has it.
pub struct ListSources {
    /// The generations that are saved.
    pub store: StateStore,
    /// The files that were fetched.
    feeds: FeedStore,
    /// The head of a copy is damaged, so its list is unknown.
    pub has_lost_one: bool,
    /// The reader of list files, which knows those that hang.
    pub lists: TimedReader<Result<FileCheck, FileError>>,
    /// The lists without a copy in force that filterd's user may not read, as of the last reading.
    pub(super) denied: Vec<PathBuf>,
    /// Whether copies may be written. A comparison writes none.
    pub writes: bool,
    /// The reader of the configuration.
    config: TimedReader<Result<Vec<u8>, ConfigError>>,
}

impl ListSources {
    /// Sources with the copies and fetched files of this state directory.
    pub fn of(state: &Path) -> Self {
        Self {
            store: StateStore::of(state),
            feeds: FeedStore::of(state),
            has_lost_one: false,
            lists: TimedReader::default(),
            denied: Vec::new(),
            writes: true,
            config: TimedReader::default(),
        }
    }

    /// The wording for messages: what is in force, or what would be.
    pub fn mood(&self) -> Phrasing {
        if self.writes { Phrasing::Is } else { Phrasing::Would }
    }

    /// Explains what is wrong with this list, and what is or would be in force instead.
    pub fn explain(&self, list: &ListConfig, why: &HoldBackReason<'_>, instead: ListFallback) -> Explanation {
        let (name, path) = (list.name.as_str(), &list.path);
        match self.mood() {
            Phrasing::Is => explain(name, path, why, instead, Phrasing::Is),
            Phrasing::Would => foretell(name, path, why, instead),
        }
    }

    /// The path of this list's file.
    pub fn file_of(&self, list: &ListConfig) -> PathBuf {
        let of_feed = |feed: &Feed| self.feeds.file(FeedKey::of(&feed.key()));
        list.feed.as_ref().map_or_else(|| list.path.clone(), of_feed)
    }

    /// The content type that the server of this feed sent.
    pub(super) fn content_type_of(&self, feed: &Feed) -> Option<String> {
        self.feeds.known(FeedKey::of(&feed.key()), &feed.url.to_string()).content_type
    }

    /// The lists without a copy in force that filterd's user may not read, as of the last reading.
    pub fn denied(&self) -> &[PathBuf] {
        &self.denied
    }

    /// The lists of the current generation, after an old state directory was carried over.
    pub fn carried_over(&mut self) -> Result<Vec<KnownList>, DaemonError> {
        if let FoundGeneration::Newer = self.store.read(GenerationName::Current) {
            return Err(DaemonError::NewerState { path: self.store.path_of(GenerationName::Current) });
        }
        let carried = if self.writes { self.store.carry_over() } else { Ok(CarriedOver::default()) };
        let carried = carried.unwrap_or_else(|error| {
            tracing::error!("the state directory of an earlier filterd cannot be carried over: {error}");
            CarriedOver::default()
        });
        for path in &carried.damaged {
            tracing::error!(
                "{}: this copy of a list is damaged where it names its list, and is ignored",
                printable::path(path)
            );
        }
        let known = self.known();
        self.has_lost_one |= !carried.damaged.is_empty();
        Ok(known)
    }

    /// The lists of the current generation.
    pub fn known(&mut self) -> Vec<KnownList> {
        self.has_lost_one = false;
        self.known_by(GenerationName::Current)
    }

    /// The lists on trial, for a start that continues the trial.
    pub fn on_trial(&mut self) -> Vec<KnownList> {
        self.known_by(GenerationName::Trial)
    }

    /// When the entries of this list were added and expire, as its copy says at a start.
    pub fn times(&self, accepted: &AcceptedSource) -> Option<EntryTimes> {
        self.told(accepted, self.store.times(accepted))
    }

    /// Evaluates what the copy said about these times. Without it, only the time is known at which the file
    /// was first read.
    pub fn told(
        &self,
        accepted: &AcceptedSource,
        found: Result<Option<EntryTimes>, CopyError>,
    ) -> Option<EntryTimes> {
        found.unwrap_or_else(|error| {
            let (name, path) = (&accepted.name, self.store.path(accepted));
            tracing::warn!(
                "list \"{name}\": its copy does not say when its entries were added, so its `ttl` counts from when its file was first read: {error}: {}",
                printable::path(&path)
            );
            None
        })
    }

    /// Marks the lists whose copies are gone, so that they are read again.
    pub fn missed(&self, known: Vec<KnownList>) -> Vec<KnownList> {
        let is_gone = |known: &KnownList| {
            known.reading.accepted.as_ref().is_some_and(|accepted| !self.store.has_copy(accepted))
        };
        known.into_iter().map(|known| if is_gone(&known) { known.uncopied() } else { known }).collect()
    }

    fn known_by(&mut self, name: GenerationName) -> Vec<KnownList> {
        let path = self.store.path_of(name);
        let ignored = |what: &str| {
            tracing::error!("{}: {what}, which is ignored: copies of lists are lost", printable::path(&path));
        };
        let lists = match self.store.read(name) {
            FoundGeneration::Read { generation, is_cut } => {
                if is_cut {
                    ignored("a part of it is damaged");
                }
                self.has_lost_one |= is_cut;
                generation.lists
            }
            FoundGeneration::Missing => Vec::new(),
            FoundGeneration::Damaged(why) => {
                ignored(&why);
                self.has_lost_one = true;
                Vec::new()
            }
            FoundGeneration::Newer => Vec::new(),
        };
        let known = lists.into_iter().map(|accepted| KnownList {
            meaning: accepted.meaning,
            continues: Continued::New,
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

    /// A file for the bytes that are being read, unless nothing is to be written.
    pub(super) fn draft(&self) -> Draft {
        if self.writes { self.store.draft() } else { Draft::gone() }
    }

    /// Reads the text of a configuration.
    pub fn read_config(&mut self, path: &Path) -> Result<Vec<u8>, ConfigError> {
        let owned = path.to_owned();
        self.config.read(path, move |_| config::read(&owned))?
    }
}
