//! `list`, and the reasons why a target stays blocked.

use std::collections::BTreeSet;
use std::time::Duration;

use filter_common::direction::Direction;
use filter_common::reason::Enforcement;
use filter_common::target::Target;

use super::failure::listed_elsewhere;
use crate::blocklist::{Blocklist, ListId, NamedClaim, Polarity, Targets, Timestamp, want_everything};
use crate::clock;
use crate::control::wire::list::{self, Family, PagePosition};
use crate::control::wire::{Entry, Failure, Held, HeldBy, Idle, MOST_WITHIN};
use crate::daemon::owner::Owner;

/// The most targets that stay blocked and are named.
const MOST_HELD: usize = 100;

/// The most entries within such a target that are named.
const MOST_NAMED_WITHIN: usize = 10;

impl Owner {
    /// Why nothing at all is dropped now, if that is so.
    pub(super) fn idle(&self) -> Option<Idle> {
        if self.attachment.interfaces.iter().all(|one| one.attached().is_none()) {
            return Some(Idle::NothingAttached);
        }
        match self.core.protection.filter().settings().at(clock::now()).enforcement() {
            Enforcement::Drop => None,
            Enforcement::Count => Some(Idle::NotEnforced),
            Enforcement::Pause => Some(Idle::Paused),
        }
    }

    /// Wanted interfaces that are not filtered although others are. They may be missing.
    pub(super) fn except(&self) -> Vec<String> {
        let missed = self.attachment.interfaces.all_missed().filter(|_| self.idle().is_none());
        missed.map(|one| one.name().to_owned()).collect()
    }

    pub(super) fn list_page(&self, request: list::Request) -> Result<list::Reply, Failure> {
        let list::Request { list, family, within, expiring, allow, after, most } = request;
        let blocklist = self.core.protection.blocklist();
        let polarity = if allow { Polarity::Allow } else { Polarity::Block };
        // A reload that replaces a list has two lists of this name for a moment.
        let called =
            list.as_ref().map(|name| blocklist.lists().all_called(name.as_str()).collect::<Vec<_>>());
        let is_meant = |id: &ListId| blocklist.lists().get(*id).polarity == polarity;
        let only = called.as_ref().map(|called| called.iter().copied().filter(is_meant).collect::<Vec<_>>());
        if only.as_ref().is_some_and(Vec::is_empty) {
            // A missing live list has no entries: it exists from its first entry to its last.
            return match called.unwrap_or_default().first().map(|id| blocklist.lists().get(*id)) {
                None => Ok(list::Reply::default()),
                Some(other) => Err(listed_elsewhere(other.called(), other.polarity)),
            };
        }
        let is_on = |list: ListId| only.as_ref().is_none_or(|only| only.contains(&list));
        let is_within = |target: &Target| within.is_none_or(|wide| wide.covers(target));
        let keep = |target: Target, list: ListId| is_on(list) && is_of(target, family) && is_within(&target);
        let (page, next) = match expiring {
            None => {
                let (page, next) = blocklist.page(polarity, after.map(|after| after.target), most, keep);
                (page, next.map(|target| PagePosition { end: None, target }))
            }
            Some(soon) => {
                let end = |end| Timestamp::begun(Duration::from_secs(end));
                let after = after.and_then(|after| Some((end(after.end?), after.target)));
                let (page, next) = blocklist.expiring(polarity, after, clock::after(soon), most, keep);
                (page, next.map(|(end, target)| PagePosition { end: Some(end.secs()), target }))
            }
        };
        let entries = page.into_iter().map(|claim| entry(blocklist, claim)).collect();
        Ok(list::Reply { entries, next })
    }
}

/// The targets that are still blocked or allowed, and the entries that cause this: the same target on other
/// lists, wider entries, or narrower ones for a part.
pub(super) fn held(blocklist: &Blocklist, polarity: Polarity, targets: &Targets, left: u64) -> Vec<Held> {
    let is_on_one_side = blocklist.sides(polarity).count() == 1;
    let has_prefixes = blocklist.sides(polarity).any(|(_, side)| side.has_prefixes());
    let may_be_held = left < targets.len() as u64 || !is_on_one_side || has_prefixes;
    let may_be_held = |target: &Target| may_be_held || !target.is_host();
    let held = targets.iter().filter(may_be_held).filter_map(|target| held_by(blocklist, polarity, target));
    held.take(MOST_HELD).collect()
}

fn held_by(blocklist: &Blocklist, polarity: Polarity, target: Target) -> Option<Held> {
    let covering = blocklist.covering(polarity, target);
    let within: Vec<_> = match target.is_host() {
        true => Vec::new(),
        false => blocklist.only_within(polarity, target).take(MOST_WITHIN as usize).collect(),
    };
    let all = || covering.iter().chain(&within);
    let by = all().take(covering.len() + MOST_NAMED_WITHIN).map(|claim| HeldBy {
        target: claim.target.to_string(),
        list: claim.list.to_string(),
        origin: origin(blocklist, claim).to_owned(),
        ports: ports(blocklist, claim),
        blocks: widened_to(claim),
        direction: direction(blocklist, claim).unusual_name().map(str::to_owned),
    });
    // If one entry blocks on all ports, the ports of the others do not matter.
    let on_ports: Option<BTreeSet<_>> = all().map(|claim| ports(blocklist, claim)).collect();
    let clauses: Vec<_> = covering.iter().filter_map(|claim| blocklist.clause_of(claim.id)).collect();
    let on_ports = on_ports.filter(|_| !want_everything(&clauses));
    let lists: BTreeSet<_> = all().map(|claim| claim.list.to_string()).collect();
    (!lists.is_empty()).then(|| Held {
        target: target.to_string(),
        allowed: polarity == Polarity::Block && blocklist.allow().covers(target),
        lists: lists.into_iter().collect(),
        by: by.collect(),
        ports: on_ports.unwrap_or_default().into_iter().collect(),
        within: within.len() as u64,
    })
}

/// Entries of one side that equal, contain or lie within these targets.
pub(super) fn overlapping(blocklist: &Blocklist, polarity: Polarity, targets: &Targets) -> Vec<Entry> {
    let around = |target| blocklist.covering(polarity, target);
    let within = |target| blocklist.only_within(polarity, target).take(MOST_HELD);
    let all = targets.iter().flat_map(|target| around(target).into_iter().chain(within(target)));
    all.take(MOST_HELD).map(|claim| entry(blocklist, claim)).collect()
}

/// How many of these targets are completely allowed, and so not dropped.
pub(super) fn all_allowed(blocklist: &Blocklist, targets: &Targets) -> u64 {
    let allow = blocklist.allow();
    if allow.is_empty() {
        return 0;
    }
    targets.iter().filter(|target| allow.covers(*target)).count() as u64
}

/// Entries that block (or allow) these targets, or a part of them, for longer. Only entries for all ports
/// count, like the ones being added.
pub(super) fn longer(
    blocklist: &Blocklist,
    (polarity, asked): (Polarity, Direction),
    targets: &Targets,
    until: Option<Timestamp>,
) -> Vec<Entry> {
    let Some(end) = until else { return Vec::new() };
    let lasts = |claim: &NamedClaim| {
        claim.until.is_none_or(|until| until > end)
            && ports(blocklist, claim).is_none()
            && blocks_likewise(blocklist, (polarity, asked), claim)
    };
    let all = targets.iter().flat_map(|target| blocklist.covering(polarity, target)).filter(lasts);
    all.take(MOST_HELD).map(|claim| entry(blocklist, claim)).collect()
}

/// How many of these targets lie within wider entries, and the entries.
///
/// An entry for some ports is returned but not counted, because the target was not blocked on the other
/// ports. A target named in the same request is not another entry, even if the list widens both to the same
/// prefix.
pub(super) fn wider(
    blocklist: &Blocklist,
    (polarity, asked): (Polarity, Direction),
    targets: &Targets,
) -> (u64, Vec<Entry>) {
    let (mut count, mut entries) = (0, Vec::new());
    for target in targets.iter() {
        let mut covering = blocklist.covering(polarity, target);
        covering.retain(|claim| blocks_likewise(blocklist, (polarity, asked), claim));
        let on_some = |claim: &NamedClaim| ports(blocklist, claim).is_some();
        let others: Vec<_> =
            covering.into_iter().filter(|claim| !targets.contains(claim.target) || on_some(claim)).collect();
        count += u64::from(!others.iter().all(on_some));
        let room = MOST_HELD - entries.len();
        entries.extend(others.into_iter().take(room).map(|claim| entry(blocklist, claim)));
    }
    (count, entries)
}

/// True if an entry blocks the packets that an entry of the direction `asked` would block. What is allowed is
/// allowed in both directions.
fn blocks_likewise(
    blocklist: &Blocklist,
    (polarity, asked): (Polarity, Direction),
    claim: &NamedClaim,
) -> bool {
    let its = direction(blocklist, claim);
    polarity == Polarity::Allow || its == asked || its == Direction::Both
}

fn origin(blocklist: &Blocklist, claim: &NamedClaim) -> &'static str {
    blocklist.lists().get(claim.id).origin.name()
}

/// The ports that an entry blocks, if not all.
fn ports(blocklist: &Blocklist, claim: &NamedClaim) -> Option<String> {
    blocklist.clause_of(claim.id).map(|clause| clause.to_string())
}

/// The direction in which an entry blocks.
pub(super) fn direction(blocklist: &Blocklist, claim: &NamedClaim) -> Direction {
    blocklist.lists().get(claim.id).direction
}

/// The prefix that an entry blocks, if it is wider than its target.
fn widened_to(claim: &NamedClaim) -> Option<String> {
    (claim.blocks != claim.target).then(|| claim.blocks.to_string())
}

pub(super) fn entry(blocklist: &Blocklist, claim: NamedClaim) -> Entry {
    Entry {
        or_before: claim.or_before,
        origin: Some(origin(blocklist, &claim).to_owned()),
        blocks: widened_to(&claim),
        ports: ports(blocklist, &claim),
        direction: direction(blocklist, &claim).unusual_name().map(str::to_owned),
        target: claim.target.to_string(),
        list: claim.list.to_string(),
        since: clock::on_the_wall(claim.since),
        until: claim.until.map(clock::on_the_wall),
        note: claim.note.map(|note| note.to_string()),
        by: claim.by.map(|by| by.to_string()),
    }
}

fn is_of(target: Target, family: Option<Family>) -> bool {
    match (family, target) {
        (None, _) | (Some(Family::Four), Target::V4(_)) | (Some(Family::Six), Target::V6(_)) => true,
        (Some(Family::Four), Target::V6(_)) | (Some(Family::Six), Target::V4(_)) => false,
    }
}
