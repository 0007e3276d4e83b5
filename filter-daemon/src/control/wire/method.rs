//! What ties a method's name, parameters and reply together.

use std::fmt::Debug;
use std::io;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

use super::{Call, Counts, Deed, Failure};

/// A method; the type that implements it is its parameters, as they travel.
pub trait Method: Listed + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Its name on the wire.
    const NAME: &'static str;

    /// Its parameters, checked: what the owner of state is handed.
    type Request: Debug + Send + Sync + 'static;

    /// What is answered.
    type Reply: Debug + Serialize + DeserializeOwned + Send + Sync + 'static;

    /// How long a client waits for a line of the answer.
    const MAY_TAKE: Duration = Duration::from_secs(60);

    /// May only root ask for it, and whoever else could have started this filterd?
    const IS_ROOTS: bool = false;

    /// May it cut this host off from whoever asks? Then filterd is told by what they have come.
    const MAY_CUT: bool = false;

    /// Makes sure that the parameters can be carried out.
    fn check(self) -> Result<Self::Request, Failure>;

    /// Notes who asks in a request of which that is kept. `who` is told the verb.
    fn sign(_: &mut Self::Request, _who: impl FnOnce(&str) -> String) {}

    /// What a request that changes something is in the log; nothing for one that only asks.
    fn deed(_: &Self::Request) -> Option<Deed> {
        None
    }

    /// What came of it.
    fn counts(_: &Self::Reply) -> Counts {
        Counts::default()
    }

    /// Cuts a reply into parts that fit one line each; at least one.
    fn parts(reply: Self::Reply) -> Vec<Self::Reply> {
        vec![reply]
    }

    /// Puts one more of these parts behind those that have come. Of a reply that has one part there is none.
    fn join(_come: &mut Self::Reply, _part: Self::Reply) {}

    /// What [`next_page`](Self::next_page) has to know of a request, if its answer may have several pages.
    fn bookmark(_: &Self::Request) -> Option<Self::Request> {
        None
    }

    /// The request for the page after this one, if there can be one. So neither side ever holds a whole list.
    fn next_page(_asked: Self::Request, _page: &Self::Reply) -> Option<Self::Request> {
        None
    }
}

/// A method that is in the list of all methods.
pub trait Listed: Sized {
    /// The request as one of all those there are.
    fn call(asked: Asked<Self>) -> Call
    where
        Self: Method;
}

/// Somebody who answers methods of any kind.
pub trait Answers {
    /// Answers one.
    fn answer<M: Method>(&mut self, parameters: M) -> impl Future<Output = io::Result<()>> + Send;
}

/// A request on its way to the owner of state, and where the answer goes.
#[derive(Debug)]
pub struct Asked<M: Method> {
    /// What is asked.
    pub request: M::Request,
    /// Dropped unanswered, it tells the client that the daemon is stopping.
    pub reply: oneshot::Sender<Result<M::Reply, Failure>>,
}
