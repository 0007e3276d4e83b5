//! Sends any number of targets to the daemon, in messages of bounded size.

use std::sync::Arc;

use filter_common::target::{Span, Target};

use super::interrupt::SendProgress;
use super::messages::{MOST_TOLD, Messages};
use crate::control::client::{ClientError, Endpoint};
use crate::control::wire::strings::Strings;
use crate::control::wire::{Changed, Method};
use crate::text::Explanation;

/// A quarter of the limit of a message, because the daemon serves other clients between two messages.
pub const TARGETS_A_MESSAGE: usize = 2048;

/// Collects targets and sends them in batches.
pub struct Batches<'a, M> {
    messages: Messages<'a, M>,
    request: &'a dyn Fn(Strings) -> M,
    words: Strings,
    prefixes: usize,
    first: Vec<Target>,
}

impl<'a, M: Method<Reply = Changed>> Batches<'a, M> {
    /// Sends targets to the daemon, in messages made by `request`.
    pub fn new(socket: &'a Endpoint, request: &'a dyn Fn(Strings) -> M) -> Result<Self, ClientError> {
        let messages = Messages::to(socket)?;
        Ok(Self { messages, request, words: Strings::default(), prefixes: 0, first: Vec::new() })
    }

    /// The shared progress, which another thread may report while this one waits.
    pub fn progress(&self) -> Arc<SendProgress> {
        self.messages.progress()
    }

    /// Adds a target, or a range of them.
    pub fn push(&mut self, span: Span) -> Result<(), ClientError> {
        let few = MOST_TOLD - self.first.len();
        self.first.extend(span.into_iter().take(few));
        self.words.push(span);
        self.prefixes += span.into_iter().count();
        if self.prefixes < TARGETS_A_MESSAGE { Ok(()) } else { self.send() }
    }

    /// The first targets that were added, at most `MOST_TOLD`.
    pub fn first(&mut self) -> Vec<Target> {
        std::mem::take(&mut self.first)
    }

    /// The reasons for refused messages, whose targets are all guarded.
    pub fn refusals(&mut self) -> Vec<Explanation> {
        self.messages.refusals()
    }

    /// Sends the collected targets, because the next input may take a while. While the daemon works on the
    /// message before, more lines gather in the pipe and go into the next message.
    pub fn pause(&mut self) -> Result<(), ClientError> {
        if self.words.is_empty() {
            return Ok(());
        }
        self.messages.await_answers(0)?;
        self.send()
    }

    /// Sends the rest and waits for all answers. Nothing may be added afterwards.
    pub fn finish(&mut self) -> Result<(), ClientError> {
        if !self.words.is_empty() {
            self.send()?;
        }
        self.messages.await_answers(0)
    }

    /// The sum of the daemon's changes so far.
    pub fn done(&mut self, ended: &Result<(), ClientError>) -> Changed {
        self.messages.done(ended)
    }

    fn send(&mut self) -> Result<(), ClientError> {
        self.prefixes = 0;
        let words = std::mem::take(&mut self.words);
        let lines = words.len() as u64;
        self.messages.send(&(self.request)(words), lines)
    }
}
