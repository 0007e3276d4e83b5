//! Saves the generation in force, or the one on trial. Generations are written outside the owner, one after the
//! other.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tracing::{error, info, warn};

use super::retry::{LONGEST, Retry};
use crate::blocklist::{Blocklist, ListId, ListInfo, Timestamp};
use crate::clock;
use crate::control::wire::reload::HeldBack;
use crate::control::wire::{About, Fault};
use crate::source::digest::Digest;
use crate::source::reading::{AcceptedSource, SourceReadings};
use crate::state::{CopyError, ListToSave, SaveOutcome, SaveTarget, StateStore};
use crate::state_directory::IF_REPLACED;
use crate::text::Explanation;

/// How long filterd waits for a generation to be saved when it ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// A list of the generation to save, and its number.
#[derive(Debug)]
pub struct ListToKeep {
    pub id: ListId,
    pub list: ListToSave,
}

/// The part of the owner's state that is about the sources of lists and their copies.
pub struct ListCopies {
    /// How each source was read last.
    pub sources: SourceReadings,
    store: StateStore,
    /// The write that runs.
    writing: Option<RunningSave>,
    /// The writes that wait for it.
    next: VecDeque<SavePurpose>,
    /// Lists that could not be saved, and since when. Their older copies stay.
    failed: HashMap<ListId, FailedCopy>,
    /// Set while the configuration in force is not saved.
    failed_config: Option<Fault>,
    /// When they are tried again.
    retry: Option<Retry>,
    /// Whether the confirmation of a trial was stored.
    confirmed: Option<Result<(), String>>,
}

/// What is written to disk next.
#[derive(Debug)]
enum SavePurpose {
    Save(SaveTarget, Vec<ListToKeep>),
    /// The generation in force, as far as its lists have copies.
    SaveAgain(SaveTarget),
    /// The manifests, where the clock was set since.
    Renew,
    /// The current manifest, with the files that these lists came from. They were written anew since, with the
    /// same contents.
    KnowFiles(Vec<AcceptedSource>),
}

struct RunningSave {
    /// None for a list whose earlier record stays.
    lists: Vec<Option<ListBeingSaved>>,
    task: JoinHandle<Option<SaveOutcome>>,
}

/// A list whose record is being saved.
struct ListBeingSaved {
    id: ListId,
    digest: Digest,
    older: Option<AcceptedSource>,
}

struct FailedCopy {
    since: Timestamp,
    told: Explanation,
    /// The last one that could be made.
    older: Option<AcceptedSource>,
    /// Free space on the disk does not help.
    is_too_large: bool,
}

impl ListCopies {
    pub fn of(state: &Path) -> Self {
        Self {
            sources: SourceReadings::default(),
            store: StateStore::of(state),
            writing: None,
            next: VecDeque::new(),
            failed: HashMap::new(),
            failed_config: None,
            retry: None,
            confirmed: None,
        }
    }

    /// Saves a generation with these lists and no others.
    pub fn save(&mut self, target: SaveTarget, lists: Vec<ListToKeep>) {
        self.save_soon(target, lists);
        self.write_next();
    }

    /// Like `save`, once the owner runs.
    pub fn save_soon(&mut self, target: SaveTarget, lists: Vec<ListToKeep>) {
        self.next.push_back(SavePurpose::Save(target, lists));
    }

    /// Saves the generation once more, as far as its lists have copies.
    pub fn save_again(&mut self, target: SaveTarget) {
        self.next.push_back(SavePurpose::SaveAgain(target));
        self.write_next();
    }

    /// The clock was set: manifests say anew when they were written.
    pub fn renew(&mut self) {
        self.next.push_back(SavePurpose::Renew);
        self.write_next();
    }

    /// Records which files these lists came from.
    pub fn know_files(&mut self, lists: Vec<AcceptedSource>) {
        if !lists.is_empty() {
            self.next.push_back(SavePurpose::KnowFiles(lists));
            self.write_next();
        }
    }

    /// Waits until a generation is saved. Never returns if none is being saved.
    pub async fn written(&mut self) -> Option<SaveOutcome> {
        match &mut self.writing {
            Some(writing) => match (&mut writing.task).await {
                Ok(outcome) => outcome,
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            },
            None => std::future::pending().await,
        }
    }

    /// Records the results. What failed is retried at growing intervals and by the next reload, which reads
    /// its lists again. Returns true if nothing more is to be written.
    pub fn note(&mut self, outcome: Option<SaveOutcome>, blocklist: &Blocklist) -> bool {
        let saved = self.writing.take().zip(outcome);
        saved.into_iter().for_each(|(writing, outcome)| self.note_saved(writing, outcome, blocklist));
        self.write_next();
        self.writing.is_none()
    }

    /// Whether the confirmation of a trial was stored, once that was tried.
    pub fn take_confirmed(&mut self) -> Option<Result<(), String>> {
        self.confirmed.take()
    }

    fn note_saved(&mut self, writing: RunningSave, outcome: SaveOutcome, blocklist: &Blocklist) {
        let had_failed = !self.failed.is_empty();
        for (list, outcome) in writing.lists.into_iter().zip(outcome.lists) {
            let Some(ListBeingSaved { id, digest, older }) = list else { continue };
            let lists = blocklist.lists();
            match outcome {
                Ok(times) => {
                    self.failed.remove(&id);
                    // It may have been read again since.
                    let accepted = self.sources.accepted_mut(id).filter(|now| now.digest == digest);
                    accepted.into_iter().for_each(|accepted| accepted.times = times);
                }
                // The list was renamed meanwhile, or is gone. The writes that wait cover it.
                Err(_) if !lists.has(id) => {}
                Err(error) => {
                    let name = lists.get(id).name.clone();
                    let reading = self.sources.of_mut(id);
                    reading.stamp = None;
                    if let Some(accepted) = &mut reading.accepted {
                        accepted.stamp = None;
                    }
                    self.fail(id, &name, &error, older);
                }
            }
        }
        if had_failed && self.failed.is_empty() {
            info!("the copies of all lists are on disk again");
        }
        if let Some(saved) = outcome.config {
            self.note_config(saved);
        }
        let is_in_vain =
            self.failed_config.is_none() && self.failed.values().all(|failed| failed.is_too_large);
        self.retry = (!is_in_vain).then(|| self.retry.unwrap_or_else(Retry::soon));
        self.confirmed = outcome.confirmed.or(self.confirmed.take());
    }

    fn note_config(&mut self, saved: Result<(), CopyError>) {
        let before = self.failed_config.take();
        let Err(error) = saved else {
            before.iter().for_each(|_| info!("the copy of the configuration is on disk"));
            return;
        };
        let message = format!("there is no copy of the configuration in force: {error}");
        if before.is_none() {
            error!("{message}");
        }
        let remedy = format!(
            "without it filterd cannot start with an invalid configuration; make the state directory writable and check its free space: filterd retries within {} minutes, and `filterd reload` retries now; {IF_REPLACED}",
            LONGEST.as_secs() / 60
        );
        let since = before.map_or_else(|| clock::on_the_wall(clock::now()), |before| before.since);
        let told = Explanation::new(message, remedy);
        self.failed_config = Some(Fault { about: About::Configuration, since, told, id: None });
    }

    /// The message shown while the configuration in force is not saved.
    pub fn without_config(&self) -> Option<Explanation> {
        Some(self.failed_config.as_ref()?.told.clone())
    }

    /// The same, as a fault.
    pub fn config_fault(&self) -> Option<&Fault> {
        self.failed_config.as_ref()
    }

    /// How long until failed copies are tried again.
    pub fn until_due(&self) -> Option<Duration> {
        self.retry.filter(|_| self.writing.is_none()).map(|retry| retry.until_due())
    }

    /// The lists to read again for their copies, if what failed is due now.
    pub fn take_due(&mut self, blocklist: &Blocklist) -> Option<Vec<Arc<str>>> {
        if self.until_due().is_none_or(|left| !left.is_zero()) {
            return None;
        }
        self.retry = self.retry.map(Retry::later);
        let lists = blocklist.lists();
        let failed = self.failed.iter().filter(|(id, failed)| lists.has(**id) && !failed.is_too_large);
        Some(failed.map(|(id, _)| lists.get(*id).name.clone()).collect())
    }

    fn fail(&mut self, id: ListId, name: &str, error: &CopyError, older: Option<AcceptedSource>) {
        let message = format!("there is no copy of list \"{name}\": {error}");
        let remedy = match error {
            CopyError::Full { .. } => {
                "its file is its only source: keep it safe, or make the lists shorter".to_owned()
            }
            CopyError::Damaged | CopyError::Gone | CopyError::System { .. } => {
                format!(
                    "make the state directory writable and check its free space: filterd retries within {} minutes; if the list's file has changed meanwhile, `filterd reload` reads it; {IF_REPLACED}",
                    LONGEST.as_secs() / 60
                )
            }
        };
        let told = Explanation::new(message, remedy);
        if !self.failed.contains_key(&id) {
            error!("{told}");
        }
        let failed = self.failed.entry(id).or_insert_with(|| FailedCopy {
            since: clock::now(),
            told: told.clone(),
            older: None,
            is_too_large: false,
        });
        failed.told = told;
        failed.is_too_large = matches!(error, CopyError::Full { .. });
        failed.older = failed.older.take().or(older);
    }

    /// Whether anything is being written.
    pub fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    pub fn has_copy(&self, accepted: &AcceptedSource) -> bool {
        self.store.has_copy(accepted)
    }

    /// Waits until everything is written, at most `PATIENCE`, because a disk may hang.
    pub async fn end(&mut self, blocklist: &Blocklist) {
        let all = async {
            while self.writing.is_some() {
                let outcome = self.written().await;
                self.note(outcome, blocklist);
            }
        };
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            error!("the copies of lists are still not on disk and are given up");
        }
    }

    /// The messages for lists that have no copy of their present contents.
    pub fn without_copies(&self) -> impl Iterator<Item = Explanation> {
        self.failed.values().map(|failed| failed.told.clone())
    }

    /// Lists in force whose copies are gone and whose files are not read again. The next start has nothing of
    /// them.
    pub fn gone(&self, blocklist: &Blocklist) -> Vec<Explanation> {
        let is_gone = |id: &ListId| {
            let accepted = self.sources.accepted(*id);
            !self.failed.contains_key(id) && accepted.is_some_and(|accepted| !self.has_copy(accepted))
        };
        let gone = blocklist.lists().iter().filter(|(id, _)| is_gone(id));
        gone.map(|(_, list)| explain_missing_copy(list)).collect()
    }

    /// Lists that differ from their files.
    pub fn held_back(&self, blocklist: &Blocklist) -> impl Iterator<Item = HeldBack> {
        blocklist.lists().iter().filter_map(|(id, list)| {
            let trouble = self.sources.trouble(id)?;
            let mut message = trouble.message.clone();
            if list.entries == 0 && !list.spent.is_empty() {
                message.push_str("\nall of it has expired since");
            }
            Some(HeldBack {
                list: list.called().to_string(),
                since: clock::on_the_wall(trouble.since),
                told: Explanation::new(message, trouble.remedy.clone()),
            })
        })
    }

    /// Whether the list of this name differs from its file.
    pub fn is_held_back(&self, list: &str, blocklist: &Blocklist) -> bool {
        blocklist.lists().find(list).is_some_and(|id| self.sources.trouble(id).is_some())
    }

    /// Lists that differ from their files, and copies that could not be made.
    pub fn faults(&self, blocklist: &Blocklist) -> Vec<Fault> {
        let held_back = self.held_back(blocklist).map(|HeldBack { since, told, .. }| Fault {
            about: About::Lists,
            since,
            told,
            id: None,
        });
        let failed = self.failed.values().map(|failed| Fault {
            about: About::Durability,
            since: clock::on_the_wall(failed.since),
            told: failed.told.clone(),
            id: None,
        });
        held_back.chain(failed).collect()
    }

    /// Starts the next write, unless one runs.
    pub fn write_next(&mut self) {
        if self.writing.is_some() {
            return;
        }
        match self.next.pop_front() {
            None => {}
            Some(SavePurpose::Save(target, lists)) => self.begin_save(target, lists),
            Some(SavePurpose::SaveAgain(target)) => {
                let again = |(id, accepted)| ListToKeep { id, list: ListToSave::again(accepted) };
                let lists = self.sources.all_accepted().map(again).collect();
                self.begin_save(target, lists);
            }
            Some(SavePurpose::KnowFiles(lists)) => self.begin(Vec::new(), move |store| {
                if let Err(error) = store.know_files(&lists) {
                    warn!(
                        "cannot store which files the copies of lists belong to: {error}; a start that restores them reports that the \
                         files may be others"
                    );
                }
                None
            }),
            Some(SavePurpose::Renew) => self.begin(Vec::new(), |store| {
                if let Err(error) = store.renew() {
                    error!(
                        "cannot store that the clock was set: {error}; after a reboot the `ttl` of lists may end too early or too late"
                    );
                }
                None
            }),
        }
    }

    fn begin_save(&mut self, target: SaveTarget, lists: Vec<ListToKeep>) {
        // A list whose copy could not be written has no stamp. If it equals an older copy, it has one again. The
        // bytes may be on disk nevertheless. If its entries expire, their times may not be.
        let is_without = |list: &ListToSave| {
            let has_times = list.accepted.term.is_none() || list.accepted.stamp.is_some();
            !has_times || !self.store.has_copy(&list.accepted)
        };
        let is_kept = |id: &ListId| lists.iter().any(|list| list.id == *id);
        self.failed.retain(|id, _| is_kept(id));
        let (mut wanted, mut ids) = (Vec::new(), Vec::new());
        for ListToKeep { id, mut list } in lists {
            let is_new = list.draft.is_some() || list.times.is_some();
            let failed = self.failed.get(&id).filter(|_| !is_new && is_without(&list));
            // An earlier save may have written its times since.
            let now = self.sources.accepted(id).filter(|now| is_of_the_same_entries(now, &list.accepted));
            list.accepted.times = now.map_or(list.accepted.times, |now| now.times);
            match failed {
                None => {
                    let (digest, older) = (list.accepted.digest, list.before.clone());
                    ids.push(Some(ListBeingSaved { id, digest, older }));
                }
                Some(FailedCopy { older: Some(older), .. }) => {
                    ids.push(None);
                    list.accepted = older.clone();
                }
                Some(FailedCopy { older: None, .. }) => continue,
            }
            wanted.push(list);
        }
        self.begin(ids, move |store| Some(store.save(target, wanted)));
    }

    fn begin(
        &mut self,
        lists: Vec<Option<ListBeingSaved>>,
        work: impl FnOnce(&StateStore) -> Option<SaveOutcome> + Send + 'static,
    ) {
        let store = self.store.clone();
        let task = tokio::task::spawn_blocking(move || work(&store));
        self.writing = Some(RunningSave { lists, task });
    }
}

/// Whether both records are of the same bytes, whose entries stay equally long.
fn is_of_the_same_entries(one: &AcceptedSource, other: &AcceptedSource) -> bool {
    let ttl = |list: &AcceptedSource| list.term.map(|term| term.ttl);
    one.digest == other.digest && ttl(one) == ttl(other)
}

/// The message for a list that has no copy of its contents in force.
pub fn explain_missing_copy(list: &ListInfo) -> Explanation {
    Explanation::new(
        format!("there is no copy of list \"{}\"", list.called()),
        "restore its file\nto make a copy: filterd reload",
    )
}
