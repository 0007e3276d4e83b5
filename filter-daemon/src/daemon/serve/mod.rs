//! Carries out each method: `edit` changes entries, `question` and `test` answer queries, `pause` pauses
//! protection, and `failure` makes errors.

mod edit;
pub mod failure;
mod guarding;
mod own;
mod pause;
mod question;
mod test;

use tracing::warn;

use super::owner::Owner;
use super::snapshot::views;
use crate::blocklist::Polarity;
use crate::control::ReplyTo;
use crate::control::wire::{self, Call, Failure, PendingRequest, ping};
use failure::kernel_failed;
#[cfg(test)]
pub use guarding::GuardReport;

impl Owner {
    /// Carries out a request or begins to, and makes sure that it is answered.
    pub fn serve(&mut self, call: Call) {
        match call {
            Call::Add(PendingRequest { request, reply }) => self.add(Polarity::Block, request, reply),
            Call::Remove(PendingRequest { request, reply }) => self.remove(Polarity::Block, request, reply),
            Call::Allow(PendingRequest { request, reply }) => self.add(Polarity::Allow, request, reply),
            Call::Import(PendingRequest { request, reply }) => {
                let polarity = if request.allow { Polarity::Allow } else { Polarity::Block };
                self.add(polarity, request.add, reply);
            }
            Call::Disallow(PendingRequest { request, reply }) => self.remove(Polarity::Allow, request, reply),
            Call::Flush(PendingRequest { request, reply }) => self.flush(request, reply),
            Call::Test(PendingRequest { request, reply }) => answer(reply, Ok(self.test(request))),
            Call::List(PendingRequest { request, reply }) => answer(reply, self.list_page(request)),
            Call::Lists(PendingRequest { reply, .. }) => answer(reply, Ok(views::lists(self.snapshot()))),
            Call::Refresh(PendingRequest { request, reply }) => self.refresh(request, reply),
            Call::Status(PendingRequest { reply, .. }) => answer(reply, Ok(views::status(self.snapshot()))),
            Call::Ack(PendingRequest { request, reply }) => answer(reply, self.acknowledge(&request)),
            Call::Stats(PendingRequest { reply, .. }) => {
                answer(reply, self.counted_snapshot().map(views::stats).map_err(kernel_failed))
            }
            Call::Snapshot(PendingRequest { reply, .. }) => answer(reply, Ok(self.snapshot())),
            Call::Confirm(PendingRequest { reply, .. }) => self.confirm(reply),
            Call::Rollback(PendingRequest { reply, .. }) => self.roll_back(reply),
            Call::Diff(PendingRequest { reply, .. }) => self.read_for_diff(reply),
            Call::Pause(PendingRequest { request, reply }) => answer(reply, self.begin_pause(request)),
            Call::Resume(PendingRequest { reply, .. }) => answer(reply, self.resume()),
            Call::Ping(PendingRequest { reply, .. }) => answer(reply, Ok(pong())),
            Call::TakeOver(PendingRequest { reply, .. }) => {
                // While entries are being written, another filterd is not refused yet. `HandOver` asks once more.
                let may_be = if self.is_catching_up() { Ok(()) } else { self.check_succession() };
                answer(reply, may_be.map(|()| self.place()));
            }
            // Sessions handle this without the owner.
            Call::Watch(PendingRequest { reply, .. }) => {
                answer(reply, Err(Failure::Unavailable("it is not for this".into())))
            }
            Call::HandOver(PendingRequest { reply, .. }) => self.process.successor = Some(reply),
            Call::Reload(PendingRequest { request, reply }) => self.read(request, Some(reply)),
        }
    }
}

impl Owner {
    /// Refuses a successor that would not get all live entries.
    fn check_succession(&self) -> Result<(), Failure> {
        self.would_lose().map_or(Ok(()), |why| Err(Failure::Refused(why)))
    }

    /// Answers a successor after all work is done. Returns true if this filterd must end now.
    pub fn agree_to_end(&mut self, successor: ReplyTo<ping::Reply>) -> bool {
        self.settle();
        let agreed = self.check_succession();
        if let Err(refused) = &agreed {
            warn!("another filterd may not take over: {}", refused.explanation());
        }
        let ends = agreed.is_ok();
        successor.send(agreed.map(|()| pong())).is_ok() && ends
    }
}

fn pong() -> ping::Reply {
    ping::Reply { version: wire::VERSION, pid: std::process::id() }
}

/// Sends the answer; a client that has disconnected gets none.
fn answer<T>(reply: ReplyTo<T>, answered: Result<T, Failure>) {
    _ = reply.send(answered);
}
