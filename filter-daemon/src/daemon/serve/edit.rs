//! `add`, `remove` and `flush`. Each request becomes changes, and is answered when they are made and on disk.

use std::sync::Arc;

use filter_common::target::Target;

use super::answer;
use super::failure::{
    belongs_elsewhere, follows_crowdsec, guard_list_refusal, not_done, not_durable, not_durable_before,
    other_polarity, partly_flushed, reserved,
};
use super::guarding::{self, GuardReport};
use super::own;
use super::question::{all_allowed, held, longer, overlapping, wider};
use crate::blocklist::{Blocklist, Change, ListId, Origin, Polarity, Reach, ReleaseFrom, Targets, Want};
use crate::clock;
use crate::config::ListName;
use crate::config::name::{GUARD_LIST, MANUAL_OUT_LIST, ReservedPrefix};
use crate::control::ReplyTo;
use crate::control::wire::{self, Changed, Emptied, Failure, MOST_LOOKED_AT, Widened, add, remove};
use crate::daemon::change::{self, ChangeTotals};
use crate::daemon::core::Core;
use crate::daemon::flush::{Flushed, flush};
use crate::daemon::names::default_list;
use crate::daemon::owner::Owner;
use crate::daemon::persistence::WriteOutcome;
use crate::journal::NotWritten;

impl Owner {
    pub(super) fn add(&mut self, polarity: Polarity, request: add::Request, reply: ReplyTo<Changed>) {
        let add::Request { targets, list, ttl, note, own, shorten, wide, by } = request;
        let list: Arc<str> = list.as_ref().map_or(default_list(polarity), ListName::as_str).into();
        if let Err(failure) = self.must_be_live(&list, polarity) {
            return answer(reply, Err(failure));
        }
        let direction = self.core.protection.blocklist().direction_of(&list, polarity);
        let (until, note, by) = (ttl.map(clock::after), note.map(Arc::from), by.map(Arc::from));
        let each = own::parted(&targets, own);
        let mut targets: Targets = targets.into_iter().collect();
        let reach = match polarity {
            Polarity::Block => self.core.protection.blocklist().lists().reach_of(&list),
            Polarity::Allow => Reach::AS_GIVEN,
        };
        let guarding = match polarity {
            Polarity::Block => GuardReport::of(&mut targets, reach, wide, self.guard.view_of_needed()),
            Polarity::Allow => guarding::allows_too_much(&targets, wide).map(|()| GuardReport::default()),
        };
        let mut guarding = match guarding {
            Ok(guarding) => guarding,
            Err(failure) => return answer(reply, Err(failure)),
        };
        if polarity == Polarity::Block {
            let servers = self.guard.give_way(&reach.all_of(&targets), &mut self.core.protection);
            guarding.warnings.extend(guarding::of_servers(&servers));
        }
        let (idle, except) = (self.idle(), self.except());
        let (all, of) =
            (targets.clone(), Want { shorten, by, ..Want::live(list, polarity, Targets::default()) });
        let pages: Vec<Change> = match each {
            None => change::pages(&targets, |targets| {
                Change::Want(Want { until, note: note.clone(), targets, ..of.clone() })
            }),
            Some(each) => own::pages(each, &targets, &of),
        };
        self.carry_out(targets, pages, reply, move |done, blocklist| {
            let mut changed = Changed { idle, except, ..changed(polarity, all.len() as u64, done) };
            let GuardReport { left_out, refused, around, warnings, needed } = guarding;
            changed.refused = left_out;
            (changed.guarded, changed.around) = (guarding::told(&refused), guarding::told(&around));
            (changed.warnings, changed.needed) = (warnings, needed);
            changed.widened = widened(&all, reach);
            if polarity == Polarity::Block {
                changed.allowed = all_allowed(blocklist, &all);
            }
            if all.len() <= MOST_LOOKED_AT {
                changed.longer = longer(blocklist, (polarity, direction), &all, until);
                (changed.covered, changed.covered_by) = wider(blocklist, (polarity, direction), &all);
                match polarity {
                    Polarity::Block => {
                        changed.allowed_by = overlapping(blocklist, Polarity::Allow, &all);
                        // Guarded addresses are reported separately.
                        changed.allowed_by.retain(|entry| entry.list != GUARD_LIST);
                    }
                    Polarity::Allow => changed.blocked_by = overlapping(blocklist, Polarity::Block, &all),
                }
            }
            changed
        });
    }

    pub(super) fn remove(&mut self, polarity: Polarity, request: remove::Request, reply: ReplyTo<Changed>) {
        let remove::Request { targets, list } = request;
        let targets: Targets = targets.into_iter().collect();
        let (idle, on_trial_until) = (self.idle(), self.configuration.trial.until());
        let from = match list.as_ref().map(|name| self.live_list(name.as_str(), polarity)) {
            Some(Err(failure)) => return answer(reply, Err(failure)),
            Some(Ok(None)) => {
                let held = held(self.core.protection.blocklist(), polarity, &targets, 0);
                let nothing = changed(polarity, targets.len() as u64, ChangeTotals::default());
                let (nothing, durable) =
                    (Changed { idle, held, on_trial_until, ..nothing }, self.configuration.config.durable);
                let nothing = Ok(nothing);
                return answer_when_written(nothing, reply, durable, &mut self.core, WriteOutcome::default());
            }
            Some(Ok(Some(_))) | None => list
                .map_or(ReleaseFrom::EveryLiveList(polarity), |name| ReleaseFrom::List(name.as_str().into())),
        };
        let pages = change::pages(&targets, |targets| Change::Release { from: from.clone(), targets });
        let all = targets.clone();
        self.carry_out(targets, pages, reply, move |done, blocklist| {
            let mut changed = Changed { idle, on_trial_until, ..changed(polarity, all.len() as u64, done) };
            changed.held = held(blocklist, polarity, &all, changed.left);
            if polarity == Polarity::Block && !changed.held.is_empty() {
                changed.allowed = all_allowed(blocklist, &all);
            }
            if polarity == Polarity::Allow && all.len() <= MOST_LOOKED_AT {
                changed.blocked_by = overlapping(blocklist, Polarity::Block, &all);
            }
            changed
        });
    }

    pub(super) fn flush(&mut self, request: wire::flush::Request, reply: ReplyTo<Changed>) {
        let blocklist = self.core.protection.blocklist();
        let polarity =
            request.list.as_ref().map_or(Polarity::Block, |name| kind_of(blocklist, name.as_str()));
        let lists = match request.list.map(|name| self.live_list(name.as_str(), polarity)) {
            Some(Ok(list)) => list.into_iter().collect(),
            Some(Err(failure)) => return answer(reply, Err(failure)),
            None => blocklist.lists().live(Polarity::Block).collect(),
        };
        let (idle, durable) = (self.idle(), self.configuration.config.durable);
        self.jobs.begin(move |turn| async move {
            let mut outcome = WriteOutcome::default();
            let (flushed, failed) = flush(&turn, lists, &mut outcome).await;
            let answered = match failed {
                None => Ok(Changed { idle, ..emptied(polarity, flushed) }),
                Some(error) => Err(partly_flushed(flushed.done, error)),
            };
            turn.now(|owner| answer_when_written(answered, reply, durable, &mut owner.core, outcome));
        });
    }

    /// Carries the request out page by page, while others are served. One page with room is done at once.
    fn carry_out(
        &mut self,
        targets: Targets,
        pages: Vec<Change>,
        reply: ReplyTo<Changed>,
        tell: impl FnOnce(ChangeTotals, &Blocklist) -> Changed + Send + 'static,
    ) {
        let durable = self.configuration.config.durable;
        self.jobs.begin(move |turn| async move {
            let mut outcome = WriteOutcome::default();
            let done = change::carry_out(&turn, targets, pages, &mut outcome).await;
            turn.now(|owner| {
                let answered =
                    done.map(|done| tell(done, owner.core.protection.blocklist())).map_err(not_done);
                answer_when_written(answered, reply, durable, &mut owner.core, outcome);
            });
        });
    }

    /// The live list of this name, if it has entries. An empty list is no error, so that flushing it twice
    /// succeeds.
    fn live_list(&self, name: &str, polarity: Polarity) -> Result<Option<ListId>, Failure> {
        self.must_be_live(name, polarity)?;
        Ok(self.core.protection.blocklist().lists().find(name))
    }

    /// Refuses names that belong to the configuration or to filterd itself, even if those lists are empty,
    /// and lists of the other polarity.
    fn must_be_live(&self, name: &str, polarity: Polarity) -> Result<(), Failure> {
        let lists = self.core.protection.blocklist().lists();
        let found = lists.find(name).map(|id| lists.get(id));
        let is_default = match Polarity::ALL.into_iter().find(|polarity| name == default_list(*polarity)) {
            None if name == MANUAL_OUT_LIST => Some(Polarity::Block),
            default => default,
        };
        if name == GUARD_LIST {
            return Err(guard_list_refusal(name));
        }
        let parsed = name.parse::<ListName>().ok();
        let is_of_crowdsec =
            parsed.is_some_and(|name| name.reserved_prefix() == Some(ReservedPrefix::CrowdSec));
        if found.map_or(is_of_crowdsec, |list| list.origin == Origin::Remote) {
            return Err(follows_crowdsec(name));
        }
        if found.is_some_and(|list| !list.origin.is_live()) || self.configuration.trial.reserves(name) {
            return Err(belongs_elsewhere(name, self.configuration.trial.is_on()));
        }
        if let Some(is) = found.map(|list| list.polarity).or(is_default).filter(|is| *is != polarity) {
            return Err(other_polarity(name, is));
        }
        let is_reserved =
            is_default.is_none() && name.parse::<ListName>().is_ok_and(|name| name.is_reserved());
        if is_reserved { Err(reserved(name)) } else { Ok(()) }
    }
}

/// How the list widens these targets, if it does.
fn widened(targets: &Targets, reach: Reach) -> Option<Widened> {
    // While a reload changes the length, the new length is reported.
    let is_widened = |target: &Target| reach.of(*target).next() != Some(*target);
    if reach == Reach::AS_GIVEN {
        return None;
    }
    let count = targets.iter().filter(is_widened).count() as u64;
    (count > 0).then(|| Widened { count, length: reach.length() })
}

/// The polarity of the list with this name. A missing list blocks, except the default list that allows.
fn kind_of(blocklist: &Blocklist, name: &str) -> Polarity {
    let found = blocklist.lists().find(name).map(|id| blocklist.lists().get(id).polarity);
    found.unwrap_or(match name == default_list(Polarity::Allow) {
        true => Polarity::Allow,
        false => Polarity::Block,
    })
}

/// Answers when the present state is on disk, if the configuration asks for that, whichever request made the
/// change.
fn answer_when_written(
    answered: Result<Changed, Failure>,
    reply: ReplyTo<Changed>,
    durable: bool,
    core: &mut Core,
    outcome: WriteOutcome,
) {
    let records = core.protection.take_records();
    if !durable {
        core.persistence.write_soon(records);
        return answer(reply, answered);
    }
    if records.is_empty() && !outcome.is_expected() {
        // Nothing changed now, but an earlier change may still be on its way to the disk.
        let told = move |known: Result<(), NotWritten>| {
            let not_durable = known.err().map(not_durable_before);
            answer(reply, answered.map(|changed| Changed { not_durable, ..changed }));
        };
        return core.persistence.once_known(Box::new(told));
    }
    let told = move |written: Result<(), NotWritten>| {
        outcome.note(written);
        let not_durable = outcome.get().err().map(not_durable);
        answer(reply, answered.map(|changed| Changed { not_durable, ..changed }));
    };
    core.persistence.write(records, Box::new(told));
}

fn changed(polarity: Polarity, named: u64, done: ChangeTotals) -> Changed {
    let ChangeTotals { changed, entered, left, allowed, disallowed, lists } = done;
    let touched = lists.iter().map(ToString::to_string).collect();
    let (entered, left) = match polarity {
        Polarity::Block => (entered, left),
        Polarity::Allow => (allowed, disallowed),
    };
    Changed { named, changed, entered, left, touched, ..Changed::default() }
}

fn emptied(polarity: Polarity, flushed: Flushed) -> Changed {
    let list = |(name, entries): (Arc<str>, u64)| Emptied { name: name.to_string(), entries };
    let lists = flushed.lists.into_iter().map(list).collect();
    Changed {
        lists,
        allows: polarity == Polarity::Allow,
        still: flushed.still,
        ..changed(polarity, flushed.done.changed, flushed.done)
    }
}
