//! What each request does.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use filter_common::packet::Source;
use filter_common::reason::Verdict;
use filter_common::target::Target;
use tracing::warn;

use super::change::{self, Done};
use super::commit::NotDone;
use super::error::DaemonError;
use super::flush::Flush;
use super::owner::{Answer, Owner};
use super::pages::Parts;
use super::persistence::Outcome;
use crate::blocklist::{
    Blocklist, Change, DEFAULT_LIST, From, ListId, NamedClaim, Origin, Refusal, Targets, Timestamp,
};
use crate::config::ListName;
use crate::control::wire::{self, Failure, Reply};
use crate::control::{Call, Family, Request};
use crate::exit::Exit;
use crate::journal::NotWritten;
use crate::kernel::KernelError;

/// How many targets that stay blocked are told by name.
const MOST_HELD: usize = 100;

type Answered = Result<Reply, Failure>;

impl Owner {
    /// Carries a request out, or begins to, and sees to it that it is answered.
    pub fn answer(&mut self, Call { request, reply }: Call) {
        let answered = match request {
            Request::Add { targets, list, ttl, note } => return self.add(&targets, list, ttl, note, reply),
            Request::Remove { targets, list } => return self.remove(&targets, list, reply),
            Request::Flush { list } => return self.flush(list, reply),
            Request::Test { addresses } => Ok(Reply::Tested {
                tested: addresses.into_iter().map(|address| self.test(address)).collect(),
            }),
            Request::List { list, family, after, most } => self.list_page(list, family, after, most),
            Request::Status => Ok(Reply::Status(self.status())),
            Request::Stats => self.stats().map(Reply::Stats).map_err(kernel_failed),
            Request::Ping | Request::HandOver => {
                Ok(Reply::Pong(wire::Pong { version: wire::VERSION, pid: std::process::id() }))
            }
            Request::Reload => {
                Err(Failure::InvalidRequest("a reload is answered when it has been read".into()))
            }
        };
        // A client that has gone meanwhile is told nothing, here and below.
        _ = reply.send(answered);
    }

    fn add(
        &mut self,
        targets: &[Target],
        list: Option<String>,
        ttl: Option<Duration>,
        note: Option<String>,
        reply: Answer,
    ) {
        let list: Arc<str> = list.as_deref().unwrap_or(DEFAULT_LIST).into();
        if let Err(failure) = self.must_be_live(&list) {
            _ = reply.send(Err(failure));
            return;
        }
        let (until, note) = (ttl.map(Timestamp::in_time), note.map(Arc::from));
        let page = |targets| Change::Want {
            list: list.clone(),
            origin: Origin::Live,
            until,
            note: note.clone(),
            targets,
        };
        let targets: Targets = targets.iter().copied().collect();
        let named = targets.len() as u64;
        self.carry_out(&targets, page, reply, move |done, _| changed(named, done));
    }

    fn remove(&mut self, targets: &[Target], list: Option<String>, reply: Answer) {
        let from = match list.map(|name| self.live_list(&name)).transpose() {
            Ok(list) => list.map_or(From::EveryLiveList, |id| {
                From::List(self.protection.blocklist().lists().get(id).name.clone())
            }),
            Err(failure) => {
                _ = reply.send(Err(failure));
                return;
            }
        };
        let targets: Targets = targets.iter().copied().collect();
        let (page, all) = (|targets| Change::Release { from: from.clone(), targets }, targets.clone());
        self.carry_out(&targets, page, reply, move |done, blocklist| {
            let held = held(blocklist, &all, done.left);
            wire::Changed { held, ..changed(all.len() as u64, done) }
        });
    }

    /// At once if it is one page and there is room, else page by page, while others are served.
    fn carry_out(
        &mut self,
        targets: &Targets,
        page: impl Fn(Targets) -> Change,
        reply: Answer,
        tell: impl FnOnce(Done, &Blocklist) -> wire::Changed + Send + 'static,
    ) {
        let durable = self.config.durable;
        let answer = move |result: Result<Done, NotDone>, parts: &mut Parts<'_>, outcome: Outcome| {
            let answered =
                result.map(|done| Reply::Changed(tell(done, parts.protection.blocklist()))).map_err(not_done);
            answer_when_written(answered, reply, durable, parts, outcome);
        };
        let work = change::Request::new(targets, page, Box::new(answer));
        let mut parts = Parts {
            protection: &mut self.protection,
            capacity: &mut self.capacity,
            persistence: &mut self.persistence,
        };
        if let Some(work) = work.at_once(&mut parts) {
            self.pages.push(work);
        }
    }

    fn flush(&mut self, list: Option<String>, reply: Answer) {
        let lists = match list {
            Some(name) => match self.live_list(&name) {
                Ok(list) => vec![list],
                Err(failure) => {
                    _ = reply.send(Err(failure));
                    return;
                }
            },
            None => {
                let lists = self.protection.blocklist().lists().iter();
                lists.filter(|(_, list)| list.origin.is_live()).map(|(id, _)| id).collect()
            }
        };
        let durable = self.config.durable;
        self.pages.push(Flush::new(
            lists,
            Box::new(move |done, failed, parts, outcome| {
                let answered = match failed {
                    None => Ok(Reply::Changed(changed(done.changed, done))),
                    Some(error) => Err(partly_flushed(done, error)),
                };
                answer_when_written(answered, reply, durable, parts, outcome);
            }),
        ));
    }

    /// Asks the very tables that packets meet; the blocklist only says why.
    fn test(&self, address: IpAddr) -> wire::Tested {
        let source = match address {
            IpAddr::V4(address) => Source::V4(address.to_bits()),
            IpAddr::V6(address) => Source::V6(address.to_bits().into()),
        };
        let filter = self.protection.filter();
        let is_listed = matches!(filter.judge(source), Verdict::Drop(_));
        let because = self.protection.blocklist().covering(Target::from(address));
        if is_listed == because.is_empty() {
            tracing::error!("{address}: the tables and the blocklist disagree, please report this");
        }
        let is_attached = self.interfaces.iter().any(|one| one.attached().is_some());
        wire::Tested {
            address: address.to_string(),
            dropped: is_listed && filter.settings().enforce && is_attached,
            because: because.into_iter().map(entry).collect(),
        }
    }

    fn list_page(
        &self,
        list: Option<String>,
        family: Option<Family>,
        mut after: Option<Target>,
        most: usize,
    ) -> Answered {
        let blocklist = self.protection.blocklist();
        let only = match list {
            Some(name) => Some(blocklist.lists().find(&name).ok_or_else(|| no_list(&name))?),
            None => None,
        };
        let keep =
            |target: Target, list: ListId| only.is_none_or(|only| only == list) && is_of(target, family);
        let mut entries = Vec::new();
        loop {
            let (page, next) = blocklist.page(after, most, keep);
            entries.extend(page.into_iter().map(entry));
            after = next;
            if entries.len() >= most || next.is_none() {
                return Ok(Reply::Listed { entries });
            }
        }
    }

    fn live_list(&self, name: &str) -> Result<ListId, Failure> {
        self.must_be_live(name)?;
        self.protection.blocklist().lists().find(name).ok_or_else(|| no_list(name))
    }

    /// Some names belong to the configuration, or to filterd itself, even while their lists are empty.
    fn must_be_live(&self, name: &str) -> Result<(), Failure> {
        let lists = self.protection.blocklist().lists();
        let is_elsewhere = lists.find(name).is_some_and(|id| !lists.get(id).origin.is_live());
        let is_reserved =
            name != DEFAULT_LIST && name.parse::<ListName>().is_ok_and(|name| name.is_reserved());
        if is_elsewhere || is_reserved { Err(belongs_elsewhere(name)) } else { Ok(()) }
    }
}

/// Once what was changed is on disk, if that is what the configuration wants.
fn answer_when_written(
    answered: Answered,
    reply: Answer,
    durable: bool,
    parts: &mut Parts<'_>,
    outcome: Outcome,
) {
    let records = parts.protection.take_records();
    if !durable {
        _ = reply.send(answered);
        return parts.persistence.write_soon(records);
    }
    if records.is_empty() && !outcome.is_expected() {
        _ = reply.send(answered);
        return;
    }
    let told = move |written: Result<(), NotWritten>| {
        outcome.note(written);
        _ = reply.send(answered.and_then(|reply| outcome.get().map(|()| reply).map_err(not_durable)));
    };
    parts.persistence.write(records, Box::new(told));
}

fn changed(named: u64, done: Done) -> wire::Changed {
    let Done { changed, entered, left } = done;
    wire::Changed { named, changed, entered, left, held: Vec::new() }
}

/// Which of these are still blocked, and by whom: by their own entries on other lists, or by wider ones.
fn held(blocklist: &Blocklist, targets: &Targets, left: u64) -> Vec<wire::Held> {
    let may_be_held = left < targets.len() as u64 || blocklist.has_prefixes();
    let of = |target: Target| {
        let mut lists: Vec<String> =
            blocklist.covering(target).iter().map(|claim| claim.list.to_string()).collect();
        lists.sort();
        lists.dedup();
        (!lists.is_empty()).then(|| wire::Held { target: target.to_string(), lists })
    };
    targets.iter().filter(|_| may_be_held).filter_map(of).take(MOST_HELD).collect()
}

fn entry(claim: NamedClaim) -> wire::Entry {
    wire::Entry {
        target: claim.target.to_string(),
        list: claim.list.to_string(),
        since: claim.since.secs(),
        until: claim.until.map(Timestamp::secs),
        note: claim.note.map(|note| note.to_string()),
    }
}

fn is_of(target: Target, family: Option<Family>) -> bool {
    match (family, target) {
        (None, _) | (Some(Family::Four), Target::V4(_)) | (Some(Family::Six), Target::V6(_)) => true,
        (Some(Family::Four), Target::V6(_)) | (Some(Family::Six), Target::V4(_)) => false,
    }
}

fn no_list(name: &str) -> Failure {
    Failure::Unparsable(format!("there is no list {name}\n`filterd status` names those there are").into())
}

fn belongs_elsewhere(name: &str) -> Failure {
    let message = format!("list {name} belongs to the configuration: change it there, then `filterd reload`");
    Failure::Refused(message.into())
}

fn not_done(error: NotDone) -> Failure {
    match error {
        NotDone::Kernel(error) => kernel_failed(error),
        NotDone::Refused(Refusal::NoSuchList(name)) => no_list(&name),
        NotDone::Refused(Refusal::BelongsElsewhere { name, .. }) => belongs_elsewhere(&name),
        NotDone::Refused(refusal @ Refusal::TooManyLists) => Failure::Refused(refusal.to_string().into()),
    }
}

fn partly_flushed(done: Done, error: NotDone) -> Failure {
    let count = done.changed;
    Failure::Kernel(format!("{error}\n{count} entries were removed before that, and stay removed").into())
}

/// Why a reload changed nothing.
pub(super) fn reload_failed(error: DaemonError) -> Failure {
    let told = error.to_string().into();
    if Exit::from(&error) == Exit::Config { Failure::InvalidConfig(told) } else { Failure::Kernel(told) }
}

fn kernel_failed(error: KernelError) -> Failure {
    tracing::error!("{error}");
    Failure::Kernel(error.to_string().into())
}

fn not_durable(failure: NotWritten) -> Failure {
    warn!("{failure}");
    let message = format!("done, but it would not survive a restart: {failure}");
    Failure::NotDurable(message.into())
}
