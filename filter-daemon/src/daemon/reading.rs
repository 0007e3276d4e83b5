//! Reads the configuration and its lists outside the owner, one reading at a time. A request that comes
//! during a reading gets a further one, because files may have changed after they were read.

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

/// The readings, and the clients that wait for their results.
pub struct Readings {
    /// Absent while a reading runs.
    sources: Option<ListSources>,
    now: Option<RunningRead>,
    next: VecDeque<ReadRequest>,
    /// Lists to read when no other reading waits.
    stale: BTreeSet<Arc<str>>,
    /// Lists to copy at the same time, from files whose contents are in force.
    uncopied: BTreeSet<Arc<str>>,
}

/// The purpose of a reading, and who waits for its result.
enum ReadRequest {
    /// The result takes effect.
    Reload { request: Request, waiting: Vec<ReplyTo<Reply>> },
    /// The configuration from before a trial takes effect again.
    Rollback,
    /// The result is compared with the configuration in force.
    Diff(ReplyTo<diff::Reply>),
    /// These lists of the configuration in force are read.
    Refresh(BTreeSet<Arc<str>>),
}

/// The result of a reading, by its purpose.
pub enum ReadResult {
    /// The configuration is to take effect.
    Reload(Loaded),
    /// The configuration is to be compared with the one in force.
    Diff(Compared),
}

/// The work of the thread that reads.
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
    /// Starts with the knowledge of earlier readings.
    pub fn of(sources: ListSources) -> Self {
        let (stale, uncopied) = (BTreeSet::new(), BTreeSet::new());
        Self { sources: Some(sources), now: None, next: VecDeque::new(), stale, uncopied }
    }

    /// Queues a reload. A request with `accept` gets a reading of its own, so that its errors do not affect
    /// other clients.
    pub fn ask(&mut self, request: Request, answer: Option<ReplyTo<Reply>>) {
        match self.next.back_mut() {
            Some(ReadRequest::Reload { request: last, waiting }) if is_plain(&request) && is_plain(last) => {
                waiting.extend(answer);
            }
            _ => self.next.push_back(ReadRequest::Reload { request, waiting: answer.into_iter().collect() }),
        }
    }

    /// Queues a comparison of the files with the configuration in force.
    pub fn ask_diff(&mut self, answer: ReplyTo<diff::Reply>) {
        self.next.push_back(ReadRequest::Diff(answer));
    }

    /// Queues these lists of the configuration in force. Reloads come first, because they read the lists too.
    pub fn ask_refresh(&mut self, lists: impl IntoIterator<Item = Arc<str>>) {
        self.stale.extend(lists);
    }

    /// Queues copies of these lists, which the disk refused. Other contents that their files have by now do
    /// not take effect.
    pub fn ask_copies(&mut self, lists: impl IntoIterator<Item = Arc<str>>) {
        self.uncopied.extend(lists);
    }

    /// Forgets the lists that were fetched. They are read when they are fetched again.
    pub fn forget_refresh(&mut self) {
        self.stale.clear();
    }

    /// The lists that are read for a refresh, if one runs.
    pub fn refreshed(&self) -> Option<&BTreeSet<Arc<str>>> {
        match &self.now.as_ref()?.asked {
            ReadRequest::Refresh(lists) => Some(lists),
            ReadRequest::Reload { .. } | ReadRequest::Rollback | ReadRequest::Diff(_) => None,
        }
    }

    /// Whether a refresh is the only thing to read.
    pub fn is_refresh_next(&self) -> bool {
        let is_any = !self.stale.is_empty() || !self.uncopied.is_empty();
        self.now.is_none() && self.next.is_empty() && is_any
    }

    /// Starts to read the lists that are queued.
    pub fn begin_refresh(&mut self, config: &Config, known: Vec<KnownList>) {
        let (lists, config) = (std::mem::take(&mut self.stale), config.clone());
        let uncopied = std::mem::take(&mut self.uncopied);
        self.read_for(ReadRequest::Refresh(lists.clone()), move |sources| {
            Ok(ReadResult::Reload(Loaded::refresh(config, &known, &lists, &uncopied, sources)))
        });
    }

    /// Queues a rollback before everything else.
    pub fn ask_rollback(&mut self) {
        self.next.push_front(ReadRequest::Rollback);
    }

    /// Whether the next reading is for a reload on trial.
    pub fn is_trial_next(&self) -> bool {
        matches!(self.next.front(), Some(ReadRequest::Reload { request, .. }) if request.confirm.is_some())
    }

    /// Whether a reload on trial is queued or runs.
    pub fn is_trial_asked(&self) -> bool {
        let is_trial = |asked: &ReadRequest| matches!(asked, ReadRequest::Reload { request, .. } if request.confirm.is_some());
        self.now.as_ref().is_some_and(|now| is_trial(&now.asked)) || self.next.iter().any(is_trial)
    }

    /// Refuses all queued reloads. Returns whether one of them has no client that waits.
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

    /// The time limit and the user of the reload that runs, if it is on trial.
    pub fn trial(&self) -> Option<(Duration, &str)> {
        let ReadRequest::Reload { request, .. } = &self.now.as_ref()?.asked else { return None };
        Some((request.confirm?, &request.by))
    }

    /// Whether a rollback is being read.
    pub fn is_rollback(&self) -> bool {
        self.now.as_ref().is_some_and(|reading| matches!(reading.asked, ReadRequest::Rollback))
    }

    /// Whether nothing is being read or queued.
    pub fn is_idle(&self) -> bool {
        self.now.is_none() && self.next.is_empty()
    }

    /// Whether the next reading can start.
    pub fn is_due(&self) -> bool {
        self.now.is_none() && !self.next.is_empty()
    }

    /// Starts the reading that has waited longest. While copies of `known` are being written (`is_writing`),
    /// no copy counts as missing.
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

    /// Waits until everything is read. Never returns if nothing is being read.
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

    /// Whether a client waits for the reload that runs.
    pub fn is_waited_for(&self) -> bool {
        let asked = self.now.as_ref().map(|reading| &reading.asked);
        matches!(asked, Some(ReadRequest::Reload { waiting, .. }) if !waiting.is_empty())
    }

    /// Whether the reading is for a comparison only.
    pub fn is_for_diff(&self) -> bool {
        self.now.as_ref().is_some_and(|reading| matches!(reading.asked, ReadRequest::Diff(_)))
    }

    /// The names that the clients of this reading accept.
    pub fn accept(&self) -> Accept {
        match self.now.as_ref().map(|reading| &reading.asked) {
            Some(ReadRequest::Reload { request, .. }) => request.accept.clone(),
            Some(ReadRequest::Rollback | ReadRequest::Diff(_) | ReadRequest::Refresh(_)) | None => {
                Accept::default()
            }
        }
    }

    /// When the reading that runs began.
    pub fn began(&self) -> Option<Instant> {
        Some(self.now.as_ref()?.began)
    }

    /// Ends a reload and sends its result to all who wait.
    pub fn end(&mut self, result: Result<Reply, Failure>) {
        let Some(ReadRequest::Reload { waiting, .. }) = self.now.take().map(|reading| reading.asked) else {
            return;
        };
        // A client may have disconnected.
        waiting.into_iter().for_each(|answer| _ = answer.send(result.clone()));
    }

    /// Ends a refresh, successful or refused.
    pub fn end_refresh(&mut self) {
        self.now = None;
    }

    /// Ends a comparison and sends its result.
    pub fn end_diff(&mut self, result: Result<diff::Reply, Failure>) {
        let Some(ReadRequest::Diff(answer)) = self.now.take().map(|reading| reading.asked) else { return };
        _ = answer.send(result);
    }
}

/// Whether the request has no options, so that it can share a reading.
fn is_plain(request: &Request) -> bool {
    request.accept.is_empty() && request.confirm.is_none()
}
