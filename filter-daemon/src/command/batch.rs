//! Targets on their way to the daemon: any number through one connection, in messages of bounded size, a few
//! of them ahead of their answers.

use filter_common::target::Span;

use crate::control::client::{Client, ClientError};
use crate::control::wire::{Changed, MOST_TARGETS, Request};

/// Messages sent and not yet answered. Two keep the daemon busy while the next is made; their answers are
/// small enough for the socket's buffer, so that neither side waits for the other for ever.
const MOST_UNANSWERED: usize = 2;

/// What is told of targets that stay blocked, as in a single answer.
const MOST_HELD: usize = 100;

/// Collects targets and sends them.
pub struct Batches<'a> {
    client: Client,
    request: &'a dyn Fn(Vec<String>) -> Request,
    words: Vec<String>,
    prefixes: usize,
    unanswered: usize,
    sum: Changed,
}

impl<'a> Batches<'a> {
    /// Sends targets to the daemon in messages made by `request`.
    pub fn new(client: Client, request: &'a dyn Fn(Vec<String>) -> Request) -> Self {
        let sum = Changed::default();
        Self { client, request, words: Vec::new(), prefixes: 0, unanswered: 0, sum }
    }

    /// One more target, or a range of them.
    pub fn push(&mut self, span: Span) -> Result<(), ClientError> {
        self.words.push(span.to_string());
        self.prefixes += span.into_iter().count();
        if self.prefixes < MOST_TARGETS {
            return Ok(());
        }
        self.await_answers(MOST_UNANSWERED - 1)?;
        self.send()
    }

    /// Nothing may follow for a while: sends what there is. While the daemon is at work on the message
    /// before, more gathers in the pipe, and goes with the next.
    pub fn pause(&mut self) -> Result<(), ClientError> {
        if self.words.is_empty() {
            return Ok(());
        }
        self.await_answers(0)?;
        self.send()
    }

    /// Nothing follows: sends the rest and waits for all answers.
    pub fn finish(&mut self) -> Result<(), ClientError> {
        if !self.words.is_empty() {
            self.send()?;
        }
        self.await_answers(0)
    }

    /// What the daemon has done so far. After a refusal, the messages behind it are answered too.
    pub fn done(&mut self, ended: &Result<(), ClientError>) -> Changed {
        if let Err(ClientError::Failed(_)) = ended {
            while self.unanswered > 0 {
                // Only what was done counts here: why not all was done is known.
                let _ = self.await_answers(self.unanswered - 1);
            }
        }
        std::mem::take(&mut self.sum)
    }

    fn send(&mut self) -> Result<(), ClientError> {
        self.prefixes = 0;
        let words = std::mem::take(&mut self.words);
        self.client.send(&(self.request)(words))?;
        self.unanswered += 1;
        Ok(())
    }

    fn await_answers(&mut self, left: usize) -> Result<(), ClientError> {
        while self.unanswered > left {
            self.unanswered -= 1;
            let changed = self.client.receive::<Changed>()?.parameters;
            self.take(changed);
        }
        Ok(())
    }

    fn take(&mut self, changed: Changed) {
        self.sum.named += changed.named;
        self.sum.changed += changed.changed;
        self.sum.entered += changed.entered;
        self.sum.left += changed.left;
        self.sum.held.extend(changed.held);
        self.sum.held.truncate(MOST_HELD);
    }
}
