//! Logs who watches and for how long. Watchers see the traffic of others, so this is never silent.

use std::time::Instant;

use tracing::info;

use super::asker::Asker;
use super::watching::FrameDepth;
use super::wire::watch::Request;
use crate::clock;

/// A client that watches. Dropping this logs the end, for any reason.
pub struct WatchLog {
    asker: Asker,
    begun: Instant,
}

impl WatchLog {
    /// Logs that the client begins to watch.
    pub fn begin(asker: Asker, request: &Request, depth: FrameDepth) -> Self {
        let log = Self { asker, begun: clock::instant() };
        log.log(
            &format!("watch started: {}", told(request, depth)),
            request.list.as_ref().map(|list| list.as_str()),
        );
        log
    }

    /// Clients that watch do not get this event. Otherwise their own start would be the first one.
    fn log(&self, what: &str, list: Option<&str>) {
        let Asker { user, uid, login, process, pid } = &self.asker;
        let (login, process) = (login.as_deref(), process.as_deref());
        info!(list, user, uid, login, process, pid, watch.verb = VERB, "{what}");
    }
}

/// The log recognises by this verb which events clients that watch do not get.
pub const VERB: &str = "watch";

fn told(request: &Request, depth: FrameDepth) -> &'static str {
    match (request.changes, request.drops, request.frames, depth) {
        (true, false, ..) => "changes",
        (false, _, false, _) => "drops",
        (true, true, false, _) => "changes and drops",
        (_, _, true, FrameDepth::Headers) => "drops with the headers of their frames",
        (_, _, true, FrameDepth::Whole) => "drops with their frames",
    }
}

impl Drop for WatchLog {
    fn drop(&mut self) {
        self.log(&format!("watch ended after {} s", self.begun.elapsed().as_secs()), None);
    }
}
