//! Targets on their way to the daemon: any number, in messages of bounded size.

use std::sync::Arc;

use filter_common::target::{Span, Target};

use super::interrupt::Done;
use super::messages::{MOST_TOLD, Messages};
use crate::control::client::{ClientError, Endpoint};
use crate::control::wire::strings::Strings;
use crate::control::wire::{Changed, Method};
use crate::text::Explanation;

/// A quarter of what a message may carry: the daemon serves others between two messages.
pub const TARGETS_A_MESSAGE: usize = 2048;

/// Collects targets and sends them.
pub struct Batches<'a, M> {
    messages: Messages<'a, M>,
    request: &'a dyn Fn(Strings) -> M,
    words: Strings,
    prefixes: usize,
    first: Vec<Target>,
}

impl<'a, M: Method<Reply = Changed>> Batches<'a, M> {
    /// Sends targets to the daemon in messages made by `request`.
    pub fn new(socket: &'a Endpoint, request: &'a dyn Fn(Strings) -> M) -> Result<Self, ClientError> {
        let messages = Messages::to(socket)?;
        Ok(Self { messages, request, words: Strings::default(), prefixes: 0, first: Vec::new() })
    }

    /// How far it is, for whoever may have to tell it while this waits.
    pub fn progress(&self) -> Arc<Done> {
        self.messages.progress()
    }

    /// One more target, or a range of them.
    pub fn push(&mut self, span: Span) -> Result<(), ClientError> {
        let few = MOST_TOLD - self.first.len();
        self.first.extend(span.into_iter().take(few));
        self.words.push(span);
        self.prefixes += span.into_iter().count();
        if self.prefixes < TARGETS_A_MESSAGE { Ok(()) } else { self.send() }
    }

    /// The first targets there were.
    pub fn first(&mut self) -> Vec<Target> {
        std::mem::take(&mut self.first)
    }

    /// Why whole messages were refused: all they named is guarded.
    pub fn refusals(&mut self) -> Vec<Explanation> {
        self.messages.refusals()
    }

    /// Nothing may follow for a while: sends what there is. While the daemon is at work on the message
    /// before, more gathers in the pipe, and goes with the next.
    pub fn pause(&mut self) -> Result<(), ClientError> {
        if self.words.is_empty() {
            return Ok(());
        }
        self.messages.await_answers(0)?;
        self.send()
    }

    /// Nothing follows: sends the rest and waits for all answers.
    pub fn finish(&mut self) -> Result<(), ClientError> {
        if !self.words.is_empty() {
            self.send()?;
        }
        self.messages.await_answers(0)
    }

    /// What the daemon has done so far.
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
