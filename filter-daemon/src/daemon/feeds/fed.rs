//! One feed and its state: the last fetch, its failures, and the time of the next fetch.

use std::collections::BTreeSet;
use std::sync::Arc;

use tracing::{info, warn};

use super::fetching::FetchOutcome;
use super::reached::ReachedServers;
use super::schedule::{self, RandomNumber};
use crate::blocklist::Timestamp;
use crate::clock;
use crate::config::Feed;
use crate::control::wire::refresh::Transfer;
use crate::source::feeds::{FeedNote, StoredFailure};
use crate::text::Explanation;

pub struct FeedState {
    pub feed: Feed,
    /// The largest size in bytes.
    pub most: u64,
    /// The lists that use this feed.
    pub lists: BTreeSet<Arc<str>>,
    pub note: Option<FeedNote>,
    /// The servers that its lists were last fetched from, possibly under an earlier definition.
    pub reached: Option<ReachedServers>,
    /// When it is fetched next.
    pub next: Timestamp,
    /// The number of the running fetch.
    pub running: Option<u64>,
    /// It must be fetched once more, because of a request or a changed definition since the running fetch
    /// began.
    pub again: bool,
    pub failed: Option<FeedFailure>,
    /// The transfer of the last fetch, if that succeeded.
    pub transfer: Option<Transfer>,
    /// New content has come that has not been read yet.
    pub has_come: bool,
    /// How many times in a row the content was held back.
    pub doubted: u32,
}

/// A fetch that failed, possibly several times in a row.
pub struct FeedFailure {
    pub since: Timestamp,
    /// How many times in a row it failed.
    pub times: u32,
    pub told: Explanation,
    /// The failure is from an earlier process, so the log of this one does not contain it.
    pub is_from_before: bool,
    /// Set if a retry cannot help.
    pub is_for_good: bool,
}

impl FeedState {
    /// Continues with the state of the filterd before: `note` describes the stored content, and `known` the
    /// feed.
    pub fn with(self, note: Option<FeedNote>, known: FeedNote) -> Self {
        let (now, wall) = (clock::now(), clock::since_1970().as_secs());
        let FeedNote { failed, not_before, from, checked, .. } = known;
        let wait =
            schedule::after_start(note.as_ref(), not_before, wall, self.feed.refresh, RandomNumber::new());
        let next = if wait.is_zero() { now } else { clock::after(wait) };
        let at = wall.checked_sub(checked).and_then(|age| Some(now.later_by(-i64::try_from(age).ok()?)));
        let reached = at.filter(|_| !from.is_empty()).map(|at| ReachedServers { from, at }).or(self.reached);
        let failed = failed.map(|StoredFailure { since, times, told }| FeedFailure {
            since: clock::from_the_wall(since),
            times,
            told,
            is_from_before: true,
            is_for_good: false,
        });
        Self { note, reached, next, failed, ..self }
    }

    /// The name in messages: that of its first list.
    pub fn name(&self) -> String {
        self.lists.first().map(ToString::to_string).unwrap_or_default()
    }

    /// Records the result of a fetch.
    pub fn note(&mut self, outcome: FetchOutcome) {
        self.running = None;
        match outcome {
            FetchOutcome::New(note, transfer) | FetchOutcome::Unchanged(note, transfer) => {
                if self.failed.take().is_some() || self.note.is_none() {
                    let (name, url) = (self.name(), self.feed.url.to_string());
                    info!(
                        watch.verb = "fetch",
                        watch.lists = name.as_str(),
                        url = url.as_str(),
                        "list \"{name}\" fetched"
                    );
                }
                self.reached = Some(ReachedServers { from: note.from.clone(), at: clock::now() });
                (self.note, self.has_come) = (Some(note), true);
                self.transfer = Some(transfer);
                self.next = clock::after(schedule::after_success(self.feed.refresh, RandomNumber::new()));
            }
            FetchOutcome::Failed { told, wait, is_for_good } => {
                let before = self.failed.take();
                if before.as_ref().is_none_or(|before| before.is_from_before || before.told != told) {
                    let (name, url) = (self.name(), self.feed.url.to_string());
                    warn!(
                        watch.verb = "fetch",
                        watch.lists = name.as_str(),
                        url = url.as_str(),
                        next_try = wait.as_secs(),
                        "list \"{name}\": fetch failed: {told}"
                    );
                }
                let since = before.as_ref().map_or_else(clock::now, |before| before.since);
                let times = before.map_or(0, |before| before.times).saturating_add(1);
                self.next = clock::after(wait);
                self.transfer = None;
                self.failed = Some(FeedFailure { since, times, told, is_from_before: false, is_for_good });
            }
        }
    }

    /// Records whether the content was accepted. Content that was there before counts once, however often it
    /// is read.
    pub fn judge(&mut self, is_doubted: bool) {
        let (refresh, chance) = (self.feed.refresh, RandomNumber::new());
        let has_come = std::mem::take(&mut self.has_come);
        let wait = match (is_doubted, self.doubted) {
            (false, 0) => return,
            (false, _) => {
                self.doubted = 0;
                schedule::after_success(refresh, chance)
            }
            (true, before) if has_come || before == 0 => {
                self.doubted = before.saturating_add(1);
                schedule::after_failure(self.doubted, refresh, None, chance)
            }
            (true, _) => return,
        };
        // After a failed fetch, the next try already has a time.
        if self.failed.is_none() {
            self.next = clock::after(wait);
        }
    }
}
