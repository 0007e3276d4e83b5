//! Sends messages to the daemon, a few of them ahead of their answers, and sums up the answers.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;

use super::interrupt::SendProgress;
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::wire::{Changed, Failure, Method, Needed, Widened};
use crate::source::well_known;
use crate::text::Explanation;

/// Messages sent and not yet answered, each over its own connection. The daemon answers when it has written
/// to disk, and works on the next message meanwhile.
const MOST_UNANSWERED: usize = 4;

/// At most this many targets are named as still blocked, or blocked for longer, as in a single answer.
pub const MOST_TOLD: usize = 100;

/// Sends messages, and sums up their changes.
pub struct Messages<'a, M> {
    socket: &'a Endpoint,
    idle: Vec<Client>,
    /// The clients that wait for an answer, in the order of their requests, each with its number of words.
    busy: VecDeque<(Client, u64)>,
    sum: Changed,
    progress: Arc<SendProgress>,
    refusals: Vec<Explanation>,
    method: PhantomData<M>,
}

impl<'a, M: Method<Reply = Changed>> Messages<'a, M> {
    /// Connects to the daemon.
    pub fn to(socket: &'a Endpoint) -> Result<Self, ClientError> {
        Ok(Self {
            socket,
            idle: vec![Client::connect(socket)?],
            busy: VecDeque::new(),
            sum: Changed::default(),
            progress: Arc::default(),
            refusals: Vec::new(),
            method: PhantomData,
        })
    }

    /// The shared progress, which another thread may report while this one waits.
    pub fn progress(&self) -> Arc<SendProgress> {
        self.progress.clone()
    }

    /// The reasons for refused messages, whose targets are all guarded.
    pub fn refusals(&mut self) -> Vec<Explanation> {
        std::mem::take(&mut self.refusals)
    }

    /// The sum of the daemon's changes so far. After a refusal, the messages behind it are answered
    /// too.
    pub fn done(&mut self, ended: &Result<(), ClientError>) -> Changed {
        if let Err(ClientError::Failed(_)) = ended {
            while !self.busy.is_empty() {
                // Only their changes count here; the first error is known already.
                let _ = self.await_answers(self.busy.len() - 1);
            }
        }
        std::mem::take(&mut self.sum)
    }

    /// Sends a message with this many lines, as soon as few enough messages are unanswered.
    pub fn send(&mut self, message: &M, lines: u64) -> Result<(), ClientError> {
        self.await_answers(MOST_UNANSWERED - 1)?;
        let mut client = self.idle.pop().map_or_else(|| Client::connect(self.socket), Ok)?;
        self.progress.sends(lines);
        client.send(message)?;
        self.busy.push_back((client, lines));
        Ok(())
    }

    /// Waits until at most `left` messages are unanswered.
    pub fn await_answers(&mut self, left: usize) -> Result<(), ClientError> {
        while self.busy.len() > left {
            let Some((mut client, lines)) = self.busy.pop_front() else { break };
            let answered = client.receive::<M>();
            self.idle.push(client);
            let changed = match answered {
                // A guarded target does not prevent others from being blocked.
                Err(ClientError::Failed(Failure::Guarded(why))) => {
                    self.sum.refused += lines;
                    self.refusals.push(why);
                    self.refusals.truncate(MOST_TOLD);
                    self.progress.note_answered(lines);
                    continue;
                }
                answered => answered?.parameters,
            };
            self.progress.note_answered(lines);
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
        // The last answer counts.
        self.sum.idle = changed.idle;
        self.sum.except = changed.except;
        self.sum.on_trial_until = changed.on_trial_until;
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
        // A prefix of an earlier message may contain the same address.
        self.sum.around.extend(changed.around);
        self.sum.around.truncate(MOST_TOLD);
        let widened = self.sum.widened.map_or(0, |widened| widened.count);
        self.sum.widened = changed
            .widened
            .map(|more| Widened { count: widened + more.count, ..more })
            .or(self.sum.widened.take());
        self.sum.warnings.extend(changed.warnings);
        self.sum.warnings.truncate(MOST_TOLD);
        let as_pair = |Needed { whose, count }: Needed| (whose, count);
        let mut needed: Vec<_> = self.sum.needed.drain(..).map(as_pair).collect();
        well_known::add(&mut needed, changed.needed.into_iter().map(as_pair));
        // One sentence for all messages, because each message knows only its own targets.
        if self.sum.named > Changed::MOST_NAMED_ONE_BY_ONE {
            self.sum.warnings =
                well_known::sentence("the targets include", needed.clone()).into_iter().collect();
        }
        self.sum.needed = needed.into_iter().map(|(whose, count)| Needed { whose, count }).collect();
        self.sum.blocked_by.extend(changed.blocked_by);
        self.sum.blocked_by.truncate(MOST_TOLD);
    }
}
