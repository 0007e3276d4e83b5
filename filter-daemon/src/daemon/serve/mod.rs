//! Carries out each method: `edit` changes entries, `question` and `test` answer queries, `pause` pauses
//! protection, and `failure` makes errors.

mod edit;
pub mod failure;
mod guarding;
mod own;
mod pause;
mod question;
mod test;

use super::owner::Owner;
use crate::blocklist::Polarity;
use crate::control::ReplyTo;
use crate::control::wire::{self, Asked, Call, Failure, ping};
use failure::kernel_failed;
#[cfg(test)]
pub use guarding::Guarding;

impl Owner {
    /// Carries out a request or begins to, and makes sure that it is answered.
    pub fn serve(&mut self, call: Call) {
        match call {
            Call::Add(Asked { request, reply }) => self.add(Polarity::Block, request, reply),
            Call::Remove(Asked { request, reply }) => self.remove(Polarity::Block, request, reply),
            Call::Allow(Asked { request, reply }) => self.add(Polarity::Allow, request, reply),
            Call::Import(Asked { request, reply }) => {
                let polarity = if request.allow { Polarity::Allow } else { Polarity::Block };
                self.add(polarity, request.add, reply);
            }
            Call::Disallow(Asked { request, reply }) => self.remove(Polarity::Allow, request, reply),
            Call::Flush(Asked { request, reply }) => self.flush(request, reply),
            Call::Test(Asked { request, reply }) => answer(reply, Ok(self.test(request))),
            Call::List(Asked { request, reply }) => answer(reply, self.list_page(request)),
            Call::Lists(Asked { reply, .. }) => answer(reply, Ok(self.lists_report())),
            Call::Refresh(Asked { request, reply }) => self.refresh(request, reply),
            Call::Status(Asked { reply, .. }) => answer(reply, Ok(self.status())),
            Call::Ack(Asked { request, reply }) => answer(reply, self.acknowledge(&request)),
            Call::Stats(Asked { reply, .. }) => answer(reply, self.stats().map_err(kernel_failed)),
            Call::Snapshot(Asked { reply, .. }) => answer(reply, Ok(self.snapshot())),
            Call::Confirm(Asked { reply, .. }) => self.confirm(reply),
            Call::Rollback(Asked { reply, .. }) => self.roll_back(reply),
            Call::Diff(Asked { reply, .. }) => self.read_for_diff(reply),
            Call::Pause(Asked { request, reply }) => answer(reply, self.begin_pause(request)),
            Call::Resume(Asked { reply, .. }) => answer(reply, self.resume()),
            Call::Ping(Asked { reply, .. }) => answer(reply, Ok(pong())),
            Call::TakeOver(Asked { reply, .. }) => {
                // While entries are being written, another filterd is not refused yet. It asks once more when
                // this one must give way.
                let may_be = if self.is_catching_up() { Ok(()) } else { self.may_be_succeeded() };
                answer(reply, may_be.map(|()| self.place()));
            }
            // This takes a connection of its own, so the session handles it.
            Call::GiveWay(Asked { reply, .. }) => {
                answer(reply, Err(Failure::Unavailable("it is not for this".into())))
            }
            // Sessions handle this without the owner.
            Call::Watch(Asked { reply, .. }) => {
                answer(reply, Err(Failure::Unavailable("it is not for this".into())))
            }
            Call::HandOver(Asked { reply, .. }) => answer(reply, self.may_be_succeeded().map(|()| pong())),
            Call::Reload(Asked { request, reply }) => self.read(request, Some(reply)),
        }
    }
}

impl Owner {
    /// Refuses a successor that would not get all live entries.
    fn may_be_succeeded(&self) -> Result<(), Failure> {
        self.would_lose().map_or(Ok(()), |why| Err(Failure::Refused(why)))
    }
}

fn pong() -> ping::Reply {
    ping::Reply { version: wire::VERSION, pid: std::process::id() }
}

/// Sends the answer; a client that has disconnected gets none.
fn answer<T>(reply: ReplyTo<T>, answered: Result<T, Failure>) {
    _ = reply.send(answered);
}
