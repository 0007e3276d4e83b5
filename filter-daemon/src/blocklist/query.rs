//! Questions to the blocklist and to its sides: who wants what, and what covers an address or a prefix.

use std::cmp::Reverse;
use std::iter;
use std::ops::Bound;
use std::sync::Arc;

use filter_common::target::{Prefix, Prefix4, Prefix6, Target};

use super::claims::{ClaimsId, Place};
use super::targets::{of_address, of_net64};
use super::{Blocklist, Claim, ListId, Polarity, Side, Targets, Timestamp};

/// What one list says of one target, with the list's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedClaim {
    /// The target, as it was given.
    pub target: Target,
    /// What is blocked, or allowed, for its sake: the target itself, or a wider one.
    pub blocks: Target,
    /// The list's name, as people know it: while a reload is at work, another list may have it, too.
    pub list: Arc<str>,
    /// Its number: who compares lists, or asks what one means, goes by it.
    pub id: ListId,
    /// Since when.
    pub since: Timestamp,
    /// Perhaps for longer: it was there when this blocklist began to be judged by.
    pub or_before: bool,
    /// Until when; permanent if none.
    pub until: Option<Timestamp>,
    /// Why.
    pub note: Option<Arc<str>>,
    /// Who put it on the list.
    pub by: Option<Arc<str>>,
}

impl Blocklist {
    /// Every claim that blocks (or allows) `target` as a whole, on whatever ports, the longest prefix first.
    pub fn covering(&self, polarity: Polarity, target: Target) -> Vec<NamedClaim> {
        let sides = self.sides(polarity);
        let mut all: Vec<_> = sides.flat_map(|(_, side)| self.covering_in(side, target)).collect();
        all.sort_by_key(|claim| Reverse(length(claim.blocks)));
        all
    }

    fn covering_in(&self, side: &Side, target: Target) -> Vec<NamedClaim> {
        let covers = side.may_cover(target).into_iter();
        covers.flat_map(|cover| self.named_claims(side, cover, target)).collect()
    }

    /// Every claim of what lies within `target`, but not of itself, side after side and kind after kind.
    pub fn within(&self, polarity: Polarity, target: Target) -> impl Iterator<Item = NamedClaim> + '_ {
        let on_sides = self.sides(polarity).flat_map(move |(set, side)| {
            side.all_within(target).map(move |(other, id)| (other, (Place::Side(set), id)))
        });
        let apart = self.apart(polarity).into_iter().flat_map(move |apart| apart.all_within(target));
        let all = on_sides.chain(apart.map(|(other, id)| (other, (Place::Apart, id))));
        all.filter(move |(other, _)| *other != target).flat_map(move |(other, kept)| {
            self.claims_in(other, kept).map(move |claim| self.named(other, claim))
        })
    }

    /// The same without those for whose sake all of `target` is blocked, which cover it.
    pub fn only_within(&self, polarity: Polarity, target: Target) -> impl Iterator<Item = NamedClaim> + '_ {
        self.within(polarity, target).filter(move |claim| !claim.blocks.covers(&target))
    }

    /// Those of `targets` that would be new on this list: neither there now, nor named by its source since before their time
    /// was over.
    pub fn new_on(&self, list: ListId, targets: &Targets) -> Targets {
        let spent = &self.lists.get(list).spent;
        let is_new = |target: &Target| self.claim_of(*target, list).is_none() && !spent.contains(*target);
        targets.iter().filter(is_new).collect()
    }

    /// Those of `targets` that are on this list.
    pub fn there_on(&self, list: ListId, targets: &Targets) -> Targets {
        targets.iter().filter(|target| self.claim_of(*target, list).is_some()).collect()
    }

    /// Since when, and until when where that has an end, `target` itself is on this list; nothing at all if it is not on it.
    pub fn times_of(&self, target: Target, list: ListId) -> Option<(Timestamp, Option<Timestamp>)> {
        self.claim_of(target, list).map(|claim| (claim.since, claim.until))
    }

    /// What covers `target` of what lists of one side name still though its time on them is over, with the names of these.
    pub fn spent_covering(&self, polarity: Polarity, target: Target) -> Vec<(Target, Arc<str>)> {
        let lists = self.lists.iter().filter(|(_, list)| list.polarity == polarity && !list.spent.is_empty());
        let all = lists.flat_map(|(_, list)| {
            let covers = list.spent.covering(target);
            covers.map(|one| (one, list.called().clone())).collect::<Vec<_>>()
        });
        all.collect()
    }

    /// How many entries of this list are on another one, too.
    pub fn shared_by(&self, list: ListId) -> u64 {
        self.side_of(list).registry.shared_by(list)
    }

    pub(super) fn named(&self, target: Target, claim: &Claim) -> NamedClaim {
        let Claim { list: id, since, or_before, until, note, by, reach } = claim.clone();
        let list = self.lists.get(id).called().clone();
        let blocks = reach.of(target).next().unwrap_or(target);
        NamedClaim { target, blocks, list, id, since, or_before, until, note, by }
    }
}

impl Side {
    /// How many single IPv4 addresses are wanted.
    pub fn address_count(&self) -> u64 {
        self.addresses.len() as u64
    }

    /// IPv4 lengths in use but 32, each with its count.
    pub fn lengths4(&self) -> impl Iterator<Item = (u8, u64)> + '_ {
        self.cover.v4()
    }

    /// IPv6 lengths in use, each with its count.
    pub fn lengths6(&self) -> impl Iterator<Item = (u8, u64)> + '_ {
        self.cover.v6()
    }

    /// Is any prefix wanted?
    pub fn has_prefixes(&self) -> bool {
        self.lengths4().next().is_some() || self.lengths6().any(|(length, _)| length < 128)
    }

    /// Is exactly this target wanted?
    pub fn contains(&self, target: Target) -> bool {
        self.claims_of(target).is_some()
    }

    /// The lists that want exactly this target.
    pub fn holders(&self, target: Target) -> Vec<ListId> {
        self.claims(target).iter().map(|claim| claim.list).collect()
    }

    /// The target itself, and every wider one of a length that is in use, the longest first.
    fn may_cover(&self, target: Target) -> Vec<Target> {
        match target {
            Target::V4(prefix) => {
                let is_wider = |length: &u8| *length < prefix.length();
                let wider = self.cover.v4().rev().map(|(length, _)| length).filter(is_wider);
                let wider = wider.map(|length| Prefix::covering(prefix.address(), length));
                iter::once(prefix).chain(wider).map(Target::V4).collect()
            }
            Target::V6(prefix) => {
                let is_not_longer = |length: &u8| *length <= prefix.length();
                let lengths = self.cover.v6().rev().map(|(length, _)| length).filter(is_not_longer);
                lengths.map(|length| Target::V6(Prefix::covering(prefix.address(), length))).collect()
            }
        }
    }

    /// Everything that lies within `target`, itself too, kind after kind.
    pub(super) fn all_within(&self, target: Target) -> impl Iterator<Item = (Target, ClaimsId)> + '_ {
        let (addresses, nets64, last) = match target {
            Target::V4(prefix) => {
                (Some((prefix.first(), prefix.last())), None, Target::V4(Prefix::host(prefix.last())))
            }
            Target::V6(prefix) => {
                let half = |address: u128| (address >> 64) as u64;
                let nets64 = (prefix.length() <= 64).then(|| half(prefix.first())..=half(prefix.last()));
                (None, nets64, Target::V6(Prefix::host(prefix.last())))
            }
        };
        let addresses = addresses.into_iter().flat_map(|(first, last)| self.addresses.between(first, last));
        let nets64 = nets64.into_iter().flat_map(|within| self.nets64.range(within));
        let others = self.others.range(target..=last).map(|(other, id)| (*other, *id));
        let all = addresses.map(|(address, id)| (of_address(address), id));
        all.chain(nets64.map(|(net, id)| (of_net64(net), id))).chain(others)
    }

    /// Is this address wanted by itself or by a prefix longer than /24?
    pub fn has_address(&self, address: u32) -> bool {
        let mut long = self.cover.v4().filter(|(length, _)| *length > 24);
        self.addresses.get(address).is_some()
            || long.any(|(length, _)| self.contains(Target::V4(Prefix::covering(address, length))))
    }

    /// Is any address wanted by a prefix longer than /24 that is not a single one?
    pub fn has_long_prefixes(&self) -> bool {
        self.cover.v4().any(|(length, _)| length > 24)
    }

    /// Is a wider prefix wanted that covers this one?
    pub fn is_within_wider(&self, prefix: Prefix4) -> bool {
        let mut wider = self.cover.v4().filter(|(length, _)| *length < prefix.length());
        wider.any(|(length, _)| self.contains(Target::V4(Prefix::covering(prefix.address(), length))))
    }

    /// Prefixes up to /24 within this one.
    pub fn networks_within(&self, prefix: Prefix4) -> impl Iterator<Item = Prefix4> + '_ {
        let within = self.others.range(Target::V4(prefix)..=Target::V4(Prefix::host(prefix.last())));
        within.filter_map(|(target, _)| match target {
            Target::V4(prefix) if prefix.length() <= 24 => Some(*prefix),
            Target::V4(_) | Target::V6(_) => None,
        })
    }

    /// Is an IPv6 prefix wanted that covers this one, and is no shorter than so many bits? The same one counts.
    pub fn covers_six(&self, prefix: Prefix6, shortest: u8) -> bool {
        let lengths = self.cover.v6().map(|(length, _)| length);
        let mut lengths = lengths.filter(|length| (shortest..=prefix.length()).contains(length));
        lengths.any(|length| self.contains(Target::V6(Prefix::covering(prefix.address(), length))))
    }

    /// Is an IPv6 prefix wanted that is within this one, which is shorter than /64, and longer?
    pub fn has_six_within(&self, prefix: Prefix6) -> bool {
        let network = |address: u128| (address >> 64) as u64;
        let mut nets = self.nets64.range(network(prefix.first())..=network(prefix.last()));
        let mut others = self
            .others
            .range(Target::V6(prefix)..=Target::V6(Prefix::host(prefix.last())))
            .map(|(other, _)| other);
        nets.next().is_some() || others.any(|other| *other != Target::V6(prefix))
    }

    /// Every IPv6 target behind `after`: /64s in order, and then all others in order.
    pub fn six_after(&self, after: Option<Prefix6>) -> impl Iterator<Item = Prefix6> + '_ {
        let first = Bound::Included(Target::V6(Prefix::covering(0, 0)));
        let (nets, others) = match after {
            None => (Some(Bound::Unbounded), first),
            Some(net) if net.length() == 64 => (Some(Bound::Excluded((net.address() >> 64) as u64)), first),
            Some(other) => (None, Bound::Excluded(Target::V6(other))),
        };
        let nets = nets.into_iter().flat_map(|from| self.nets64.range((from, Bound::Unbounded)));
        let nets = nets.map(|(net, _)| of_net64(net));
        let others = self.others.range((others, Bound::Unbounded)).map(|(target, _)| *target);
        nets.chain(others).filter_map(|target| match target {
            Target::V6(prefix) => Some(prefix),
            Target::V4(_) => None,
        })
    }
}

fn length(target: Target) -> u8 {
    match target {
        Target::V4(prefix) => prefix.length(),
        Target::V6(prefix) => prefix.length(),
    }
}
