//! The configuration and its lists are read away from the owner, one reading at a time. Whoever asks while another is under
//! way may have changed what that one has read already, and so gets a further one.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use super::configuration::ConfigurationSource;
use super::diff::{ComparisonInput as Compared, GuardedAddresses, gather};
use super::error::DaemonError;
use super::reload::{KnownList, ListSources, Loaded};
use crate::clock;
use crate::config::Config;
use crate::control::ReplyTo;
use crate::control::wire::accept::Accept;
use crate::control::wire::reload::{Reply, Request};
use crate::control::wire::{Failure, diff};

/// Readings, and who waits for what comes of them.
pub struct Readings {
    /// None while somebody reads.
    sources: Option<ListSources>,
    now: Option<RunningRead>,
    next: VecDeque<ReadRequest>,
    /// Lists that are to be read when nothing else is.
    stale: BTreeSet<Arc<str>>,
    /// Lists whose copies are to be made then, out of files that say what is in force.
    uncopied: BTreeSet<Arc<str>>,
}

/// What is read for, and who waits for what comes of it.
enum ReadRequest {
    /// To be made true, with what was said of it.
    Reload { request: Request, waiting: Vec<ReplyTo<Reply>> },
    /// What was before a trial is to be made true.
    Rollback,
    /// To be compared with what is.
    Diff(ReplyTo<diff::Reply>),
    /// Of the configuration in force, these lists.
    Refresh(BTreeSet<Arc<str>>),
}

/// What was read.
pub enum ReadResult {
    /// It is to be made true.
    Reload(Loaded),
    /// It is to be compared with what is.
    Diff(Compared),
}

/// What the thread that reads is to read.
enum ReadTask {
    File(Accept),
    Before,
    Difference,
}

struct RunningRead {
    began: Instant,
    loading: Option<JoinHandle<(Result<ReadResult, DaemonError>, ListSources)>>,
    asked: ReadRequest,
}

impl Readings {
    /// Readings with what was learned by earlier ones.
    pub fn of(sources: ListSources) -> Self {
        let (stale, uncopied) = (BTreeSet::new(), BTreeSet::new());
        Self { sources: Some(sources), now: None, next: VecDeque::new(), stale, uncopied }
    }

    /// Notes that it is to be read, or read again. Whoever accepts anything has a reading alone: what is wrong with their words
    /// is nothing to others.
    pub fn ask(&mut self, request: Request, answer: Option<ReplyTo<Reply>>) {
        match self.next.back_mut() {
            Some(ReadRequest::Reload { request: last, waiting }) if is_plain(&request) && is_plain(last) => {
                waiting.extend(answer);
            }
            _ => self.next.push_back(ReadRequest::Reload { request, waiting: answer.into_iter().collect() }),
        }
    }

    /// Notes that it is to be read, and compared with what is then.
    pub fn ask_diff(&mut self, answer: ReplyTo<diff::Reply>) {
        self.next.push_back(ReadRequest::Diff(answer));
    }

    /// Notes that these lists of the configuration in force are to be read. Reloads come first: they read them, too.
    pub fn ask_refresh(&mut self, lists: impl IntoIterator<Item = Arc<str>>) {
        self.stale.extend(lists);
    }

    /// Notes that copies of these lists are to be made, which the disk has refused. Nothing else that their files say by now
    /// takes effect.
    pub fn ask_copies(&mut self, lists: impl IntoIterator<Item = Arc<str>>) {
        self.uncopied.extend(lists);
    }

    /// What was fetched is not to be read before it is fetched again.
    pub fn forget_refresh(&mut self) {
        self.stale.clear();
    }

    /// The lists that are read for a refresh, if one is under way.
    pub fn refreshed(&self) -> Option<&BTreeSet<Arc<str>>> {
        match &self.now.as_ref()?.asked {
            ReadRequest::Refresh(lists) => Some(lists),
            ReadRequest::Reload { .. } | ReadRequest::Rollback | ReadRequest::Diff(_) => None,
        }
    }

    /// Is nothing to be read but lists that have changed?
    pub fn is_refresh_next(&self) -> bool {
        let is_any = !self.stale.is_empty() || !self.uncopied.is_empty();
        self.now.is_none() && self.next.is_empty() && is_any
    }

    /// Begins to read them.
    pub fn begin_refresh(&mut self, config: &Config, known: Vec<KnownList>) {
        let (lists, config) = (std::mem::take(&mut self.stale), config.clone());
        let uncopied = std::mem::take(&mut self.uncopied);
        self.read_for(ReadRequest::Refresh(lists.clone()), move |sources| {
            Ok(ReadResult::Reload(Loaded::refresh(config, &known, &lists, &uncopied, sources)))
        });
    }

    /// Notes that what was before a trial is to be read, before anything else is.
    pub fn ask_rollback(&mut self) {
        self.next.push_front(ReadRequest::Rollback);
    }

    /// Is a reload next that is to be on trial?
    pub fn is_trial_next(&self) -> bool {
        matches!(self.next.front(), Some(ReadRequest::Reload { request, .. }) if request.confirm.is_some())
    }

    /// Is a reload asked for that is to be on trial, or under way?
    pub fn is_trial_asked(&self) -> bool {
        let is_trial = |asked: &ReadRequest| matches!(asked, ReadRequest::Reload { request, .. } if request.confirm.is_some());
        self.now.as_ref().is_some_and(|now| is_trial(&now.asked)) || self.next.iter().any(is_trial)
    }

    /// Refuses all who have asked for a reload that has not begun. Tells whether nobody is told.
    pub fn refuse(&mut self, why: &Failure) -> bool {
        let mut is_silent = false;
        self.next.retain_mut(|asked| {
            let ReadRequest::Reload { waiting, .. } = asked else { return true };
            is_silent |= waiting.is_empty();
            waiting.drain(..).for_each(|answer| _ = answer.send(Err(why.clone())));
            false
        });
        is_silent
    }

    /// The reload that is read for, if it is to be on trial: for how long, and by whom.
    pub fn trial(&self) -> Option<(Duration, &str)> {
        let ReadRequest::Reload { request, .. } = &self.now.as_ref()?.asked else { return None };
        Some((request.confirm?, &request.by))
    }

    /// Is what was before a trial read?
    pub fn is_rollback(&self) -> bool {
        self.now.as_ref().is_some_and(|reading| matches!(reading.asked, ReadRequest::Rollback))
    }

    /// Does nobody read, or wait for it?
    pub fn is_idle(&self) -> bool {
        self.now.is_none() && self.next.is_empty()
    }

    /// Is it to be read now?
    pub fn is_due(&self) -> bool {
        self.now.is_none() && !self.next.is_empty()
    }

    /// Begins to read for those who have waited longest. Are copies being written of what is `known`, so that none is missed?
    pub fn begin(
        &mut self,
        source: ConfigurationSource,
        known: Vec<KnownList>,
        guarded: GuardedAddresses,
        is_writing: bool,
    ) {
        let Some(asked) = self.next.pop_front() else { return };
        let what = match &asked {
            ReadRequest::Reload { request, .. } => ReadTask::File(request.accept.clone()),
            ReadRequest::Rollback => ReadTask::Before,
            ReadRequest::Diff(_) => ReadTask::Difference,
            ReadRequest::Refresh(_) => unreachable!("nobody queues it: it is begun by itself"),
        };
        self.read_for(asked, move |sources| {
            sources.writes = !matches!(what, ReadTask::Difference);
            match what {
                ReadTask::File(accept) => {
                    let known = if is_writing { known } else { sources.missed(known) };
                    source.load(&known, &accept, sources).map(ReadResult::Reload)
                }
                ReadTask::Before => source.restore(&known, sources).map(ReadResult::Reload),
                ReadTask::Difference => {
                    let loaded = source.load(&known, &Accept::default(), sources);
                    loaded.map(|loaded| ReadResult::Diff(gather(loaded, guarded)))
                }
            }
        });
    }

    fn read_for(
        &mut self,
        asked: ReadRequest,
        read: impl FnOnce(&mut ListSources) -> Result<ReadResult, DaemonError> + Send + 'static,
    ) {
        let mut sources = self.sources.take().expect("one reading at a time");
        let loading = tokio::task::spawn_blocking(move || {
            sources.writes = true;
            (read(&mut sources), sources)
        });
        self.now = Some(RunningRead { began: clock::instant(), loading: Some(loading), asked });
    }

    /// Waits until everything is read, or for ever if nobody reads.
    pub async fn read(&mut self) -> Result<ReadResult, DaemonError> {
        let Some(loading) = self.now.as_mut().and_then(|reading| reading.loading.as_mut()) else {
            return std::future::pending().await;
        };
        let read = loading.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        if let Some(reading) = &mut self.now {
            reading.loading = None;
        }
        self.sources = Some(read.1);
        read.0
    }

    /// Does any client wait for what comes of it?
    pub fn is_waited_for(&self) -> bool {
        let asked = self.now.as_ref().map(|reading| &reading.asked);
        matches!(asked, Some(ReadRequest::Reload { waiting, .. }) if !waiting.is_empty())
    }

    /// Is what is read only to be compared with what is?
    pub fn is_for_diff(&self) -> bool {
        self.now.as_ref().is_some_and(|reading| matches!(reading.asked, ReadRequest::Diff(_)))
    }

    /// What those accept who asked for it.
    pub fn accept(&self) -> Accept {
        match self.now.as_ref().map(|reading| &reading.asked) {
            Some(ReadRequest::Reload { request, .. }) => request.accept.clone(),
            Some(ReadRequest::Rollback | ReadRequest::Diff(_) | ReadRequest::Refresh(_)) | None => {
                Accept::default()
            }
        }
    }

    /// When the reading under way began.
    pub fn began(&self) -> Option<Instant> {
        Some(self.now.as_ref()?.began)
    }

    /// What was read is in force, or refused: tells all who wait.
    pub fn end(&mut self, result: Result<Reply, Failure>) {
        let Some(ReadRequest::Reload { waiting, .. }) = self.now.take().map(|reading| reading.asked) else {
            return;
        };
        // A client that has gone meanwhile is told nothing.
        waiting.into_iter().for_each(|answer| _ = answer.send(result.clone()));
    }

    /// What was read of lists is in force, or refused.
    pub fn end_refresh(&mut self) {
        self.now = None;
    }

    /// What was read was compared: tells who waits.
    pub fn end_diff(&mut self, result: Result<diff::Reply, Failure>) {
        let Some(ReadRequest::Diff(answer)) = self.now.take().map(|reading| reading.asked) else { return };
        _ = answer.send(result);
    }
}

/// Is nothing said that others have not said, too?
fn is_plain(request: &Request) -> bool {
    request.accept.is_empty() && request.confirm.is_none()
}
