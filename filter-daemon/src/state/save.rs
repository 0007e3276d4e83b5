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

/// A generation to save.
#[derive(Debug)]
pub struct SaveJob {
    pub to: GenerationName,
    /// The generation on trial becomes the current one first.
    pub confirms: bool,
    pub trial: Option<TrialHead>,
    pub config: Option<Arc<ConfigText>>,
    pub lists: Vec<ListToSave>,
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
    pub config: Result<(), CopyError>,
    /// Where the times of each list are.
    pub lists: Vec<Result<Option<SavedTimes>, CopyError>>,
}

/// The new blobs of one list, which lack their names.
struct NewBlobs {
    drafts: Vec<Draft>,
    times: Option<SavedTimes>,
}

impl StateStore {
    /// Saves this generation. If the blobs of a list cannot be written, its earlier record stays.
    #[must_use]
    pub fn save(&self, job: SaveJob) -> SaveOutcome {
        let SaveJob { to, confirms, trial, config, lists } = job;
        let confirmed = confirms.then(|| self.confirm());
        let found = self.read(to).generation().unwrap_or_default();
        let (mut outcomes, known) = self.write_lists(lists);
        let (config, mut config_outcome) = match config.map(|text| self.save_config(&text, &found)) {
            None => (None, Ok(())),
            Some(Ok(config)) => (Some(config), Ok(())),
            Some(Err(error)) => (found.config.clone(), Err(error)),
        };
        let records = known.into_iter().zip(&outcomes).map(|((accepted, before), outcome)| match outcome {
            Ok(times) => Some(AcceptedSource { times: *times, ..accepted }),
            Err(_) => before,
        });
        let records: Vec<_> = records.collect();
        let lists = records.iter().flatten().cloned().collect();
        let wanted = Generation { config, lists, trial, written: None };
        let is_saved = found.says_the_same_as(&wanted) && !found.is_outdated(&clock::moment());
        match if is_saved { Ok(()) } else { self.write(to, &wanted) } {
            Ok(()) => self.remove_unnamed(),
            Err(error) => {
                let is_found = |list: &AcceptedSource| {
                    found.record(list).is_some_and(|found| without_stamp(found) == without_stamp(list))
                };
                for (outcome, record) in outcomes.iter_mut().zip(&records) {
                    if outcome.is_ok() && !record.as_ref().is_some_and(is_found) {
                        *outcome = Err(error.again());
                    }
                }
                if config_outcome.is_ok() && wanted.config != found.config {
                    config_outcome = Err(error);
                }
            }
        }
        SaveOutcome { confirmed, config: config_outcome, lists: outcomes }
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
            draft.sync()?;
            draft.take_name(&self.blobs.path(digest))?;
            self.sync_names()?;
        }
        let at = || clock::on_the_wall(clock::now());
        Ok(saved.unwrap_or_else(|| SavedConfig { of: config.of.clone(), digest, at: at() }))
    }

    /// Writes the new blobs of these lists. Returns a result and the records for each.
    #[expect(clippy::type_complexity, reason = "two columns of one table, used in one place")]
    fn write_lists(
        &self,
        lists: Vec<ListToSave>,
    ) -> (Vec<Result<Option<SavedTimes>, CopyError>>, Vec<(AcceptedSource, Option<AcceptedSource>)>) {
        let (mut outcomes, mut known, mut are_new) = (Vec::new(), Vec::new(), Vec::new());
        let mut taken = self.blobs.taken();
        let mut lists = lists.into_iter();
        while lists.len() > 0 {
            let written = lists.by_ref().take(TOGETHER).map(|list| {
                let ListToSave { accepted, draft, times, before } = list;
                let blobs = self.write_blobs(&accepted, draft, times.as_ref(), &mut taken);
                known.push((accepted, before));
                blobs
            });
            for blobs in to_disk(written.collect()) {
                are_new.push(blobs.as_ref().is_ok_and(|blobs| !blobs.drafts.is_empty()));
                outcomes.push(blobs.and_then(|blobs| self.name_all(blobs)));
            }
        }
        if are_new.contains(&true)
            && let Err(error) = self.sync_names()
        {
            let new = outcomes.iter_mut().zip(are_new).filter(|(outcome, is_new)| outcome.is_ok() && *is_new);
            new.for_each(|(outcome, _)| *outcome = Err(error.again()));
        }
        (outcomes, known)
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

    pub(super) fn sync_names(&self) -> Result<(), CopyError> {
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
