//! A feed, and what became of it: what was fetched, what could not be, and when it is fetched next.

use std::collections::BTreeSet;
use std::sync::Arc;

use tracing::{info, warn};

use super::fetching::Outcome;
use super::reached::Reached;
use super::schedule::{self, Chance};
use crate::blocklist::Timestamp;
use crate::clock;
use crate::config::Feed;
use crate::control::wire::refresh::Transfer;
use crate::source::feeds::{Failure, Note};
use crate::text::Explanation;

/// A feed, and what became of it.
pub struct Fed {
    pub feed: Feed,
    /// How many bytes it may have.
    pub most: u64,
    /// The lists that it is.
    pub lists: BTreeSet<Arc<str>>,
    pub note: Option<Note>,
    /// Where its lists were last fetched from, if only by what they said before.
    pub reached: Option<Reached>,
    /// When it is fetched next.
    pub next: Timestamp,
    /// The number of the fetch that is under way.
    pub running: Option<u64>,
    /// Somebody has asked since that began, or it is fetched otherwise from now on.
    pub again: bool,
    pub failed: Option<Failed>,
    /// What was sent when it was last fetched, if it could be.
    pub transfer: Option<Transfer>,
    /// Something has come, and nobody has read it yet.
    pub has_come: bool,
    /// What came was held back so many times in a row.
    pub doubted: u32,
}

/// It could not be fetched.
pub struct Failed {
    pub since: Timestamp,
    /// So many times in a row.
    pub times: u32,
    pub told: Explanation,
    /// Nothing was asked since this filterd began: its log does not tell of it.
    pub is_from_before: bool,
    /// Trying again is in vain.
    pub is_for_good: bool,
}

impl Fed {
    /// It goes on where the filterd before it was: this is known of the bytes that are there, and that of it all.
    pub fn with(self, note: Option<Note>, known: Note) -> Self {
        let (now, wall) = (clock::now(), clock::since_1970().as_secs());
        let Note { failed, not_before, from, checked, .. } = known;
        let wait = schedule::after_start(note.as_ref(), not_before, wall, self.feed.refresh, Chance::new());
        let next = if wait.is_zero() { now } else { clock::after(wait) };
        let at = wall.checked_sub(checked).and_then(|age| Some(now.later_by(-i64::try_from(age).ok()?)));
        let reached = at.filter(|_| !from.is_empty()).map(|at| Reached { from, at }).or(self.reached);
        let failed = failed.map(|Failure { since, times, told }| Failed {
            since: clock::from_the_wall(since),
            times,
            told,
            is_from_before: true,
            is_for_good: false,
        });
        Self { note, reached, next, failed, ..self }
    }

    /// What it is called: as the first of its lists.
    pub fn name(&self) -> String {
        self.lists.first().map(ToString::to_string).unwrap_or_default()
    }

    /// Notes what came of a fetch.
    pub fn note(&mut self, outcome: Outcome) {
        self.running = None;
        match outcome {
            Outcome::New(note, transfer) | Outcome::Unchanged(note, transfer) => {
                if self.failed.take().is_some() || self.note.is_none() {
                    let (name, url) = (self.name(), self.feed.url.to_string());
                    info!(
                        watch.verb = "fetch",
                        watch.lists = name.as_str(),
                        url = url.as_str(),
                        "list \"{name}\" fetched"
                    );
                }
                self.reached = Some(Reached { from: note.from.clone(), at: clock::now() });
                (self.note, self.has_come) = (Some(note), true);
                self.transfer = Some(transfer);
                self.next = clock::after(schedule::after_success(self.feed.refresh, Chance::new()));
            }
            Outcome::Failed { told, wait, is_for_good } => {
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
                self.failed = Some(Failed { since, times, told, is_from_before: false, is_for_good });
            }
        }
    }

    /// What came is believed, or not; what is there already counts once, however often it is read.
    pub fn judge(&mut self, is_doubted: bool) {
        let (refresh, chance) = (self.feed.refresh, Chance::new());
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
        // What could not be fetched since has a time of its own.
        if self.failed.is_none() {
            self.next = clock::after(wait);
        }
    }
}
