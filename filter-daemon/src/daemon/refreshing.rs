//! A refresh reads lists that were fetched, or that a client named, with the configuration in force. Their
//! changes take effect like those of a reload. It waits while a trial is on: nothing else may change then.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use tracing::{error, info};

use super::applying::{apply, read, save};
use super::crowdsec::CrowdSecEvent;
use super::error::DaemonError;
use super::feeds::EndedFetch;
use super::jobs::Turn;
use super::owner::Owner;
use super::reading::RefreshRequest;
use super::refresh::{ContentsMark, WaitingRefresh};
use super::reload::{AppliedReload, Loaded, RunningReload};
use crate::blocklist::Origin;
use crate::clock;
use crate::config::ListName;
use crate::control::ReplyTo;
use crate::control::wire::refresh::{Outcome, Refreshed, Reply};
use crate::control::wire::reload::Reply as Reloaded;
use crate::control::wire::{About, Failure, Fault};
use crate::text::Explanation;

/// Reads lists, and applies what has changed in them.
pub async fn refresh(turn: Turn<Owner>, asked: RefreshRequest) {
    let lists = asked.lists.clone();
    let refreshed = carry_out(&turn, asked).await;
    turn.now(|owner| owner.end_refresh(&lists, &refreshed));
}

async fn carry_out(turn: &Turn<Owner>, asked: RefreshRequest) -> Result<Reloaded, DaemonError> {
    let (config, known) = turn.now(|owner| (owner.configuration.config.clone(), owner.known_lists()));
    let RefreshRequest { lists, uncopied } = asked;
    let loaded = read(turn, move |sources| Loaded::refresh(config, &known, &lists, &uncopied, sources)).await;
    let reload = turn.now(|owner| {
        RunningReload::begin(loaded, owner.core.protection.blocklist_mut(), &mut owner.core.lists.sources)
    })?;
    let AppliedReload { mut reloaded, to_keep, .. } = apply(turn, reload).await?;
    save(turn, to_keep, &mut reloaded).await;
    Ok(reloaded)
}

impl Owner {
    /// Fetches these lists if they have a URL, and reads them. Without names, refreshes all that are fetched.
    pub(super) fn refresh(&mut self, lists: Vec<ListName>, reply: ReplyTo<Reply>) {
        let lists = match self.refreshable(&lists) {
            Ok(lists) => lists,
            Err(failure) => {
                _ = reply.send(Err(failure));
                return;
            }
        };
        if lists.is_empty() {
            _ = reply.send(Ok(Reply::default()));
            return;
        }
        let before = lists.iter().map(|list| self.contents(list)).collect();
        let fetching = self.sources.feeds.ask(&lists);
        // Lists that are not fetched are read at once.
        self.sources.refreshing.waiting.push(WaitingRefresh {
            lists,
            fetching,
            before,
            so_far: Reloaded::default(),
            reply,
        });
        self.read_what_is_fetched();
    }

    fn refreshable(&self, named: &[ListName]) -> Result<Vec<Arc<str>>, Failure> {
        let rows = self.core.protection.blocklist().lists();
        if let Some(other) = named.iter().find(|name| {
            let id = rows.find(name.as_str());
            id.is_none_or(|id| rows.get(id).origin != Origin::File)
        }) {
            return Err(match rows.find(other.as_str()) {
                None => super::serve::failure::no_list(other.as_str()),
                Some(_) => Failure::Refused(Explanation::new(
                    format!("list \"{other}\" has no source to read"),
                    "only lists with a `path` or a `url` in the configuration have one",
                )),
            });
        }
        let said = self.configuration.config.lists.iter();
        let is_meant = |list: &&crate::config::ListConfig| {
            if named.is_empty() { list.feed.is_some() } else { named.contains(&list.name) }
        };
        Ok(said.filter(is_meant).map(|list| list.name.as_str().into()).collect())
    }

    /// Reads the feeds again, and removes files of feeds that are gone.
    pub(super) fn begin_to_fetch(&mut self) {
        if !self.configuration.trial.is_on() {
            self.sources.feeds.tidy();
        }
        let feeds = self.configuration.config.lists.iter().filter(|list| list.feed.is_some());
        self.sources.readings.ask_refresh(feeds.map(|list| list.name.as_str().into()).collect::<Vec<_>>());
        self.read_next();
    }

    /// Checks the databases that are due, and reads the lists whose database changed.
    pub(super) fn mind_databases(&mut self) {
        let due = self.sources.databases.take_due();
        if !due.is_empty() {
            self.sources.readings.ask_refresh(due);
            self.read_next();
        }
    }

    /// Writes the copies that the disk refused again, if they are due.
    pub(super) fn write_copies_again(&mut self) {
        let Some(due) = self.core.lists.take_due(self.core.protection.blocklist()) else { return };
        if due.is_empty() {
            self.core.lists.save_again(self.configuration.save_target());
        } else {
            self.sources.readings.ask_copies(due);
            self.read_next();
        }
    }

    /// Handles an answer of CrowdSec.
    pub(super) fn note_crowdsec(&mut self, event: CrowdSecEvent) {
        let servers = self.crowdsec.facts();
        self.crowdsec.note(event);
        // Before the decisions are in force: they may contain the address of CrowdSec itself.
        if self.crowdsec.facts() != servers {
            self.guard.follow_servers(self.servers());
            self.guard.look_at_files(&mut self.core.protection);
        }
        self.enforce_decisions();
    }

    /// Begins to enforce decisions that are new, unless some are being enforced. A few are enforced at once: a
    /// request in between would see them noted, but not made.
    pub(super) fn enforce_decisions(&mut self) {
        if self.crowdsec.begin_to_enforce(&self.core.protection) {
            self.jobs.begin(
                async |turn: Turn<Self>| {
                    while turn.until_some(Self::enforce_page).await.is_continue() {}
                },
            );
        }
    }

    fn enforce_page(&mut self) -> Option<ControlFlow<()>> {
        self.crowdsec.enforce_page(&mut self.core)
    }

    /// Handles the end of a fetch, successful or not.
    pub(super) fn note_fetched(&mut self, came: EndedFetch) {
        let Some(done) = self.sources.feeds.note(came) else { return };
        // Before the fetched entries are in force: they may contain the feed's own server.
        self.guard.follow_servers(self.servers());
        self.guard.look_at_files(&mut self.core.protection);
        self.sources.readings.ask_refresh(done.lists);
        for waiting in &mut self.sources.refreshing.waiting {
            waiting.fetching.remove(&done.key);
        }
        self.read_what_is_fetched();
    }

    /// Stops waiting for feeds that the configuration no longer has.
    pub(super) fn forget_feeds_that_are_gone(&mut self) {
        for waiting in &mut self.sources.refreshing.waiting {
            waiting.fetching.retain(|key| self.sources.feeds.has(*key));
        }
        self.read_what_is_fetched();
    }

    /// Reads the lists of the clients whose feeds are all fetched.
    fn read_what_is_fetched(&mut self) {
        let all = self.sources.refreshing.waiting.iter().filter(|waiting| waiting.fetching.is_empty());
        let lists: Vec<_> = all.flat_map(|waiting| waiting.lists.clone()).collect();
        self.sources.readings.ask_refresh(lists);
        self.read_next();
    }

    /// Ends a refresh that is in force, with its copies on disk, or that was refused.
    fn end_refresh(&mut self, lists: &BTreeSet<Arc<str>>, refreshed: &Result<Reloaded, DaemonError>) {
        match refreshed {
            Ok(reloaded) => {
                self.sources.refreshing.refused = None;
                let read = lists.iter().map(|list| &**list);
                self.sources
                    .feeds
                    .judge(read, |list| self.core.lists.is_held_back(list, self.core.protection.blocklist()));
                self.sources.refreshing.add(lists, reloaded);
                super::reload::tell_log(reloaded);
                let Reloaded { entered, left, allowed, disallowed, .. } = reloaded;
                if entered + left + allowed + disallowed > 0 {
                    let names = told(lists);
                    let (verb, lists) = ("refresh", names.as_str());
                    info!(
                        entered,
                        left,
                        allowed,
                        disallowed,
                        watch.verb = verb,
                        watch.lists = lists,
                        "list updated: {names}"
                    );
                }
            }
            // Only copies were to be made. They are tried again.
            Err(_) if lists.is_empty() => {}
            Err(error) => {
                let message = format!(
                    "the fetched entries of {} are not in force: {}",
                    told(lists),
                    error.brief().message
                );
                let remedy =
                    error.brief().remedy.unwrap_or_else(|| "to retry: filterd lists refresh".to_owned());
                let since = self.sources.refreshing.refused.take().map(|fault| fault.since);
                let since = since.unwrap_or_else(|| clock::on_the_wall(clock::now()));
                let told = Explanation::new(message, remedy);
                error!("{told}");
                self.sources.refreshing.refused = Some(Fault { about: About::Lists, since, told, id: None });
            }
        }
        self.sources.readings.end();
        let refreshed = refreshed.as_ref().map(|_| ()).map_err(DaemonError::brief);
        self.tell_refreshed(&|waiting| waiting.iter().all(|list| lists.contains(list)), &refreshed);
        self.read_next();
    }

    /// Replies to the clients whose lists are all fetched and read.
    pub(super) fn tell_refreshed(
        &mut self,
        are_read: &dyn Fn(&[Arc<str>]) -> bool,
        refreshed: &Result<(), Explanation>,
    ) {
        let mut all = std::mem::take(&mut self.sources.refreshing.waiting);
        let told = all.extract_if(.., |waiting| waiting.fetching.is_empty() && are_read(&waiting.lists));
        for waiting in told {
            let lists = waiting.lists.iter().zip(&waiting.before);
            let lists = lists.map(|(list, before)| self.refreshed(list, *before, refreshed)).collect();
            let Reloaded { entered, left, allowed, disallowed, warnings, not_kept, .. } = waiting.so_far;
            let reply = Reply { entered, left, allowed, disallowed, warnings, lists, not_kept };
            // A client may have disconnected.
            _ = waiting.reply.send(Ok(reply));
        }
        self.sources.refreshing.waiting.append(&mut all);
    }

    fn refreshed(
        &self,
        list: &Arc<str>,
        before: Option<ContentsMark>,
        refreshed: &Result<(), Explanation>,
    ) -> Refreshed {
        let rows = self.core.protection.blocklist().lists();
        let row = rows.find(list).map(|id| rows.get(id));
        let trouble = rows.find(list).and_then(|id| self.core.lists.sources.trouble(id));
        let held_back =
            trouble.map(|trouble| Explanation::new(trouble.message.clone(), trouble.remedy.clone()));
        let not_fetched =
            self.sources.feeds.trouble(list, self.core.protection.blocklist(), &self.core.lists.sources);
        let on_trial = self.configuration.trial.refusal();
        if row.is_none() {
            let told = Explanation::new(
                format!("list \"{list}\" was removed from the configuration while it was fetched"),
                "see all lists: filterd lists",
            );
            let (list, outcome) = (list.to_string(), Outcome::Gone);
            return Refreshed { list, outcome, entries: 0, url: None, transfer: None, told: Some(told) };
        }
        let (outcome, told) = match (not_fetched, on_trial, refreshed) {
            (Some(told), ..) => (Outcome::NotFetched, Some(told)),
            (None, Some(told), _) => (Outcome::Waits, Some(told)),
            (None, None, Err(told)) => (Outcome::NotInForce, Some(told.clone())),
            (None, None, Ok(_)) if held_back.is_some() => (Outcome::HeldBack, held_back),
            (None, None, Ok(_)) if self.contents(list) == before => (Outcome::Unchanged, None),
            (None, None, Ok(_)) => (Outcome::Changed, None),
        };
        let (entries, url) = (row.map_or(0, |row| row.entries), self.sources.feeds.url(list));
        let transfer = self.sources.feeds.transfer(list);
        Refreshed { list: list.to_string(), outcome, entries, url, transfer, told }
    }

    /// The contents of a list, if any were ever accepted, and whether they are blocked or allowed.
    fn contents(&self, list: &str) -> Option<ContentsMark> {
        let rows = self.core.protection.blocklist().lists();
        let id = rows.find(list)?;
        let accepted = self.core.lists.sources.accepted(id)?;
        Some((rows.get(id).polarity, accepted.bytes, accepted.digest))
    }
}

fn told(lists: &BTreeSet<Arc<str>>) -> String {
    let names: Vec<_> = lists.iter().map(ToString::to_string).collect();
    names.join(", ")
}
