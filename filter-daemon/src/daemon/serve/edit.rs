//! `add`, `remove` and `flush`: each becomes changes, and is answered when they are made and on disk.

use std::sync::Arc;

use super::answer;
use super::failure::{belongs_elsewhere, not_done, not_durable, partly_flushed, reserved};
use super::question::{held, longer};
use crate::blocklist::{Blocklist, Change, DEFAULT_LIST, From, ListId, Origin, Targets};
use crate::clock;
use crate::config::ListName;
use crate::control::ReplyTo;
use crate::control::wire::{Changed, Emptied, Failure, add, flush, remove};
use crate::daemon::change::{self, Done};
use crate::daemon::commit::NotDone;
use crate::daemon::flush::{Flush, Flushed};
use crate::daemon::owner::Owner;
use crate::daemon::pages::Parts;
use crate::daemon::persistence::Outcome;
use crate::journal::NotWritten;

/// Whoever adds more targets than this reads no more than how many they were.
const MOST_LOOKED_AT: usize = 100;

impl Owner {
    pub(super) fn add(&mut self, request: add::Request, reply: ReplyTo<Changed>) {
        let add::Request { targets, list, ttl, note, shorten } = request;
        let list: Arc<str> = list.as_ref().map_or(DEFAULT_LIST, ListName::as_str).into();
        if let Err(failure) = self.must_be_live(&list) {
            return answer(reply, Err(failure));
        }
        let (until, note) = (ttl.map(clock::after), note.map(Arc::from));
        let page = |targets| {
            let (list, note) = (list.clone(), note.clone());
            Change::Want { list, origin: Origin::Live, until, shorten, note, targets }
        };
        let targets: Targets = targets.into_iter().collect();
        let named = targets.len() as u64;
        let (idle, except) = (self.idle(), self.except());
        let few = (targets.len() <= MOST_LOOKED_AT).then(|| targets.clone());
        self.carry_out(&targets, page, reply, move |done, blocklist| {
            let longer = few.map(|targets| longer(blocklist, &targets, until)).unwrap_or_default();
            Changed { idle, except, longer, ..changed(named, done) }
        });
    }

    pub(super) fn remove(&mut self, request: remove::Request, reply: ReplyTo<Changed>) {
        let remove::Request { targets, list } = request;
        let targets: Targets = targets.into_iter().collect();
        let idle = self.idle();
        let from = match list.as_ref().map(|name| self.live_list(name.as_str())) {
            Some(Err(failure)) => return answer(reply, Err(failure)),
            Some(Ok(None)) => {
                let held = held(self.protection.blocklist(), &targets, 0);
                let nothing = changed(targets.len() as u64, Done::default());
                let (nothing, durable) = (Ok(Changed { idle, held, ..nothing }), self.config.durable);
                return answer_when_written(nothing, reply, durable, &mut self.parts(), Outcome::default());
            }
            Some(Ok(Some(_))) | None => {
                list.map_or(From::EveryLiveList, |name| From::List(name.as_str().into()))
            }
        };
        let (page, all) = (|targets| Change::Release { from: from.clone(), targets }, targets.clone());
        self.carry_out(&targets, page, reply, move |done, blocklist| {
            let held = held(blocklist, &all, done.left);
            Changed { idle, held, ..changed(all.len() as u64, done) }
        });
    }

    pub(super) fn flush(&mut self, request: flush::Request, reply: ReplyTo<Changed>) {
        let lists = match request.list.map(|name| self.live_list(name.as_str())) {
            Some(Ok(list)) => list.into_iter().collect(),
            Some(Err(failure)) => return answer(reply, Err(failure)),
            None => self.protection.blocklist().lists().live().collect(),
        };
        let (idle, durable) = (self.idle(), self.config.durable);
        let answer =
            move |flushed: Flushed, failed: Option<NotDone>, parts: &mut Parts<'_>, outcome: Outcome| {
                let answered = match failed {
                    None => Ok(Changed { idle, ..emptied(flushed) }),
                    Some(error) => Err(partly_flushed(flushed.done, error)),
                };
                answer_when_written(answered, reply, durable, parts, outcome);
            };
        self.pages.push(Flush::new(lists, Box::new(answer)));
    }

    /// At once if it is one page and there is room, else page by page, while others are served.
    fn carry_out(
        &mut self,
        targets: &Targets,
        page: impl Fn(Targets) -> Change,
        reply: ReplyTo<Changed>,
        tell: impl FnOnce(Done, &Blocklist) -> Changed + Send + 'static,
    ) {
        let durable = self.config.durable;
        let answer = move |result: Result<Done, NotDone>, parts: &mut Parts<'_>, outcome: Outcome| {
            let answered = result.map(|done| tell(done, parts.protection.blocklist())).map_err(not_done);
            answer_when_written(answered, reply, durable, parts, outcome);
        };
        let work = change::Request::new(targets, page, Box::new(answer));
        if let Some(work) = work.at_once(&mut self.parts()) {
            self.pages.push(work);
        }
    }

    /// A live list on which nothing is has no row: whoever empties it twice has done nothing wrong.
    fn live_list(&self, name: &str) -> Result<Option<ListId>, Failure> {
        self.must_be_live(name)?;
        Ok(self.protection.blocklist().lists().find(name))
    }

    /// Some names belong to the configuration, or to filterd itself, even while their lists are empty.
    fn must_be_live(&self, name: &str) -> Result<(), Failure> {
        let lists = self.protection.blocklist().lists();
        let is_elsewhere = lists.find(name).is_some_and(|id| !lists.get(id).origin.is_live());
        let is_reserved = || name.parse::<ListName>().is_ok_and(|name| name.is_reserved());
        if is_elsewhere || self.configuration.trial.reserves(name) {
            return Err(belongs_elsewhere(name));
        }
        if name != DEFAULT_LIST && is_reserved() { Err(reserved(name)) } else { Ok(()) }
    }
}

/// Once what was changed is on disk, if that is what the configuration wants.
fn answer_when_written(
    answered: Result<Changed, Failure>,
    reply: ReplyTo<Changed>,
    durable: bool,
    parts: &mut Parts<'_>,
    outcome: Outcome,
) {
    let records = parts.protection.take_records();
    if !durable {
        parts.persistence.write_soon(records);
        return answer(reply, answered);
    }
    if records.is_empty() && !outcome.is_expected() {
        // It was so before, but perhaps not on disk.
        let not_durable = parts.persistence.refusal().map(not_durable);
        return answer(reply, answered.map(|changed| Changed { not_durable, ..changed }));
    }
    let told = move |written: Result<(), NotWritten>| {
        outcome.note(written);
        let not_durable = outcome.get().err().map(not_durable);
        answer(reply, answered.map(|changed| Changed { not_durable, ..changed }));
    };
    parts.persistence.write(records, Box::new(told));
}

fn changed(named: u64, done: Done) -> Changed {
    let Done { changed, entered, left } = done;
    Changed { named, changed, entered, left, ..Changed::default() }
}

fn emptied(flushed: Flushed) -> Changed {
    let list = |(name, entries): (Arc<str>, u64)| Emptied { name: name.to_string(), entries };
    let lists = flushed.lists.into_iter().map(list).collect();
    Changed { lists, ..changed(flushed.done.changed, flushed.done) }
}
