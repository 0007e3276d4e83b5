//! The control socket: how `filterd add` in one process asks the filterd in another.
//!
//! [`wire`] is what travels. The daemon's end: [`server`] lets clients in, `conversation` talks with each,
//! `parse` makes checked [`Request`]s, which go to the owner of state as [`Call`]s, and `answer` makes lines
//! of its replies. The command line's end is [`client`].

mod answer;
pub mod client;
mod complaints;
mod connections;
mod conversation;
mod lines;
mod parse;
mod peer;
pub mod quote;
pub mod request;
pub mod server;
mod socket;
pub mod strings;
pub mod wire;

#[cfg(test)]
mod tests;

use tokio::sync::oneshot;

pub use conversation::Patience;
pub use request::{Family, Request};
pub use server::{Limits, Server};
pub use socket::SocketError;

/// A request on its way to the owner of state, and where the answer goes.
#[derive(Debug)]
pub struct Call {
    /// What is asked.
    pub request: Request,
    /// Dropped unanswered, it tells the client that the daemon is stopping.
    pub reply: oneshot::Sender<Result<wire::Reply, wire::Failure>>,
}
