//! What is known of the lists that have files beside what is on them: their last good copies, which are written away from
//! everybody, one reload's after the other's.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tracing::{error, info, warn};

use super::retry::{LONGEST, Retry};
use crate::blocklist::{AcceptedSource, Blocklist, EntryTimes, ListId, ListInfo, Timestamp};
use crate::clock;
use crate::control::wire::reload::HeldBack;
use crate::control::wire::{About, Fault};
use crate::source::Copies;
use crate::source::copies::{self, CopyError, CopySource};
use crate::state_directory::IF_REPLACED;
use crate::text::Explanation;

/// How long copies are waited for when filterd ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// A list, and the copy that there should be of it.
#[derive(Debug)]
pub struct ListToKeep {
    /// Its number.
    pub id: ListId,
    /// What is known of it.
    pub accepted: AcceptedSource,
    /// What was known of it before; this copy stays until there is a new one.
    pub before: Option<AcceptedSource>,
    /// What the copy is to be made of, if there is none of this yet.
    pub bytes: Option<CopySource>,
    /// Since when and until when each of its entries is there, where that is to be told otherwise than a copy of before tells it.
    pub times: Option<EntryTimes>,
}

impl ListToKeep {
    /// Is a copy written for it? Other times alone go behind what is there.
    fn is_made_anew(&self, copies: &Copies) -> bool {
        self.bytes.is_some() || self.times.is_some() && copies.has(&self.accepted)
    }
}

/// What became of each copy.
pub type Outcomes = Vec<Result<(), CopyError>>;

/// Makes these, and keeps those that are there already.
type Make = fn(&Copies, Vec<copies::CopyToKeep>, Vec<AcceptedSource>) -> Outcomes;

/// The part of the owner's state that is about copies of lists.
pub struct ListCopies {
    copies: Copies,
    /// What is being written.
    writing: Option<RunningWrite>,
    /// What is to be written then.
    next: VecDeque<CopyPurpose>,
    /// Copies that could not be made anew, and since when; the older ones stay.
    failed: HashMap<ListId, FailedCopy>,
    /// When they are tried again.
    retry: Option<Retry>,
}

/// What copies are for.
#[derive(Debug)]
enum CopyPurpose {
    /// They are the last good ones.
    Keep(Vec<ListToKeep>),
    /// They are of what is on trial: the last good ones stay.
    TryOut(Vec<ListToKeep>),
    /// Those that are there are to say anew when they were written, where that matters.
    Renew,
    /// Those of these are to say of which file each is: it was written anew since, with the same in it.
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
    /// Room on the disk makes no room for it.
    is_too_large: bool,
}

impl ListCopies {
    /// The copies of this state directory.
    pub fn of(state: &Path) -> Self {
        let copies = Copies::of(state);
        Self { copies, writing: None, next: VecDeque::new(), failed: HashMap::new(), retry: None }
    }

    /// Has copies of these written, and all others removed.
    pub fn keep(&mut self, lists: Vec<ListToKeep>) {
        self.keep_soon(lists);
        self.write_next();
    }

    /// The same once the owner has begun its work: whoever makes way for it has ended by then.
    pub fn keep_soon(&mut self, lists: Vec<ListToKeep>) {
        self.next.push_back(CopyPurpose::Keep(lists));
    }

    /// The clock was set: has all copies say anew when they were written.
    pub fn renew(&mut self) {
        self.renew_soon();
        self.write_next();
    }

    /// The same once the owner has begun its work.
    pub fn renew_soon(&mut self) {
        self.next.push_back(CopyPurpose::Renew);
    }

    /// Has these copies say of which files they are.
    pub fn know_files(&mut self, lists: Vec<AcceptedSource>) {
        if !lists.is_empty() {
            self.next.push_back(CopyPurpose::KnowFiles(lists));
            self.write_next();
        }
    }

    /// Has copies of these written beside the last good ones. Tells what is to be kept once they have stood their trial.
    pub fn try_out(&mut self, lists: Vec<ListToKeep>) -> Vec<ListToKeep> {
        let tried = self.try_out_soon(lists);
        self.write_next();
        tried
    }

    /// The same once the owner has begun its work.
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

    /// Waits until a reload's copies are written, or for ever if none are being written.
    pub async fn written(&mut self) -> Outcomes {
        match &mut self.writing {
            Some(writing) => match (&mut writing.task).await {
                Ok(outcomes) => outcomes,
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            },
            None => std::future::pending().await,
        }
    }

    /// Notes what became of them. What failed is tried again by and by, and by the next reload, which reads these lists anew.
    /// True if nothing more is to be written.
    pub fn note(&mut self, outcomes: Outcomes, blocklist: &mut Blocklist) -> bool {
        let Some(writing) = self.writing.take() else { return true };
        let had_failed = !self.failed.is_empty();
        for ((id, older), outcome) in writing.lists.into_iter().zip(outcomes) {
            let lists = blocklist.lists_mut();
            match outcome {
                Ok(()) => _ = self.failed.remove(&id),
                // It was renamed meanwhile, or is gone: what is asked for then tells.
                Err(_) if !lists.has(id) => {}
                Err(error) => {
                    let name = lists.get(id).name.clone();
                    let reading = lists.reading_mut(id);
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

    /// How long until copies that failed are tried again.
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

    /// Is anything being written?
    pub fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Where they lie.
    pub fn copies(&self) -> &Copies {
        &self.copies
    }

    /// Of this, is there a copy?
    pub fn has_copy(&self, accepted: &AcceptedSource) -> bool {
        self.copies.has(accepted)
    }

    /// Waits until everything is written; a disk that hangs is not waited for for ever.
    pub async fn end(&mut self, blocklist: &mut Blocklist) {
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

    /// What is to be told of lists of which there is no copy as they are now.
    pub fn without_copies(&self) -> impl Iterator<Item = Explanation> {
        self.failed.values().map(|failed| failed.told.clone())
    }

    /// Lists in force whose copies are gone, and their files are not read anew: nothing is left of them for the next start.
    pub fn gone(&self, blocklist: &Blocklist) -> Vec<Explanation> {
        let is_gone = |id: &ListId, list: &ListInfo| {
            let accepted = list.reading.as_ref().and_then(|reading| reading.accepted.as_ref());
            !self.failed.contains_key(id) && accepted.is_some_and(|accepted| !self.has_copy(accepted))
        };
        let gone = blocklist.lists().iter().filter(|(id, list)| is_gone(id, list));
        gone.map(|(_, list)| explain_missing_copy(list)).collect()
    }

    /// Lists that are not what their files say, and copies that could not be made.
    pub fn faults(&self, blocklist: &Blocklist) -> Vec<Fault> {
        let held_back = held_back(blocklist).map(|HeldBack { since, told, .. }| Fault {
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

    /// Begins to write what is to be written, unless something is being written.
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
        // Of those that are as an older copy says again there is one. What could not be written has no stamp.
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

/// What is to be told of a list of which there is no copy as it is in force.
pub fn explain_missing_copy(list: &ListInfo) -> Explanation {
    Explanation::new(
        format!("there is no copy of list \"{}\"", list.called()),
        "restore its file\nto make a copy: filterd reload",
    )
}

/// Lists that are not what their files say.
pub fn held_back(blocklist: &Blocklist) -> impl Iterator<Item = HeldBack> {
    blocklist.lists().iter().filter_map(|(_, list)| {
        let trouble = list.reading.as_ref()?.trouble.as_ref()?;
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
