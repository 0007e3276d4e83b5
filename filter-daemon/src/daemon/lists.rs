//! The last good copies of lists that have files. They are written outside the owner, one reload after the
//! other.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tracing::{error, info, warn};

use super::retry::{LONGEST, Retry};
use crate::blocklist::{Blocklist, EntryTimes, ListId, ListInfo, Timestamp};
use crate::clock;
use crate::control::wire::reload::HeldBack;
use crate::control::wire::{About, Fault};
use crate::source::Copies;
use crate::source::copies::{self, CopyError, CopySource};
use crate::source::reading::{AcceptedSource, SourceReadings};
use crate::state_directory::IF_REPLACED;
use crate::text::Explanation;

/// How long filterd waits for copies when it ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// A list, and the copy to keep of it.
#[derive(Debug)]
pub struct ListToKeep {
    pub id: ListId,
    /// The record of the accepted list.
    pub accepted: AcceptedSource,
    /// Its record before. The copy of that stays until there is a new one.
    pub before: Option<AcceptedSource>,
    /// The source of the copy, if there is none yet.
    pub bytes: Option<CopySource>,
    /// When each entry was added and when it expires, where that differs from the previous copy.
    pub times: Option<EntryTimes>,
}

impl ListToKeep {
    /// Whether the copy is written as a whole. Changed times alone are appended to an existing copy.
    fn is_made_anew(&self, copies: &Copies) -> bool {
        self.bytes.is_some() || self.times.is_some() && copies.has(&self.accepted)
    }
}

/// The result of each copy.
pub type Outcomes = Vec<Result<(), CopyError>>;

/// Makes the first copies, and keeps the second, which exist already.
type Make = fn(&Copies, Vec<copies::CopyToKeep>, Vec<AcceptedSource>) -> Outcomes;

/// The part of the owner's state that is about the sources of lists and their copies.
pub struct ListCopies {
    /// How each source was read last.
    pub sources: SourceReadings,
    copies: Copies,
    /// The write that runs.
    writing: Option<RunningWrite>,
    /// The writes that wait for it.
    next: VecDeque<CopyPurpose>,
    /// Copies that could not be made, and since when. The older ones stay.
    failed: HashMap<ListId, FailedCopy>,
    /// When they are tried again.
    retry: Option<Retry>,
}

/// Why copies are written.
#[derive(Debug)]
enum CopyPurpose {
    /// They become the last good ones.
    Keep(Vec<ListToKeep>),
    /// They are of lists on trial. The last good ones stay.
    TryOut(Vec<ListToKeep>),
    /// The existing copies record anew when they were written, where that matters.
    Renew,
    /// These copies record which file they belong to. It was written anew since, with the same contents.
    KnowFiles(Vec<AcceptedSource>),
}

struct RunningWrite {
    lists: Vec<(ListId, Option<AcceptedSource>)>,
    task: JoinHandle<Outcomes>,
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
        let copies = Copies::of(state);
        let (sources, next, failed) = (SourceReadings::default(), VecDeque::new(), HashMap::new());
        Self { sources, copies, writing: None, next, failed, retry: None }
    }

    /// Writes copies of these lists, and removes all others.
    pub fn keep(&mut self, lists: Vec<ListToKeep>) {
        self.keep_soon(lists);
        self.write_next();
    }

    /// Like `keep`, once the owner runs. A filterd that it replaces has ended by then.
    pub fn keep_soon(&mut self, lists: Vec<ListToKeep>) {
        self.next.push_back(CopyPurpose::Keep(lists));
    }

    /// The clock was set: all copies record anew when they were written.
    pub fn renew(&mut self) {
        self.renew_soon();
        self.write_next();
    }

    /// Like `renew`, once the owner runs.
    pub fn renew_soon(&mut self) {
        self.next.push_back(CopyPurpose::Renew);
    }

    /// Records in these copies which files they belong to.
    pub fn know_files(&mut self, lists: Vec<AcceptedSource>) {
        if !lists.is_empty() {
            self.next.push_back(CopyPurpose::KnowFiles(lists));
            self.write_next();
        }
    }

    /// Writes copies of these lists next to the last good ones. Returns the copies to keep if the trial is
    /// confirmed.
    pub fn try_out(&mut self, lists: Vec<ListToKeep>) -> Vec<ListToKeep> {
        let tried = self.try_out_soon(lists);
        self.write_next();
        tried
    }

    /// Like `try_out`, once the owner runs.
    pub fn try_out_soon(&mut self, lists: Vec<ListToKeep>) -> Vec<ListToKeep> {
        let tried = lists.iter().map(|list| {
            let is_tried = list.is_made_anew(&self.copies) || self.copies.is_tried(&list.accepted);
            ListToKeep {
                id: list.id,
                accepted: list.accepted.clone(),
                before: list.before.clone(),
                bytes: is_tried.then_some(CopySource::Tried),
                times: None,
            }
        });
        let tried = tried.collect();
        self.next.push_back(CopyPurpose::TryOut(lists));
        tried
    }

    /// Waits until a reload's copies are written. Never returns if none are being written.
    pub async fn written(&mut self) -> Outcomes {
        match &mut self.writing {
            Some(writing) => match (&mut writing.task).await {
                Ok(outcomes) => outcomes,
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            },
            None => std::future::pending().await,
        }
    }

    /// Records the results. Failed copies are retried at growing intervals and by the next reload, which
    /// reads their lists again. Returns true if nothing more is to be written.
    pub fn note(&mut self, outcomes: Outcomes, blocklist: &Blocklist) -> bool {
        let Some(writing) = self.writing.take() else { return true };
        let had_failed = !self.failed.is_empty();
        for ((id, older), outcome) in writing.lists.into_iter().zip(outcomes) {
            let lists = blocklist.lists();
            match outcome {
                Ok(()) => _ = self.failed.remove(&id),
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
        let is_in_vain = self.failed.values().all(|failed| failed.is_too_large);
        self.retry = (!is_in_vain).then(|| self.retry.unwrap_or_else(Retry::soon));
        self.write_next();
        self.writing.is_none()
    }

    /// How long until failed copies are tried again.
    pub fn until_due(&self) -> Option<Duration> {
        self.retry.filter(|_| self.writing.is_none()).map(|retry| retry.until_due())
    }

    /// The lists whose copies are to be tried again now.
    pub fn take_due(&mut self, blocklist: &Blocklist) -> Vec<Arc<str>> {
        if self.until_due().is_none_or(|left| !left.is_zero()) {
            return Vec::new();
        }
        self.retry = self.retry.map(Retry::later);
        let lists = blocklist.lists();
        let failed = self.failed.iter().filter(|(id, failed)| lists.has(**id) && !failed.is_too_large);
        failed.map(|(id, _)| lists.get(*id).name.clone()).collect()
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

    pub fn copies(&self) -> &Copies {
        &self.copies
    }

    pub fn has_copy(&self, accepted: &AcceptedSource) -> bool {
        self.copies.has(accepted)
    }

    /// Waits until everything is written, at most `PATIENCE`, because a disk may hang.
    pub async fn end(&mut self, blocklist: &Blocklist) {
        let all = async {
            while self.writing.is_some() {
                let outcomes = self.written().await;
                self.note(outcomes, blocklist);
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
            Some(CopyPurpose::Keep(lists)) => self.write(lists, Copies::keep),
            Some(CopyPurpose::TryOut(lists)) => self.write(lists, Copies::try_out),
            Some(CopyPurpose::KnowFiles(lists)) => self.begin(Vec::new(), |copies| {
                for (AcceptedSource { name, .. }, error) in copies.know_files(lists) {
                    warn!(
                        "cannot store which file the copy of list \"{name}\" belongs to: {error}; a start that restores it reports that the \
                         file may be another one"
                    );
                }
                Vec::new()
            }),
            Some(CopyPurpose::Renew) => self.begin(Vec::new(), |copies| {
                for (AcceptedSource { name, .. }, error) in copies.renew() {
                    error!(
                        "cannot store in the copy of list \"{name}\" that the clock was set: {error}; after a reboot its `ttl` may \
                         end too early or too late"
                    );
                }
                Vec::new()
            }),
        }
    }

    fn write(&mut self, lists: Vec<ListToKeep>, make: Make) {
        // Lists that equal an older copy have one again. A list whose copy could not be written has no stamp.
        let is_without = |list: &ListToKeep| {
            let is_written = list.bytes.is_some() || list.times.is_some();
            is_written || list.accepted.stamp.is_none() || !self.copies.says(&list.accepted)
        };
        self.failed.retain(|id, _| lists.iter().any(|list| list.id == *id && is_without(list)));
        let mut kept: Vec<AcceptedSource> =
            self.failed.values().filter_map(|failed| failed.older.clone()).collect();
        let (mut wanted, mut ids) = (Vec::new(), Vec::new());
        for list in lists {
            let is_made = list.is_made_anew(&self.copies);
            let ListToKeep { id, accepted, before, bytes, times } = list;
            match bytes.or_else(|| is_made.then(|| CopySource::before(accepted.clone()))) {
                Some(bytes) => {
                    ids.push((id, before.clone()));
                    wanted.push(copies::CopyToKeep { accepted, bytes, times, before });
                }
                None => kept.push(accepted),
            }
        }
        self.begin(ids, move |copies| make(copies, wanted, kept));
    }

    fn begin(
        &mut self,
        lists: Vec<(ListId, Option<AcceptedSource>)>,
        work: impl FnOnce(&Copies) -> Outcomes + Send + 'static,
    ) {
        let copies = self.copies.clone();
        let task = tokio::task::spawn_blocking(move || work(&copies));
        self.writing = Some(RunningWrite { lists, task });
    }
}

/// The message for a list that has no copy of its contents in force.
pub fn explain_missing_copy(list: &ListInfo) -> Explanation {
    Explanation::new(
        format!("there is no copy of list \"{}\"", list.called()),
        "restore its file\nto make a copy: filterd reload",
    )
}
