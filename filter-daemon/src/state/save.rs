//! Saves a generation: writes its blobs, flushes several to disk at once, and then writes its manifest. One
//! after the other, a thousand blobs would take many times as long, because each would wait for the disk.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::thread;

use super::draft::Draft;
use super::files::CopyError;
use super::generation::{ConfigText, Generation, SavedConfig, TrialHead, without_stamp};
use super::store::{GenerationName, StateStore};
use super::times;
use crate::blocklist::EntryTimes;
use crate::clock;
use crate::source::digest::Digest;
use crate::source::reading::{AcceptedSource, SavedTimes};

/// The number of files that are flushed at the same time: they share the disk's work. More threads were not
/// faster.
const AT_ONCE: usize = 4;

/// The number of lists whose blobs are written in one pass. Each of them is an open file.
const TOGETHER: usize = 64;

/// Which generation is saved, besides its lists.
#[derive(Debug, Default)]
pub struct SaveTarget {
    /// Set if it is on trial. Else it is the current one.
    pub trial: Option<TrialHead>,
    /// The generation on trial becomes the current one first.
    pub confirms: bool,
    pub config: Option<Arc<ConfigText>>,
}

/// A list of the generation.
#[derive(Debug)]
pub struct ListToSave {
    pub accepted: AcceptedSource,
    /// Its bytes, if there may be no blob of them.
    pub draft: Option<Draft>,
    /// When each entry was added and ends, where that differs from what is saved.
    pub times: Option<EntryTimes>,
    /// The list as it was accepted before. Its record stays if this list cannot be saved.
    pub before: Option<AcceptedSource>,
}

/// The result of each part.
#[derive(Debug)]
pub struct SaveOutcome {
    /// None if no trial was to be confirmed.
    pub confirmed: Option<Result<(), String>>,
    /// None if there is no configuration.
    pub config: Option<Result<(), CopyError>>,
    /// Where the times of each list are.
    pub lists: Vec<Result<Option<SavedTimes>, CopyError>>,
}

/// A list whose blobs were written, or were not.
struct WrittenList {
    accepted: AcceptedSource,
    before: Option<AcceptedSource>,
    /// It has new blobs, whose names may not be on disk yet.
    is_new: bool,
    outcome: Result<Option<SavedTimes>, CopyError>,
}

/// The new blobs of one list, which lack their names.
struct NewBlobs {
    drafts: Vec<Draft>,
    times: Option<SavedTimes>,
}

impl ListToSave {
    /// A list whose bytes and times are saved already.
    #[must_use]
    pub fn again(accepted: &AcceptedSource) -> Self {
        let before = Some(accepted.clone());
        Self { accepted: accepted.clone(), draft: None, times: None, before }
    }
}

impl WrittenList {
    /// What the manifest is to say of it.
    fn record(&self) -> Option<AcceptedSource> {
        match &self.outcome {
            Ok(times) => Some(AcceptedSource { times: *times, ..self.accepted.clone() }),
            Err(_) => self.before.clone(),
        }
    }
}

impl StateStore {
    /// Saves a generation with these lists. If the blobs of a list cannot be written, its earlier record stays.
    pub fn save(&self, target: SaveTarget, lists: Vec<ListToSave>) -> SaveOutcome {
        let SaveTarget { trial, confirms, config } = target;
        let to = if trial.is_some() { GenerationName::Trial } else { GenerationName::Current };
        let confirmed = confirms.then(|| self.confirm());
        let found = self.read(to).generation().unwrap_or_default();
        let mut lists = self.write_lists(lists);
        let saved = config.map(|text| self.save_config(&text, &found));
        let config = match &saved {
            None => None,
            Some(Ok(config)) => Some(config.clone()),
            Some(Err(_)) => found.config.clone(),
        };
        let mut config_outcome = saved.map(|saved| saved.map(|_| ()));
        let records: Vec<_> = lists.iter().map(WrittenList::record).collect();
        let known = records.iter().flatten().cloned().collect();
        let wanted = Generation { config, lists: known, trial, written: None };
        let is_saved = found.says_the_same_as(&wanted) && !found.is_outdated(&clock::moment());
        match if is_saved { Ok(()) } else { self.write(to, &wanted) } {
            Ok(()) => self.remove_unnamed(),
            Err(error) => {
                let is_found = |list: &AcceptedSource| {
                    found.record(list).is_some_and(|found| without_stamp(found) == without_stamp(list))
                };
                for (list, record) in lists.iter_mut().zip(&records) {
                    if list.outcome.is_ok() && !record.as_ref().is_some_and(is_found) {
                        list.outcome = Err(error.again());
                    }
                }
                if matches!(config_outcome, Some(Ok(()))) && wanted.config != found.config {
                    config_outcome = Some(Err(error));
                }
            }
        }
        let lists = lists.into_iter().map(|list| list.outcome).collect();
        SaveOutcome { confirmed, config: config_outcome, lists }
    }

    /// Saves the text of a configuration that is to be in a manifest.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn save_text(&self, config: &ConfigText) -> Result<SavedConfig, CopyError> {
        self.save_config(config, &Generation::default())
    }

    /// Saves a configuration with the lists of the current generation.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn save_config_alone(&self, config: &ConfigText) -> Result<(), CopyError> {
        let current = self.read(GenerationName::Current).generation().unwrap_or_default();
        let config = Some(self.save_text(config)?);
        self.write(GenerationName::Current, &Generation { config, trial: None, ..current })
    }

    /// Like [`save_text`](Self::save_text), for a manifest that replaces `found`.
    pub(super) fn save_config(
        &self,
        config: &ConfigText,
        found: &Generation,
    ) -> Result<SavedConfig, CopyError> {
        let digest = Digest::of(config.text.as_bytes());
        let is_it = |saved: &&SavedConfig| saved.of == config.of && saved.digest == digest;
        let saved = found.config.as_ref().filter(is_it).cloned();
        if !self.blobs.has(digest) {
            let mut draft = self.draft();
            // A failure is reported by the next step.
            _ = draft.write_all(config.text.as_bytes());
            self.name(draft, digest)?;
        }
        let at = || clock::on_the_wall(clock::now());
        Ok(saved.unwrap_or_else(|| SavedConfig { of: config.of.clone(), digest, at: at() }))
    }

    /// Writes the new blobs of these lists.
    fn write_lists(&self, lists: Vec<ListToSave>) -> Vec<WrittenList> {
        let mut all = Vec::new();
        let mut taken = self.blobs.taken();
        let mut lists = lists.into_iter();
        while lists.len() > 0 {
            let mut known = Vec::new();
            let written = lists.by_ref().take(TOGETHER).map(|list| {
                let ListToSave { accepted, draft, times, before } = list;
                let blobs = self.write_blobs(&accepted, draft, times.as_ref(), &mut taken);
                known.push((accepted, before));
                blobs
            });
            let on_disk = to_disk(written.collect());
            all.extend(known.into_iter().zip(on_disk).map(|((accepted, before), blobs)| {
                let is_new = blobs.as_ref().is_ok_and(|blobs| !blobs.drafts.is_empty());
                let outcome = blobs.and_then(|blobs| self.name_all(blobs));
                WrittenList { accepted, before, is_new, outcome }
            }));
        }
        if all.iter().any(|list| list.is_new)
            && let Err(error) = self.sync_names()
        {
            let new = all.iter_mut().filter(|list| list.is_new && list.outcome.is_ok());
            new.for_each(|list| list.outcome = Err(error.again()));
        }
        all
    }

    /// Writes the blobs of this list. `taken` is the total size of all files before.
    fn write_blobs(
        &self,
        accepted: &AcceptedSource,
        draft: Option<Draft>,
        times: Option<&EntryTimes>,
        taken: &mut u64,
    ) -> Result<NewBlobs, CopyError> {
        let mut drafts: Vec<_> = draft.into_iter().collect();
        let more = times.map_or(0, times::length);
        *taken += more;
        if *taken > self.blobs.most && (more > 0 || !drafts.is_empty()) {
            *taken -= more + drafts.iter().map(Draft::length).sum::<u64>();
            drafts.iter_mut().for_each(Draft::refuse);
            return Err(CopyError::Full { most: self.blobs.most });
        }
        let times = match times {
            None => accepted.times,
            Some(times) => {
                let mut draft = self.draft();
                // A failure is reported when the draft is flushed.
                _ = times::write(times, &mut draft);
                let (bytes, digest) = draft.summary();
                drafts.push(draft);
                Some(SavedTimes { digest, bytes, shift: 0 })
            }
        };
        Ok(NewBlobs { drafts, times })
    }

    fn name_all(&self, NewBlobs { drafts, times }: NewBlobs) -> Result<Option<SavedTimes>, CopyError> {
        for draft in drafts {
            let (_, digest) = draft.summary();
            draft.take_name(&self.blobs.path(digest))?;
        }
        Ok(times)
    }

    /// Makes this draft the blob of this digest. It is on disk when this returns.
    pub(super) fn name(&self, mut draft: Draft, digest: Digest) -> Result<(), CopyError> {
        draft.sync()?;
        draft.take_name(&self.blobs.path(digest))?;
        self.sync_names()
    }

    fn sync_names(&self) -> Result<(), CopyError> {
        let directory = &self.blobs.directory;
        self.blobs.disk.sync_directory(directory).map_err(|error| CopyError::system(directory, error))
    }

    /// Removes blobs that neither the current generation nor the one on trial needs.
    fn remove_unnamed(&self) {
        let Some(current) = self.read(GenerationName::Current).generation() else { return };
        let mut named = current.blobs();
        if self.has(GenerationName::Trial) {
            let Some(trial) = self.read(GenerationName::Trial).generation() else { return };
            named.extend(trial.blobs());
        }
        self.blobs.keep_only(&named);
    }
}

/// Flushes all of these to disk, several at a time.
fn to_disk(mut written: Vec<Result<NewBlobs, CopyError>>) -> Vec<Result<NewBlobs, CopyError>> {
    let left = Mutex::new(written.iter_mut());
    let next = || left.lock().ok()?.next();
    let sync = || {
        while let Some(one) = next() {
            let synced = match one {
                Ok(blobs) => blobs.drafts.iter_mut().try_for_each(Draft::sync),
                Err(_) => Ok(()),
            };
            if let Err(error) = synced {
                *one = Err(error);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..AT_ONCE {
            // If no other thread can be started, this thread does all the work.
            _ = thread::Builder::new().name("filterd-saving".to_owned()).spawn_scoped(scope, sync);
        }
        sync();
    });
    written
}
