//! The control socket, through which `filterd add` and other commands reach the daemon.
//!
//! [`wire`] defines the messages. In the daemon, [`server`] accepts clients, and `session` serves each of
//! them. `parse` reads requests, which go to the owner as [`Call`]s after a check, and `answer` writes
//! replies.
//!
//! `audit` logs who changed what. `watching` sends log events to clients that watch, `watchers` logs who they
//! are, and [`sources`] sums up drops by source. The command line uses [`client`].

mod admission;
mod answer;
mod asker;
mod audit;
mod came_by;
pub mod client;
mod complaints;
pub mod connections;
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

pub use server::{ClientLimits, Server, ServerHandle};
pub use session::ClientTimeouts;
pub use socket::{SocketError, give_socket, told_by_whom};
pub use watchers::VERB as WATCHED;
pub use watching::Watching;
pub use wire::{Call, PendingRequest};

/// The channel for the result of a request.
pub type ReplyTo<R> = tokio::sync::oneshot::Sender<Result<R, wire::Failure>>;
