//! The configuration and its lists are read away from the owner, one reading at a time. Whoever asks while another is under
//! way may have changed what that one has read already, and so gets a further one.

use std::collections::VecDeque;
use std::time::Instant;

use tokio::task::JoinHandle;

use super::configuration::Source;
use super::error::DaemonError;
use super::reload::{Known, Loaded, Sources};
use crate::clock;
use crate::control::ReplyTo;
use crate::control::wire::Failure;
use crate::control::wire::accept::Accept;
use crate::control::wire::reload::Reply;

/// Readings, and who waits for what comes of them.
pub struct Readings {
    /// None while somebody reads.
    sources: Option<Sources>,
    now: Option<Reading>,
    next: VecDeque<Asked>,
}

/// Who asked for a reading, and what they said.
#[derive(Default)]
struct Asked {
    accept: Accept,
    waiting: Vec<ReplyTo<Reply>>,
}

struct Reading {
    began: Instant,
    accept: Accept,
    loading: Option<JoinHandle<(Result<Loaded, DaemonError>, Sources)>>,
    waiting: Vec<ReplyTo<Reply>>,
}

impl Readings {
    /// Readings with what was learned by earlier ones.
    pub fn of(sources: Sources) -> Self {
        Self { sources: Some(sources), now: None, next: VecDeque::new() }
    }

    /// Notes that it is to be read, or read again. Whoever accepts anything has a reading alone: what is wrong with their words
    /// is nothing to others.
    pub fn ask(&mut self, accept: Accept, answer: Option<ReplyTo<Reply>>) {
        match self.next.back_mut() {
            Some(last) if accept.is_empty() && last.accept.is_empty() => last.waiting.extend(answer),
            _ => self.next.push_back(Asked { accept, waiting: answer.into_iter().collect() }),
        }
    }

    /// Does nobody read, or wait for it?
    pub fn is_idle(&self) -> bool {
        self.now.is_none() && self.next.is_empty()
    }

    /// Is it to be read now?
    pub fn is_due(&self) -> bool {
        self.now.is_none() && !self.next.is_empty()
    }

    /// Begins to read for those who have waited longest.
    pub fn begin(&mut self, source: Source, known: Vec<Known>) {
        let Some(Asked { accept, waiting }) = self.next.pop_front() else { return };
        let mut sources = self.sources.take().expect("one reading at a time");
        let accepted = accept.clone();
        let loading = tokio::task::spawn_blocking(move || {
            let loaded = source.load(&known, &accepted, &mut sources);
            (loaded, sources)
        });
        self.now = Some(Reading { began: clock::instant(), accept, loading: Some(loading), waiting });
    }

    /// Waits until everything is read, or for ever if nobody reads.
    pub async fn read(&mut self) -> Result<Loaded, DaemonError> {
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
        self.now.as_ref().is_some_and(|reading| !reading.waiting.is_empty())
    }

    /// What those accept who asked for it.
    pub fn accept(&self) -> Accept {
        self.now.as_ref().map_or_else(Accept::default, |reading| reading.accept.clone())
    }

    /// When the reading under way began.
    pub fn began(&self) -> Option<Instant> {
        Some(self.now.as_ref()?.began)
    }

    /// What was read is in force, or refused: tells all who wait.
    pub fn end(&mut self, result: Result<Reply, Failure>) {
        let waiting = self.now.take().map(|reading| reading.waiting);
        // A client that has gone meanwhile is told nothing.
        waiting.into_iter().flatten().for_each(|answer| _ = answer.send(result.clone()));
    }
}
