//! What each request does.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use filter_common::packet::Source;
use filter_common::target::Target;
use filter_common::verdict::Verdict;
use tokio::sync::oneshot;

use super::owner::Owner;
use crate::blocklist::{Claim, Effects, Kind, List, ListId, Record, Targets, Timestamp, Wish};
use crate::clock;
use crate::config::ListName;
use crate::control::wire::list::{self, Family};
use crate::control::wire::remove::{self, Held, HeldBy};
use crate::control::wire::{self, Asked, Call, Changed, Entry, Failure, add, flush, ping, test};
use crate::kernel::KernelError;
use crate::text::Explanation;

/// The list of those who add without naming one.
pub(super) const DEFAULT_LIST: &str = "manual";

/// How many targets that stay blocked are told by name.
const MOST_HELD: usize = 100;

impl Owner {
    /// Carries a request out.
    pub fn serve(&mut self, call: Call) {
        match call {
            Call::Add(Asked { request, reply }) => {
                let answered = self.add(request);
                self.answer_when_written(answered, reply);
            }
            Call::Remove(Asked { request, reply }) => {
                let answered = self.remove(request);
                self.answer_when_written(answered, reply);
            }
            Call::Flush(Asked { request, reply }) => {
                let answered = self.flush(request);
                self.answer_when_written(answered, reply);
            }
            Call::Test(Asked { request, reply }) => {
                let tested = request.addresses.into_iter().map(|address| self.test(address)).collect();
                answer(reply, Ok(test::Reply { tested }));
            }
            Call::List(Asked { request, reply }) => answer(reply, self.list_page(request)),
            Call::Status(Asked { reply, .. }) => answer(reply, Ok(self.status())),
            Call::Stats(Asked { reply, .. }) => answer(reply, self.stats().map_err(kernel_failed)),
            Call::Ping(Asked { reply, .. }) => answer(reply, Ok(pong())),
            Call::HandOver(Asked { reply, .. }) => answer(reply, Ok(pong())),
            Call::Reload(Asked { reply, .. }) => self.begin_reload(vec![reply]),
        }
    }

    fn add(&mut self, request: add::Request) -> Result<Changed, Failure> {
        let add::Request { targets, list, ttl, note } = request;
        let name = list.as_ref().map_or(DEFAULT_LIST, ListName::as_str);
        let list = self.blocklist.lists_mut().get_or_make(name, Kind::Live);
        let list = list.map_err(|_| Failure::Refused("there are 65,536 lists already".into()))?;
        self.must_be_live(list)?;
        let targets: Targets = targets.iter().copied().collect();
        self.reserve(targets.iter()).map_err(kernel_failed)?;
        let claim =
            Claim { list, since: clock::now(), until: ttl.map(clock::after), note: note.map(Arc::from) };
        let mut effects = Effects::default();
        let changed = self.blocklist.extend(&targets, &claim, &mut effects);
        if let Err(error) = self.filter.apply(&effects, &self.blocklist) {
            self.let_go_of(&effects.block.entered, list);
            return Err(kernel_failed(error));
        }
        let count = changed.len();
        let Claim { since, until, note, .. } = claim;
        self.unsaved.push(Record::Want { list: self.name_of(list), since, until, note, targets: changed });
        Ok(summary(&targets, count, &effects))
    }

    fn remove(&mut self, request: remove::Request) -> Result<Changed, Failure> {
        let remove::Request { targets, list } = request;
        let only = list.map(|name| self.live_list(name.as_str())).transpose()?;
        let targets: Targets = targets.iter().copied().collect();
        let mut effects = Effects::default();
        let mut released = BTreeMap::<ListId, Targets>::new();
        let mut changed = 0;
        self.blocklist.prefetch(&targets);
        for target in targets.iter() {
            let lets_go = |id, list: &List| list.kind == Kind::Live && only.is_none_or(|only| only == id);
            let lists = self.blocklist.remove_from(target, lets_go, &mut effects);
            changed += usize::from(!lists.is_empty());
            lists.into_iter().for_each(|list| released.entry(list).or_default().push(target));
        }
        for (list, targets) in released {
            self.unsaved.push(Record::Release { list: self.name_of(list), targets });
        }
        self.filter.apply(&effects, &self.blocklist).map_err(kernel_failed)?;
        let may_be_held = effects.block.left.len() < targets.len() || self.blocklist.has_prefixes();
        let held = targets.iter().filter(|_| may_be_held).filter_map(|target| self.held(target));
        let held = held.take(MOST_HELD).collect();
        Ok(Changed { held, ..summary(&targets, changed, &effects) })
    }

    fn flush(&mut self, request: flush::Request) -> Result<Changed, Failure> {
        let lists = match request.list {
            Some(name) => vec![self.live_list(name.as_str())?],
            None => self
                .blocklist
                .lists()
                .iter()
                .filter(|(_, list)| list.kind == Kind::Live)
                .map(|(id, _)| id)
                .collect(),
        };
        let held = lists.iter().map(|list| self.blocklist.lists().get(*list).targets).sum();
        let mut effects = Effects::default();
        for list in lists {
            self.blocklist.release(list, &mut effects);
            self.unsaved.push(Record::ReleaseAll { list: self.name_of(list) });
        }
        self.filter.apply(&effects, &self.blocklist).map_err(kernel_failed)?;
        let left = effects.block.left.len() as u64;
        Ok(Changed { named: held, changed: held, left, ..Changed::default() })
    }

    /// Asks the very tables that packets meet; the blocklist only says why.
    fn test(&self, address: IpAddr) -> test::Tested {
        let source = match address {
            IpAddr::V4(address) => Source::V4(address.to_bits()),
            IpAddr::V6(address) => Source::V6(address.to_bits().into()),
        };
        let listed = matches!(self.filter.judge(source), Verdict::Drop(_));
        let because: Vec<_> = self.blocklist.covering(address).into_iter().map(entry).collect();
        if listed == because.is_empty() {
            tracing::error!("{address}: the tables and the blocklist disagree, please report this");
        }
        test::Tested { address: address.to_string(), dropped: listed && self.config.enforce, because }
    }

    fn list_page(&self, request: list::Request) -> Result<list::Reply, Failure> {
        let list::Request { list, family, after, most } = request;
        let only = match list {
            Some(name) => {
                Some(self.blocklist.lists().find(name.as_str()).ok_or_else(|| no_list(name.as_str()))?)
            }
            None => None,
        };
        let keep =
            |target: Target, list: ListId| only.is_none_or(|only| only == list) && is_of(target, family);
        Ok(list::Reply { entries: self.blocklist.page(after, most, keep).into_iter().map(entry).collect() })
    }

    /// The entries that still block all of `target`.
    fn held(&self, target: Target) -> Option<Held> {
        let (first, length) = beginning(target);
        let around =
            self.blocklist.covering(first).into_iter().filter(|wish| beginning(wish.target).1 <= length);
        let by: Vec<_> = around.map(|wish| self.held_by(&wish)).collect();
        let mut lists: Vec<_> = by.iter().map(|by| by.list.clone()).collect();
        lists.sort();
        lists.dedup();
        (!by.is_empty()).then(|| Held { target: target.to_string(), lists, by })
    }

    fn held_by(&self, wish: &Wish) -> HeldBy {
        let list = self.blocklist.lists().find(&wish.list).map(|list| self.blocklist.lists().get(list));
        let origin = list.map(|list| list.kind.name().to_owned()).unwrap_or_default();
        HeldBy { target: wish.target.to_string(), list: wish.list.to_string(), origin }
    }

    fn let_go_of(&mut self, targets: &Targets, list: ListId) {
        let mut effects = Effects::default();
        targets.iter().for_each(|target| _ = self.blocklist.remove(target, list, &mut effects));
        if let Err(error) = self.filter.apply(&effects, &self.blocklist) {
            tracing::error!("{error}");
        }
    }

    fn live_list(&self, name: &str) -> Result<ListId, Failure> {
        let list = self.blocklist.lists().find(name).ok_or_else(|| no_list(name))?;
        self.must_be_live(list)?;
        Ok(list)
    }

    pub(super) fn is_live(&self, list: ListId) -> bool {
        self.blocklist.lists().get(list).kind == Kind::Live
    }

    fn name_of(&self, list: ListId) -> Arc<str> {
        self.blocklist.lists().get(list).name.clone()
    }

    fn must_be_live(&self, list: ListId) -> Result<(), Failure> {
        if self.is_live(list) {
            return Ok(());
        }
        let name = &self.blocklist.lists().get(list).name;
        let message = format!("list {name} belongs to the configuration");
        Err(Failure::Refused(Explanation::new(message, "change it there, then `filterd reload`")))
    }
}

fn summary(targets: &Targets, changed: usize, effects: &Effects) -> Changed {
    Changed {
        named: targets.len() as u64,
        changed: changed as u64,
        entered: effects.block.entered.len() as u64,
        left: effects.block.left.len() as u64,
        held: Vec::new(),
    }
}

fn entry(wish: Wish) -> Entry {
    Entry {
        target: wish.target.to_string(),
        list: wish.list.to_string(),
        since: wish.since.secs(),
        until: wish.until.map(Timestamp::secs),
        note: wish.note.map(|note| note.to_string()),
    }
}

fn is_of(target: Target, family: Option<Family>) -> bool {
    match (family, target) {
        (None, _) | (Some(Family::Four), Target::V4(_)) | (Some(Family::Six), Target::V6(_)) => true,
        (Some(Family::Four), Target::V6(_)) | (Some(Family::Six), Target::V4(_)) => false,
    }
}

/// Its first address, and how long a prefix it is.
fn beginning(target: Target) -> (IpAddr, u8) {
    match target {
        Target::V4(prefix) => (IpAddr::V4(prefix.address().into()), prefix.length()),
        Target::V6(prefix) => (IpAddr::V6(prefix.address().into()), prefix.length()),
    }
}

fn no_list(name: &str) -> Failure {
    Failure::Unparsable(Explanation::new(
        format!("no such list: {name}"),
        "`filterd status` names those there are",
    ))
}

fn kernel_failed(error: KernelError) -> Failure {
    tracing::error!("{error}");
    Failure::Kernel(error.to_string().into())
}

fn pong() -> ping::Reply {
    ping::Reply { version: wire::VERSION, pid: std::process::id() }
}

/// A client that has gone meanwhile is told nothing.
fn answer<T>(reply: oneshot::Sender<Result<T, Failure>>, answered: Result<T, Failure>) {
    _ = reply.send(answered);
}
