//! What is to be read and applied: reloads, rollbacks, comparisons and refreshes, one at a time. A request that
//! comes during a reading gets a further one, because files may have changed after they were read.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::reload::ListSources;
use crate::clock;
use crate::control::ReplyTo;
use crate::control::wire::reload::{Reply, Request};
use crate::control::wire::{Failure, diff};

/// The readings that are queued, and the one that runs.
pub struct Readings {
    /// Absent while something is being read.
    sources: Option<ListSources>,
    now: Option<RunningRead>,
    next: VecDeque<ReadRequest>,
    /// Lists to read when no other reading waits.
    stale: BTreeSet<Arc<str>>,
    /// Lists to copy at the same time, from files whose contents are in force.
    uncopied: BTreeSet<Arc<str>>,
}

/// The purpose of a reading, and who waits for its result.
pub enum ReadRequest {
    /// The result takes effect.
    Reload(ReloadRequest),
    /// The result is compared with the configuration in force.
    Diff(ReplyTo<diff::Reply>),
    /// Lists of the configuration in force are read.
    Refresh(RefreshRequest),
}

/// A configuration that is to take effect.
pub struct ReloadRequest {
    pub request: Request,
    /// It is the one from before a trial.
    pub is_rollback: bool,
    pub waiting: Vec<ReplyTo<Reply>>,
}

/// Lists to read, and lists to copy whose contents are in force.
pub struct RefreshRequest {
    pub lists: BTreeSet<Arc<str>>,
    pub uncopied: BTreeSet<Arc<str>>,
}

struct RunningRead {
    began: Instant,
    is_trial: bool,
}

impl ReloadRequest {
    /// The time limit and the user, if it is on trial.
    pub fn trial(&self) -> Option<(Duration, &str)> {
        Some((self.request.confirm?, &self.request.by))
    }

    pub fn is_trial(&self) -> bool {
        self.trial().is_some()
    }

    /// Whether the request has no options, so that it can share a reading.
    fn is_plain(&self) -> bool {
        !self.is_rollback && self.request.accept.is_empty() && self.request.confirm.is_none()
    }
}

impl ReadRequest {
    fn is_trial(&self) -> bool {
        matches!(self, Self::Reload(asked) if asked.is_trial())
    }
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
        let asked = ReloadRequest { request, is_rollback: false, waiting: answer.into_iter().collect() };
        match self.next.back_mut() {
            Some(ReadRequest::Reload(last)) if asked.is_plain() && last.is_plain() => {
                last.waiting.extend(asked.waiting);
            }
            _ => self.next.push_back(ReadRequest::Reload(asked)),
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

    /// Queues a rollback before everything else.
    pub fn ask_rollback(&mut self) {
        let (request, waiting) = (Request::default(), Vec::new());
        self.next.push_front(ReadRequest::Reload(ReloadRequest { request, is_rollback: true, waiting }));
    }

    /// Forgets the lists that were fetched. They are read when they are fetched again.
    pub fn forget_refresh(&mut self) {
        self.stale.clear();
    }

    /// Refuses all queued reloads. Returns whether one of them has no client that waits.
    pub fn refuse(&mut self, why: &Failure) -> bool {
        let mut is_silent = false;
        self.next.retain_mut(|asked| {
            let ReadRequest::Reload(ReloadRequest { is_rollback: false, waiting, .. }) = asked else {
                return true;
            };
            is_silent |= waiting.is_empty();
            waiting.drain(..).for_each(|answer| _ = answer.send(Err(why.clone())));
            false
        });
        is_silent
    }

    /// Whether the next reading is for a reload on trial.
    pub fn is_trial_next(&self) -> bool {
        self.next.front().is_some_and(ReadRequest::is_trial)
    }

    /// Whether a reload on trial is queued or runs.
    pub fn is_trial_asked(&self) -> bool {
        self.now.as_ref().is_some_and(|now| now.is_trial) || self.next.iter().any(ReadRequest::is_trial)
    }

    /// Whether lists are to be read for a refresh.
    pub fn has_refresh(&self) -> bool {
        !self.stale.is_empty() || !self.uncopied.is_empty()
    }

    /// Whether a refresh is the only thing to read.
    pub fn is_refresh_next(&self) -> bool {
        self.is_idle() && self.has_refresh()
    }

    /// Whether nothing is being read, applied or queued.
    pub fn is_idle(&self) -> bool {
        self.now.is_none() && self.next.is_empty()
    }

    /// Takes the next request, unless one is being carried out.
    pub fn take_next(&mut self) -> Option<ReadRequest> {
        if self.now.is_some() {
            return None;
        }
        let refresh = self.is_refresh_next().then(|| {
            let (lists, uncopied) = (std::mem::take(&mut self.stale), std::mem::take(&mut self.uncopied));
            ReadRequest::Refresh(RefreshRequest { lists, uncopied })
        });
        let asked = self.next.pop_front().or(refresh)?;
        self.now = Some(RunningRead { began: clock::instant(), is_trial: asked.is_trial() });
        Some(asked)
    }

    /// Lends the knowledge of earlier readings.
    pub fn lend_sources(&mut self) -> ListSources {
        self.sources.take().expect("one reading at a time")
    }

    /// Takes the knowledge back, after a reading.
    pub fn take_back(&mut self, sources: ListSources) {
        self.sources = Some(sources);
    }

    /// Ends the request that is being carried out. Returns how long it took.
    pub fn end(&mut self) -> Duration {
        self.now.take().map(|now| now.began.elapsed()).unwrap_or_default()
    }
}
