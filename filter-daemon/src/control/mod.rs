//! The control socket: how `filterd add` in one process asks the filterd in another.
//!
//! [`wire`] is what travels. The daemon's end: [`server`] lets clients in, `session` talks with each: `parse` makes
//! messages of its lines, which go to the owner of state as [`Call`]s once they are checked, and `answer` makes lines
//! of the replies; `audit` logs who had what changed; `watching` tells those who watch what the log is told, `watchers` logs who they are, and
//! [`sources`] sums up whose drops they are told. The command line's end is [`client`].

mod admission;
mod answer;
mod asker;
mod audit;
mod came_by;
pub mod client;
mod complaints;
pub mod connections;
pub mod descriptors;
mod endpoint;
mod handle;
mod lines;
pub mod parse;
pub mod pins_note;
pub mod server;
mod session;
mod socket;
pub mod sources;
mod watchers;
pub mod watching;
pub mod wire;

#[cfg(test)]
mod tests;

pub use server::{Handle, Limits, Server};
pub use session::Patience;
pub use socket::{SocketError, give_socket, told_by_whom};
pub use watchers::VERB as WATCHED;
pub use watching::Watching;
pub use wire::{Asked, Call};

/// How a client learns what became of its request.
pub type ReplyTo<R> = tokio::sync::oneshot::Sender<Result<R, wire::Failure>>;
