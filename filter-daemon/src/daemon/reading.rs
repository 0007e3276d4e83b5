//! The configuration and its lists are read away from the owner, one reading at a time. Whoever asks while another is under
//! way may have changed what that one has read already, and so gets a further one.

use std::time::Instant;

use tokio::task::JoinHandle;

use super::configuration::Source;
use super::reload::{Known, Loaded};
use crate::clock;
use crate::config::ConfigError;
use crate::control::ReplyTo;
use crate::control::wire::Failure;
use crate::control::wire::reload::Reply;

/// Readings, and who waits for what comes of them.
#[derive(Default)]
pub struct Readings {
    now: Option<Reading>,
}

struct Reading {
    began: Instant,
    loading: Option<JoinHandle<Result<Loaded, ConfigError>>>,
    waiting: Vec<ReplyTo<Reply>>,
    again: Option<Vec<ReplyTo<Reply>>>,
}

impl Readings {
    /// Begins to read, or notes that it is to be read again.
    pub fn begin(&mut self, source: Source, known: Vec<Known>, answer: Option<ReplyTo<Reply>>) {
        match &mut self.now {
            Some(reading) => reading.again.get_or_insert_default().extend(answer),
            None => self.begin_for(source, known, answer.into_iter().collect()),
        }
    }

    /// Begins to read for all these.
    pub fn begin_for(&mut self, source: Source, known: Vec<Known>, waiting: Vec<ReplyTo<Reply>>) {
        let loading = tokio::task::spawn_blocking(move || source.load(&known));
        self.now = Some(Reading { began: clock::instant(), loading: Some(loading), waiting, again: None });
    }

    /// Waits until everything is read, or for ever if nobody reads.
    pub async fn read(&mut self) -> Result<Loaded, ConfigError> {
        let Some(loading) = self.now.as_mut().and_then(|reading| reading.loading.as_mut()) else {
            return std::future::pending().await;
        };
        let loaded = loading.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        if let Some(reading) = &mut self.now {
            reading.loading = None;
        }
        loaded
    }

    /// Does any client wait for what comes of it?
    pub fn is_waited_for(&self) -> bool {
        self.now.as_ref().is_some_and(|reading| !reading.waiting.is_empty())
    }

    /// When the reading under way began.
    pub fn began(&self) -> Option<Instant> {
        Some(self.now.as_ref()?.began)
    }

    /// What was read is in force, or refused: tells all who wait. Gives back who waits for a further reading.
    pub fn end(&mut self, result: Result<Reply, Failure>) -> Option<Vec<ReplyTo<Reply>>> {
        let reading = self.now.take()?;
        // A client that has gone meanwhile is told nothing.
        reading.waiting.into_iter().for_each(|answer| _ = answer.send(result.clone()));
        reading.again
    }
}
