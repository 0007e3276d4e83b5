//! One LAPI: its decisions, the time of its next poll, and its failures.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{info, warn};

use super::enforce::RefusedEntries;
use super::networks::{FoundNetworks, KnownNetworks, NetworkSearch};
use super::poll::{EndedPoll, PollOrder};
use super::usage::UsageReports;
use crate::blocklist::Timestamp;
use crate::clock;
use crate::command::render::figure::counted_as;
use crate::config::LapiConfig;
use crate::crowdsec::{DecisionBook, Skipped, StreamAnswer};
use crate::daemon::feeds::{RandomNumber, after_success};
use crate::text::Explanation;

/// How often LAPI is asked for everything, although the differences should say the same: LAPI may leave out a
/// decision that is made while it answers. Such answers take at most a hundredth of the time.
const RECONCILE: RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(15 * 60);

/// A delta is up to date for so long.
const FRESH: Duration = Duration::from_millis(200);

/// The longest wait between two tries while LAPI fails.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// One LAPI, as the configuration names it.
pub struct LapiSource {
    pub config: LapiConfig,
    pub book: DecisionBook,
    next: Instant,
    /// When it is asked for everything again.
    next_full: Instant,
    /// The next poll asks for everything, because this one or an earlier filterd may have lost something.
    needs_full: bool,
    has_answered_fully: bool,
    /// When the last delta came.
    delta_at: Option<Instant>,
    /// The lists of entries from before.
    restored_lists: BTreeSet<Arc<str>>,
    /// Other filters apply since the last confirmed answer, so that many decisions may be gone.
    has_other_filters: bool,
    /// Some decisions name an AS or a country without networks.
    has_unresolved: bool,
    /// Since when its first answer is awaited.
    pub awaited_since: Timestamp,
    /// The number of the running poll, and when it began.
    running: Option<(u64, Timestamp)>,
    pub failed: Option<LapiFailure>,
    pub connected_since: Option<Timestamp>,
    pub last_pull: Option<Timestamp>,
    pub received: u64,
    pub missed: u64,
    pub held_back: u64,
    /// What the last full answer had that is not enforced.
    pub skipped: Skipped,
    /// Where it was last reached.
    pub reached: Vec<IpAddr>,
    pub refused: Option<RefusedEntries>,
    pub networks: KnownNetworks,
    pub usage: UsageReports,
}

/// A LAPI that does not answer as it should.
pub struct LapiFailure {
    pub since: Timestamp,
    times: u32,
    pub told: Explanation,
}

impl LapiSource {
    /// A LAPI that was not asked yet, and its decisions that are in force.
    pub fn new(config: LapiConfig, book: Option<DecisionBook>) -> Self {
        let now = clock::instant();
        let mut book = book.unwrap_or_else(|| DecisionBook::new(&config.name, config.ports));
        book.set_ports(config.ports);
        Self {
            restored_lists: book.lists(),
            book,
            config,
            next: now,
            next_full: now,
            needs_full: true,
            has_answered_fully: false,
            delta_at: None,
            has_other_filters: false,
            has_unresolved: false,
            awaited_since: clock::now(),
            running: None,
            failed: None,
            connected_since: None,
            last_pull: None,
            received: 0,
            missed: 0,
            held_back: 0,
            skipped: Skipped::default(),
            reached: Vec::new(),
            refused: None,
            networks: KnownNetworks::default(),
            usage: UsageReports::new(),
        }
    }

    /// The same LAPI with other settings. Its decisions stay in force until it answers.
    pub fn with(mut self, config: LapiConfig) -> Self {
        let has_other_filters = self.has_other_filters || self.config.filters() != config.filters();
        let (received, missed, last_pull) = (self.received, self.missed, self.last_pull);
        let reached = std::mem::take(&mut self.reached);
        let new = Self::new(config, Some(self.into_book()));
        Self { has_other_filters, received, missed, last_pull, reached, ..new }
    }

    /// Its decisions. What could not be enforced is to be tried again.
    pub fn into_book(mut self) -> DecisionBook {
        self.retry_refused();
        self.book
    }

    fn retry_refused(&mut self) {
        if let Some(refused) = self.refused.take() {
            refused.into_changes().iter().for_each(|change| self.book.refuse(change));
        }
    }

    /// Asks for everything next, and at once unless it is being asked.
    pub fn ask_for_everything(&mut self) {
        (self.needs_full, self.next) = (true, clock::instant());
    }

    /// The time until it is asked again, unless it is being asked.
    pub fn until_due(&self) -> Option<Duration> {
        let due = if self.needs_full { self.next } else { self.next.min(self.next_full) };
        self.running.is_none().then(|| due.saturating_duration_since(clock::instant()))
    }

    /// The time until a report of usage is due, while it answers.
    pub fn until_report(&self) -> Option<Duration> {
        self.connected_since.and_then(|_| self.usage.until_due())
    }

    /// What to ask for. A delta comes directly before a full answer that only confirms what is known, so that
    /// the full answer has nothing new unless something was lost.
    pub fn order(&self) -> PollOrder {
        let now = clock::instant();
        let is_fresh = self.delta_at.is_some_and(|then| now.duration_since(then) < FRESH);
        let is_full = self.needs_full || now >= self.next_full && is_fresh;
        PollOrder { config: self.config.clone(), is_full }
    }

    pub fn note_begun(&mut self, number: u64) {
        self.running = Some((number, clock::now()));
    }

    pub fn is_running(&self, ended: &EndedPoll) -> bool {
        self.running.is_some_and(|(number, _)| number == ended.number) && self.config.name == ended.name
    }

    /// When the running poll began.
    pub fn asked_at(&self) -> Option<Timestamp> {
        self.running.map(|(_, begun)| begun)
    }

    pub fn has_answered_fully(&self) -> bool {
        self.has_answered_fully
    }

    /// The lists that its decisions are on.
    pub fn lists(&self) -> BTreeSet<Arc<str>> {
        let of_origins = self.book.by_origin().map(|(_, list, _)| list);
        of_origins.chain(&self.restored_lists).cloned().collect()
    }

    /// Records the result of a poll.
    pub fn note(&mut self, ended: EndedPoll) {
        self.running = None;
        if !ended.from.is_empty() {
            self.reached = ended.from;
        }
        match ended.result {
            Ok(answer) => self.take(answer, ended.is_full, ended.took),
            Err(told) => self.fail(told, ended.after),
        }
    }

    fn take(&mut self, answer: StreamAnswer, is_full: bool, took: Duration) {
        let (now, instant) = (clock::now(), clock::instant());
        self.received += answer.new.len() as u64;
        self.last_pull = Some(now);
        self.next = instant + self.config.frequency;
        if is_full {
            self.skipped = answer.skipped.clone();
            let max_shrink = if self.has_other_filters { 100 } else { self.config.max_shrink };
            let report = self.book.take_full(answer, now, max_shrink);
            self.has_other_filters &= report.absent > report.removed;
            // After a failure or a change of the configuration, what deltas would have brought is not known.
            if !self.needs_full {
                self.missed += report.missed;
            }
            self.tell_held_back(report.held_back);
            self.needs_full = false;
            self.has_answered_fully = true;
            self.next_full = instant + self.until_next_full(took);
            self.retry_refused();
        } else {
            self.book.take_delta(answer, now);
            self.delta_at = Some(instant);
            if instant >= self.next_full {
                self.next = instant;
            }
        }
        let was_failing = self.failed.take().is_some();
        if self.connected_since.is_none() {
            self.connected_since = Some(now);
            let (name, url) = (self.config.name.as_str(), self.config.shown_url());
            let decisions = self.book.decided();
            let again = if was_failing { " again" } else { "" };
            info!(url, decisions, "CrowdSec \"{name}\" answers{again}");
        }
    }

    /// Decisions that a second full answer must confirm to be gone are asked about soon.
    fn until_next_full(&self, took: Duration) -> Duration {
        let usual = (100 * took).clamp(*RECONCILE.start(), *RECONCILE.end());
        let usual = spread(usual.max(self.config.frequency));
        self.book.next_confirmation().map_or(usual, |then| usual.min(clock::until(then)))
    }

    fn tell_held_back(&mut self, held_back: u64) {
        if held_back > 0 && self.held_back == 0 {
            warn!("CrowdSec \"{}\": {}", self.config.name, self::held_back(held_back).message);
        }
        self.held_back = held_back;
    }

    fn fail(&mut self, told: Explanation, after: Option<Duration>) {
        let before = self.failed.take();
        if before.as_ref().is_none_or(|before| before.told != told) {
            let name = &self.config.name;
            warn!("CrowdSec \"{name}\" does not answer as it should: {why}", why = told);
        }
        let since = before.as_ref().map_or_else(clock::now, |before| before.since);
        let times = before.map_or(0, |before| before.times).saturating_add(1);
        let wait = self.config.frequency.max(Duration::from_secs(1 << (times - 1).min(6)));
        let longest = LONGEST_WAIT.max(self.config.frequency / 10);
        let wait = wait.min(longest).max(after.unwrap_or_default().min(15 * LONGEST_WAIT));
        // What came with the answer that was cut short is not known.
        self.needs_full = true;
        self.connected_since = None;
        self.next = clock::instant() + spread(wait);
        self.failed = Some(LapiFailure { since, times, told });
    }

    /// The search that is due, if decisions name other systems or countries than the last one looked for, or if
    /// a database has changed.
    pub fn search(&mut self) -> Option<NetworkSearch> {
        let scopes = self.book.scopes();
        if self.config.database.is_empty() {
            scopes.iter().for_each(|scope| self.book.set_networks(scope, None));
            return None;
        }
        self.networks.search(&self.config, scopes)
    }

    /// Logs that decisions on systems or countries cannot be enforced, when that begins.
    pub fn tell_unresolved(&mut self) {
        let unresolved = self.book.unresolved();
        if unresolved > 0 && !std::mem::replace(&mut self.has_unresolved, true) {
            warn!("CrowdSec \"{}\": {}", self.config.name, self.unresolved(unresolved));
        }
        self.has_unresolved = unresolved > 0;
    }

    pub fn note_networks(&mut self, found: FoundNetworks) {
        self.networks.note(found, &mut self.book);
    }

    /// Records entries that could not be enforced. The next full answer tries them again.
    pub fn note_refused(&mut self, refused: RefusedEntries) {
        if self.refused.is_none() {
            warn!("CrowdSec \"{}\": {}", self.config.name, refused.told());
        }
        match &mut self.refused {
            Some(before) => before.add(refused),
            none => *none = Some(refused),
        }
    }
}

/// Why decisions stay that LAPI does not name any more.
pub fn held_back(decisions: u64) -> Explanation {
    let decisions = counted_as(decisions, ["decision is", "decisions are"]);
    Explanation::new(
        format!("LAPI no longer names many of its decisions: {decisions} kept until they end"),
        "this is usual after CrowdSec has lost its database; `cscli decisions list` shows what it has\n\
         to follow LAPI nevertheless, raise `max_shrink` under `crowdsec:`, then run `filterd reload`",
    )
}

/// This time, varied by up to a tenth, so that not all hosts ask at once.
fn spread(time: Duration) -> Duration {
    after_success(time, RandomNumber::new())
}
