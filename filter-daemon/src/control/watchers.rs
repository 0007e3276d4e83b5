//! The log of who watches, from when to when. Watchers see others' traffic, so nobody does it unseen.

use std::time::Instant;

use tracing::info;

use super::asker::Asker;
use super::watching::Depth;
use super::wire::watch::Request;
use crate::clock;

/// Somebody who watches. The end is logged when it is dropped, however that comes.
pub struct WatchLog {
    asker: Asker,
    begun: Instant,
}

impl WatchLog {
    /// Logs that it begins.
    pub fn begin(asker: Asker, request: &Request, depth: Depth) -> Self {
        let log = Self { asker, begun: clock::instant() };
        log.log(
            &format!("watch started: {}", told(request, depth)),
            request.list.as_ref().map(|list| list.as_str()),
        );
        log
    }

    /// Those who watch are not told it: their own begin would be the first event.
    fn log(&self, what: &str, list: Option<&str>) {
        let Asker { user, uid, login, process, pid } = &self.asker;
        let (login, process) = (login.as_deref(), process.as_deref());
        info!(list, user, uid, login, process, pid, watch.verb = VERB, "{what}");
    }
}

/// By this word the log knows what watchers are not told.
pub const VERB: &str = "watch";

fn told(request: &Request, depth: Depth) -> &'static str {
    match (request.changes, request.drops, request.frames, depth) {
        (true, false, ..) => "changes",
        (false, _, false, _) => "drops",
        (true, true, false, _) => "changes and drops",
        (_, _, true, Depth::Headers) => "drops with the headers of their frames",
        (_, _, true, Depth::Whole) => "drops with their frames",
    }
}

impl Drop for WatchLog {
    fn drop(&mut self) {
        self.log(&format!("watch ended after {} s", self.begun.elapsed().as_secs()), None);
    }
}
