//! Follows the decisions of CrowdSec: asks each LAPI, CrowdSec's local API, and enforces what it has decided.
//!
//! `source` is one LAPI with its decisions and the time of its next poll. `poll` asks it, on a separate
//! thread. `enforce` brings the differences into the blocklist, page by page. `networks` looks up autonomous
//! systems and countries, and `told` reports the state to users. Only the filterd that is in charge polls.

mod enforce;
mod networks;
mod poll;
mod source;
mod told;
mod unwritten;
mod usage;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tracing::warn;

use super::commit::Protection;
use super::core::Core;
use super::feeds::FetchTools;
use crate::blocklist::{BY_CROWDSEC, Blocklist, Bookmark, Origin, Record};
use crate::clock;
use crate::command::render::figure::counted_as;
use crate::config::Config;
use crate::control::wire::snapshot::Reply as Snapshot;
use crate::crowdsec::DecisionBook;
use crate::host::{HostRole, ProtectedAddress};
use enforce::Enforcing;
use networks::FoundNetworks;
use poll::{EndedPoll, Poll};
use source::LapiSource;
use unwritten::UnwrittenEntries;
use usage::{EndedReport, PacketTotals};

/// How many entries are read from the blocklist in one step. This limits memory only.
const READ_AT_ONCE: usize = 8192;

/// How long the end of filterd waits for the last reports of usage.
const LAST_REPORTS: Duration = Duration::from_secs(2);

/// The part of the owner's state that concerns CrowdSec.
pub struct CrowdSec {
    means: FetchTools,
    sources: Vec<LapiSource>,
    running: JoinSet<CrowdSecEvent>,
    /// The number of polls begun.
    begun: u64,
    /// The differences that are being brought into the blocklist.
    work: Option<Enforcing>,
    /// What was brought into it, and may not be on disk yet.
    unwritten: UnwrittenEntries,
    /// The decisions of LAPIs that the configuration no longer names, by the LAPI's name. They are in force until
    /// they are released.
    gone: BTreeMap<String, DecisionBook>,
    /// Whether books may have changed without an answer of LAPI, by a start or a reload with other ports.
    has_moved: bool,
    /// Whether a reload is on trial. What it would release stays until it is confirmed.
    is_on_trial: bool,
}

/// What ended on another thread.
pub enum CrowdSecEvent {
    Polled(EndedPoll),
    Searched(FoundNetworks),
    Reported(EndedReport),
}

/// By whom the entries of this LAPI are.
fn by(name: &str) -> Arc<str> {
    format!("{BY_CROWDSEC}{name}").into()
}

impl CrowdSec {
    /// Follows the LAPIs of this configuration. What the blocklist already has of them stays in force.
    pub fn begin(config: &Config, blocklist: &Blocklist, means: FetchTools) -> Self {
        let mut this = Self {
            means,
            sources: Vec::new(),
            running: JoinSet::new(),
            begun: 0,
            work: None,
            unwritten: UnwrittenEntries::default(),
            gone: BTreeMap::new(),
            has_moved: false,
            is_on_trial: false,
        };
        this.restore(blocklist);
        this.follow(config);
        this
    }

    /// Replaces the LAPIs by those of this configuration. A changed one is asked again at once, and for
    /// everything.
    pub fn follow(&mut self, config: &Config) {
        let mut before = std::mem::take(&mut self.sources);
        for wanted in &config.crowdsec {
            let known = before.iter().position(|source| source.config.name == wanted.name);
            self.sources.push(match known.map(|index| before.swap_remove(index)) {
                // A reload asks at once, whatever wait a failure has caused.
                Some(mut source) if source.config == *wanted => {
                    source.ask_for_everything();
                    source
                }
                Some(source) => source.with(wanted.clone()),
                None => LapiSource::new(wanted.clone(), self.gone.remove(&wanted.name)),
            });
        }
        let gone = before.into_iter().filter(|source| source.book.entries() > 0);
        self.gone.extend(gone.map(|source| (source.config.name.clone(), source.into_book())));
        self.has_moved = true;
    }

    /// What a reload with this configuration releases.
    pub fn warnings_of_gone(&self, config: &Config, is_tried: bool) -> Vec<String> {
        let is_gone = |source: &&LapiSource| config.crowdsec.iter().all(|one| one.name != source.config.name);
        let gone = self.sources.iter().filter(is_gone).filter(|source| source.book.entries() > 0);
        gone.map(|source| {
            let (name, entries) = (&source.config.name, source.book.entries() as u64);
            let entries = match is_tried {
                true => counted_as(entries, ["entry stays", "entries stay"]) + " until `filterd confirm`",
                false => counted_as(entries, ["entry is", "entries are"]) + " released",
            };
            format!("CrowdSec \"{name}\" is no longer configured: its {entries}")
        })
        .collect()
    }

    /// Takes over entries that the blocklist has, from an earlier filterd. They have no LAPI yet.
    fn restore(&mut self, blocklist: &Blocklist) {
        let is_remote = |list| blocklist.lists().get(list).origin == Origin::Remote;
        // The search goes through the entries of all lists.
        let has_any = blocklist.lists().iter().any(|(list, _)| is_remote(list));
        let mut from = has_any.then(Bookmark::default);
        while let Some(begin) = from {
            let (records, next) = blocklist.as_records(begin, READ_AT_ONCE, is_remote);
            for record in records {
                let Record::Want { list, until, note, by: whose, targets, .. } = record else { continue };
                let name =
                    whose.as_deref().and_then(|whose| whose.strip_prefix(BY_CROWDSEC)).unwrap_or_default();
                let until = until.unwrap_or_else(clock::now);
                let new = || DecisionBook::new(name, None);
                let book = self.gone.entry(name.to_owned()).or_insert_with(new);
                targets.iter().for_each(|target| book.restore(list.clone(), target, until, note.clone()));
            }
            from = next;
        }
    }

    /// The time until the next poll is due.
    pub fn until_due(&self) -> Option<Duration> {
        let poll =
            self.sources.iter().filter_map(LapiSource::until_due).min().filter(|_| self.means.can_fetch());
        let is_due = self.has_moved || self.may_release();
        let release = (is_due && self.work.is_none()).then_some(Duration::ZERO);
        poll.into_iter().chain(self.until_report()).chain(release).min()
    }

    /// Whether there are entries to release of LAPIs that are not configured any more. What no LAPI confirms goes
    /// only when all of them have answered, and never for a reload that is on trial.
    fn may_release(&self) -> bool {
        let have_answered = self.sources.iter().all(LapiSource::has_answered_fully);
        !self.gone.is_empty() && have_answered && !self.is_on_trial
    }

    /// Starts the polls that are due. Returns whether there is something to enforce or release.
    pub fn mind(&mut self, is_on_trial: bool) -> bool {
        self.is_on_trial = is_on_trial;
        self.begin_polls();
        self.has_moved || self.may_release()
    }

    fn begin_polls(&mut self) {
        if !self.means.can_fetch() {
            return;
        }
        for source in &mut self.sources {
            if source.until_due().is_some_and(|left| left.is_zero()) {
                self.begun += 1;
                let (number, means) = (self.begun, self.means.clone());
                let poll = Poll { order: source.order(), number, means };
                source.note_begun(number);
                self.running.spawn_blocking(move || CrowdSecEvent::Polled(poll.run()));
            }
        }
    }

    fn named(&mut self, name: &str) -> Option<&mut LapiSource> {
        self.sources.iter_mut().find(|source| source.config.name == name)
    }

    /// Whether a report of usage is due.
    pub fn must_report(&self) -> bool {
        self.until_report().is_some_and(|left| left.is_zero())
    }

    fn until_report(&self) -> Option<Duration> {
        self.sources.iter().filter_map(LapiSource::until_report).min().filter(|_| self.means.can_fetch())
    }

    /// Begins to report usage to the LAPIs that answer: where a report is due, or to all because filterd ends.
    /// Takes the counts of this snapshot; `dropped` returns the packets dropped for a list, even if the list is
    /// gone. Returns the number of reports.
    pub fn report(&mut self, snapshot: &Snapshot, dropped: impl Fn(&str) -> u64, is_last: bool) -> usize {
        let mut begun = 0;
        for source in &mut self.sources {
            let one = snapshot.crowdsec.iter().find(|one| one.name == source.config.name);
            let is_due = source.until_report().is_some_and(|left| is_last || left.is_zero());
            let Some(one) = one.filter(|_| is_due) else { continue };
            let totals = PacketTotals::of(snapshot, one, source.book.known_origins(), &dropped);
            if let Some(report) = source.usage.begin(&source.config, &self.means, totals, snapshot.started) {
                self.running.spawn_blocking(move || CrowdSecEvent::Reported(report.run()));
                begun += 1;
            }
        }
        begun
    }

    /// Whether LAPIs answer, which take a last report of usage.
    pub fn has_last_reports(&self) -> bool {
        self.means.can_fetch() && self.sources.iter().any(|source| source.until_report().is_some())
    }

    /// Waits for the results of this many last reports, and at most two seconds.
    pub async fn end_last_reports(&mut self, mut begun: usize) {
        let ended = tokio::time::timeout(LAST_REPORTS, async {
            while begun > 0 {
                let CrowdSecEvent::Reported(ended) = self.ended().await else { continue };
                begun -= 1;
                if let Some(source) = self.named(&ended.name) {
                    source.usage.note(ended);
                }
            }
        });
        if ended.await.is_err() {
            warn!("CrowdSec did not take the last usage metrics within {} s", LAST_REPORTS.as_secs());
        }
    }

    /// Waits until a poll or a search ends, or forever if none is running.
    pub async fn ended(&mut self) -> CrowdSecEvent {
        match self.running.join_next().await {
            Some(done) => done.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())),
            None => std::future::pending().await,
        }
    }

    /// Records the results of what has ended.
    pub fn note(&mut self, event: CrowdSecEvent) {
        match event {
            CrowdSecEvent::Polled(ended) => {
                let Some(source) = self.sources.iter_mut().find(|source| source.is_running(&ended)) else {
                    return;
                };
                source.note(ended);
                match source.search() {
                    Some(search) => {
                        self.running.spawn_blocking(move || CrowdSecEvent::Searched(search.run()));
                    }
                    None => source.tell_unresolved(),
                }
            }
            CrowdSecEvent::Searched(found) => {
                if let Some(source) = self.named(&found.source) {
                    source.note_networks(found);
                    source.tell_unresolved();
                }
            }
            CrowdSecEvent::Reported(ended) => {
                if let Some(source) = self.named(&ended.name) {
                    source.usage.note(ended);
                }
            }
        }
    }

    /// Begins to enforce what is new. Returns false if there is nothing, or if something is being enforced.
    pub fn begin_to_enforce(&mut self, protection: &Protection) -> bool {
        if self.work.is_some() {
            return false;
        }
        self.has_moved = false;
        let blocklist = protection.blocklist();
        let mut work = Enforcing::new(self.unwritten.clone());
        for source in &mut self.sources {
            let changes = source.book.take_changes(clock::now());
            if !changes.is_empty() {
                let lists = blocklist.lists();
                let names = source.lists();
                let has = names.iter().filter_map(|list| lists.find(list));
                let entries: u64 = has.map(|id| lists.get(id).entries).sum();
                work.add(&source.config, changes, source.config.max_entries.saturating_sub(entries));
            }
        }
        if self.may_release() {
            let gone = std::mem::take(&mut self.gone).into_values();
            work.release(gone.flat_map(DecisionBook::into_entries));
        }
        self.work = (!work.is_empty()).then_some(work);
        self.work.is_some()
    }

    /// Enforces the next page, once there is room, and then what is new.
    pub fn enforce_page(&mut self, core: &mut Core) -> Option<ControlFlow<()>> {
        if let Some(work) = &mut self.work
            && work.page(core)?.is_continue()
        {
            return Some(ControlFlow::Continue(()));
        }
        let done = self.work.take()?;
        done.tell_log();
        for (name, refused) in done.into_refused() {
            if let Some(source) = self.named(&name) {
                source.note_refused(refused);
            }
        }
        let goes_on = self.begin_to_enforce(&core.protection);
        Some(if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    }

    /// The addresses where LAPIs on other hosts were last reached. Lists must not block them.
    pub fn facts(&self) -> Vec<ProtectedAddress> {
        let reached = self.sources.iter().flat_map(|source| {
            let named: Option<IpAddr> = source.config.url.host().parse().ok();
            let all = named.into_iter().chain(source.reached.iter().copied()).collect::<BTreeSet<_>>();
            all.into_iter().map(|address| (source.config.name.clone(), address.to_canonical()))
        });
        let elsewhere = reached.filter(|(_, address): &(String, IpAddr)| !address.is_loopback());
        elsewhere
            .map(|(name, address)| ProtectedAddress { address, what: HostRole::CrowdSec(name) })
            .collect()
    }
}
