//! A method of the protocol: its name, parameters and reply.

use std::fmt::Debug;
use std::io;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

use super::{Call, Counts, Deed, Failure};

/// A method. The type that implements it is its parameters on the wire.
pub trait Method: Listed + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Name of the method on the wire.
    const NAME: &'static str;

    /// The checked parameters, which the owner of state gets.
    type Request: Debug + Send + Sync + 'static;

    /// The reply of the method.
    type Reply: Debug + Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Time that a client waits for a line of the answer.
    const MAY_TAKE: Duration = Duration::from_secs(60);

    /// Whether only root, and the user who started this filterd, may ask for it.
    const IS_ROOTS: bool = false;

    /// Whether it may cut off the user who asks. The client then sends the SSH connection of the user.
    const MAY_CUT: bool = false;

    /// Checks that the parameters can be carried out.
    fn check(self) -> Result<Self::Request, Failure>;

    /// Stores who asks, if the request keeps that. `who` gets the verb.
    fn sign(_: &mut Self::Request, _who: impl FnOnce(&str) -> String) {}

    /// Describes a request that changes something for the log; `None` for one that only asks.
    fn deed(_: &Self::Request) -> Option<Deed> {
        None
    }

    /// The result of a request, in counts.
    fn counts(_: &Self::Reply) -> Counts {
        Counts::default()
    }

    /// Splits a reply into parts that fit one line each; at least one.
    fn parts(reply: Self::Reply) -> Vec<Self::Reply> {
        vec![reply]
    }

    /// Joins a further part to those that have arrived. A reply of one part needs nothing.
    fn join(_come: &mut Self::Reply, _part: Self::Reply) {}

    /// Returns what [`next_page`](Self::next_page) must know of a request, if its answer may have several pages.
    fn bookmark(_: &Self::Request) -> Option<Self::Request> {
        None
    }

    /// Returns the request for the page after this one, if there can be one. This way, neither side ever holds a whole
    /// list.
    fn next_page(_asked: Self::Request, _page: &Self::Reply) -> Option<Self::Request> {
        None
    }
}

/// A method in the list of all methods.
pub trait Listed: Sized {
    /// Turns the request into a variant of all calls.
    fn call(asked: PendingRequest<Self>) -> Call
    where
        Self: Method;
}

/// Code that answers any method.
pub trait Answers {
    /// Answers one request of any method.
    fn answer<M: Method>(&mut self, parameters: M) -> impl Future<Output = io::Result<()>> + Send;
}

/// A request on its way to the owner of state, and the way back for its answer.
#[derive(Debug)]
pub struct PendingRequest<M: Method> {
    /// The method and parameters of the request.
    pub request: M::Request,
    /// If this is dropped without an answer, the client learns that the daemon is stopping.
    pub reply: oneshot::Sender<Result<M::Reply, Failure>>,
}
