//! Targets on their way to the daemon: any number, in messages of bounded size, a few of them ahead of their answers.

use std::collections::VecDeque;
use std::sync::Arc;

use filter_common::target::{Span, Target};

use super::interrupt::Done;
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::wire::strings::Strings;
use crate::control::wire::{Changed, Failure, Method, Widened};
use crate::text::Explanation;

/// Messages sent and not yet answered, each over a connection of its own: the daemon answers when it has written to disk,
/// and works on the next meanwhile.
const MOST_UNANSWERED: usize = 4;

/// A quarter of what a message may carry: the daemon serves others between two messages.
pub const TARGETS_A_MESSAGE: usize = 2048;

/// Of how many targets it is told that they stay blocked, or for longer, as in a single answer.
const MOST_TOLD: usize = 100;

/// Collects targets and sends them.
pub struct Batches<'a, M> {
    socket: &'a Endpoint,
    idle: Vec<Client>,
    /// Those who wait for an answer, in the order in which they asked, and to how many words.
    busy: VecDeque<(Client, u64)>,
    request: &'a dyn Fn(Strings) -> M,
    words: Strings,
    prefixes: usize,
    sum: Changed,
    progress: Arc<Done>,
    first: Vec<Target>,
    refusals: Vec<Explanation>,
}

impl<'a, M: Method<Reply = Changed>> Batches<'a, M> {
    /// Sends targets to the daemon in messages made by `request`.
    pub fn new(socket: &'a Endpoint, request: &'a dyn Fn(Strings) -> M) -> Result<Self, ClientError> {
        Ok(Self {
            socket,
            idle: vec![Client::connect(socket)?],
            busy: VecDeque::new(),
            request,
            words: Strings::default(),
            prefixes: 0,
            sum: Changed::default(),
            progress: Arc::default(),
            first: Vec::new(),
            refusals: Vec::new(),
        })
    }

    /// How far it is, for whoever may have to tell it while this waits.
    pub fn progress(&self) -> Arc<Done> {
        self.progress.clone()
    }

    /// One more target, or a range of them.
    pub fn push(&mut self, span: Span) -> Result<(), ClientError> {
        let few = MOST_TOLD - self.first.len();
        self.first.extend(span.into_iter().take(few));
        self.words.push(span);
        self.prefixes += span.into_iter().count();
        if self.prefixes < TARGETS_A_MESSAGE {
            return Ok(());
        }
        self.await_answers(MOST_UNANSWERED - 1)?;
        self.send()
    }

    /// The first targets there were.
    pub fn first(&mut self) -> Vec<Target> {
        std::mem::take(&mut self.first)
    }

    /// Why whole messages were refused: all they named is guarded.
    pub fn refusals(&mut self) -> Vec<Explanation> {
        std::mem::take(&mut self.refusals)
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
            while !self.busy.is_empty() {
                // Only what was done counts here: why not all was done is known.
                let _ = self.await_answers(self.busy.len() - 1);
            }
        }
        std::mem::take(&mut self.sum)
    }

    fn send(&mut self) -> Result<(), ClientError> {
        self.prefixes = 0;
        let words = std::mem::take(&mut self.words);
        let mut client = self.idle.pop().map_or_else(|| Client::connect(self.socket), Ok)?;
        let lines = words.len() as u64;
        self.progress.sends(lines);
        client.send(&(self.request)(words))?;
        self.busy.push_back((client, lines));
        Ok(())
    }

    fn await_answers(&mut self, left: usize) -> Result<(), ClientError> {
        while self.busy.len() > left {
            let Some((mut client, lines)) = self.busy.pop_front() else { break };
            let answered = client.receive::<M>();
            self.idle.push(client);
            let changed = match answered {
                // What is guarded keeps nothing else from being blocked.
                Err(ClientError::Failed(Failure::Guarded(why))) => {
                    self.sum.refused += lines;
                    self.refusals.push(why);
                    self.refusals.truncate(MOST_TOLD);
                    self.progress.is_told(lines);
                    continue;
                }
                answered => answered?.parameters,
            };
            self.progress.is_told(lines);
            self.take(changed);
        }
        Ok(())
    }

    fn take(&mut self, changed: Changed) {
        self.sum.named += changed.named;
        self.sum.changed += changed.changed;
        self.sum.entered += changed.entered;
        self.sum.left += changed.left;
        self.sum.not_durable = self.sum.not_durable.take().or(changed.not_durable);
        // What was so last.
        self.sum.idle = changed.idle;
        self.sum.except = changed.except;
        self.sum.held.extend(changed.held);
        self.sum.held.truncate(MOST_TOLD);
        self.sum.longer.extend(changed.longer);
        self.sum.longer.truncate(MOST_TOLD);
        self.sum.covered += changed.covered;
        self.sum.covered_by.extend(changed.covered_by);
        self.sum.covered_by.truncate(MOST_TOLD);
        self.sum.allowed += changed.allowed;
        self.sum.allowed_by.extend(changed.allowed_by);
        self.sum.allowed_by.truncate(MOST_TOLD);
        self.sum.refused += changed.refused;
        self.sum.guarded.extend(changed.guarded);
        self.sum.guarded.truncate(MOST_TOLD);
        // A prefix of an earlier message may be around the same address.
        self.sum.around.extend(changed.around);
        self.sum.around.truncate(MOST_TOLD);
        let widened = self.sum.widened.map_or(0, |widened| widened.count);
        self.sum.widened = changed
            .widened
            .map(|more| Widened { count: widened + more.count, ..more })
            .or(self.sum.widened.take());
        self.sum.warnings.extend(changed.warnings);
        self.sum.warnings.truncate(MOST_TOLD);
        self.sum.blocked_by.extend(changed.blocked_by);
        self.sum.blocked_by.truncate(MOST_TOLD);
    }
}
