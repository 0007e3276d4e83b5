//! Queries of the blocklist and its sides: which lists want a target, and which targets cover an address or
//! a prefix.

use std::cmp::Reverse;
use std::iter;
use std::ops::Bound;
use std::sync::Arc;

use filter_common::sets::SetName;
use filter_common::target::{Prefix, Prefix4, Prefix6, Target};

use super::claims::{ClaimStore, ClaimsId};
use super::targets::{of_address, of_net64};
use super::{Blocklist, Claim, ListId, Polarity, Side, Targets, Timestamp};

/// A claim of one list on one target, with the name of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedClaim {
    /// The target, as it was given.
    pub target: Target,
    /// The target that is actually blocked or allowed: this one, or the wider one that the list makes of
    /// it.
    pub blocks: Target,
    /// The name to show. During a reload, another list may have it as well.
    pub list: Arc<str>,
    /// The number of the list, which identifies it.
    pub id: ListId,
    pub since: Timestamp,
    /// True if the entry may be older: it existed when this blocklist began to be used.
    pub or_before: bool,
    /// When the entry expires; never if none.
    pub until: Option<Timestamp>,
    pub note: Option<Arc<str>>,
    /// The user or source that added it.
    pub by: Option<Arc<str>>,
}

impl Blocklist {
    /// The targets that `list` does not want; all of them if the list does not exist yet.
    pub fn not_on(&self, list: Option<ListId>, targets: &Targets) -> Targets {
        let Some(list) = list else { return targets.clone() };
        let side = self.side_of(list);
        side.prefetch(targets);
        targets.iter().filter(|target| self.claim_of(*target, list).is_none()).collect()
    }

    /// Every claim of this polarity that covers the whole of `target`, on any ports, the longest prefix
    /// first.
    pub fn covering(&self, polarity: Polarity, target: Target) -> Vec<NamedClaim> {
        let sides = self.sides(polarity);
        let mut all: Vec<_> = sides.flat_map(|(set, _)| self.covering_in(set, target)).collect();
        all.sort_by_key(|claim| Reverse(length(claim.blocks)));
        all
    }

    fn covering_in(&self, set: SetName, target: Target) -> Vec<NamedClaim> {
        let covers = self.side(set).covering_targets(target).into_iter();
        covers.flat_map(|cover| self.named_claims(set, cover, target)).collect()
    }

    /// Every claim on targets within `target`, without those on itself, ordered by side and then by kind.
    pub fn within(&self, polarity: Polarity, target: Target) -> impl Iterator<Item = NamedClaim> + '_ {
        let on_sides = self.sides(polarity).flat_map(move |(set, side)| {
            side.all_within(target).map(move |(other, id)| (other, (ClaimStore::Side(set), id)))
        });
        let apart = self.apart(polarity).into_iter().flat_map(move |apart| apart.all_within(target));
        let all = on_sides.chain(apart.map(|(other, id)| (other, (ClaimStore::Apart, id))));
        all.filter(move |(other, _)| *other != target).flat_map(move |(other, kept)| {
            self.claims_in(other, kept).map(move |claim| self.named(other, claim))
        })
    }

    /// The claims of [`Self::within`], without those that block or allow a target that covers all of
    /// `target`.
    pub fn only_within(&self, polarity: Polarity, target: Target) -> impl Iterator<Item = NamedClaim> + '_ {
        self.within(polarity, target).filter(move |claim| !claim.blocks.covers(&target))
    }

    /// The targets that would be new on this list: neither on it now, nor expired while its source names
    /// them.
    pub fn new_on(&self, list: ListId, targets: &Targets) -> Targets {
        let spent = &self.lists.get(list).spent;
        let is_new = |target: &Target| self.claim_of(*target, list).is_none() && !spent.contains(*target);
        targets.iter().filter(is_new).collect()
    }

    /// The targets that are on this list.
    pub fn there_on(&self, list: ListId, targets: &Targets) -> Targets {
        targets.iter().filter(|target| self.claim_of(*target, list).is_some()).collect()
    }

    /// When the entry of `target` on this list began and when it expires; none if there is no entry.
    pub fn times_of(&self, target: Target, list: ListId) -> Option<(Timestamp, Option<Timestamp>)> {
        self.claim_of(target, list).map(|claim| (claim.since, claim.until))
    }

    /// The expired targets that cover `target` and that sources of this polarity still name, with their
    /// lists.
    pub fn spent_covering(&self, polarity: Polarity, target: Target) -> Vec<(Target, Arc<str>)> {
        let lists = self.lists.iter().filter(|(_, list)| list.polarity == polarity && !list.spent.is_empty());
        let all = lists.flat_map(|(_, list)| {
            let covers = list.spent.covering(target);
            covers.map(|one| (one, list.called().clone())).collect::<Vec<_>>()
        });
        all.collect()
    }

    /// How many entries of this list are on another list as well.
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
    /// The number of single IPv4 addresses.
    pub fn address_count(&self) -> u64 {
        self.addresses.len() as u64
    }

    /// IPv4 lengths in use except 32, each with its count.
    pub fn lengths4(&self) -> impl Iterator<Item = (u8, u64)> + '_ {
        self.cover.v4()
    }

    /// IPv6 lengths in use, each with its count.
    pub fn lengths6(&self) -> impl Iterator<Item = (u8, u64)> + '_ {
        self.cover.v6()
    }

    pub fn has_prefixes(&self) -> bool {
        self.lengths4().next().is_some() || self.lengths6().any(|(length, _)| length < 128)
    }

    /// True if a list wants exactly this target.
    pub fn contains(&self, target: Target) -> bool {
        self.claims_of(target).is_some()
    }

    /// True if a list that is not one of these, which are sorted, wants this target or a wider one.
    pub fn is_covered_without(&self, target: Target, lists: &[ListId]) -> bool {
        let is_other = |claim: &Claim| lists.binary_search(&claim.list).is_err();
        self.covering_targets(target).into_iter().any(|cover| self.claims(cover).iter().any(is_other))
    }

    /// The lists that want exactly this target.
    pub fn holders(&self, target: Target) -> Vec<ListId> {
        self.claims(target).iter().map(|claim| claim.list).collect()
    }

    /// The target itself and all wider ones whose length is in use, the longest first.
    fn covering_targets(&self, target: Target) -> Vec<Target> {
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

    /// All targets within `target`, itself included, ordered by kind.
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

    /// True if this address is listed by itself or by a prefix longer than /24.
    pub fn has_address(&self, address: u32) -> bool {
        let mut long = self.cover.v4().filter(|(length, _)| *length > 24);
        self.addresses.get(address).is_some()
            || long.any(|(length, _)| self.contains(Target::V4(Prefix::covering(address, length))))
    }

    /// True if any prefix longer than /24 is listed, other than single addresses.
    pub fn has_long_prefixes(&self) -> bool {
        self.cover.v4().any(|(length, _)| length > 24)
    }

    /// True if a wider prefix covers this one.
    pub fn is_within_wider(&self, prefix: Prefix4) -> bool {
        let mut wider = self.cover.v4().filter(|(length, _)| *length < prefix.length());
        wider.any(|(length, _)| self.contains(Target::V4(Prefix::covering(prefix.address(), length))))
    }

    /// The prefixes up to /24 within this one.
    pub fn networks_within(&self, prefix: Prefix4) -> impl Iterator<Item = Prefix4> + '_ {
        let within = self.others.range(Target::V4(prefix)..=Target::V4(Prefix::host(prefix.last())));
        within.filter_map(|(target, _)| match target {
            Target::V4(prefix) if prefix.length() <= 24 => Some(*prefix),
            Target::V4(_) | Target::V6(_) => None,
        })
    }

    /// True if an IPv6 prefix of at least this length covers this one or equals it.
    pub fn covers_six(&self, prefix: Prefix6, shortest: u8) -> bool {
        let lengths = self.cover.v6().map(|(length, _)| length);
        let mut lengths = lengths.filter(|length| (shortest..=prefix.length()).contains(length));
        lengths.any(|length| self.contains(Target::V6(Prefix::covering(prefix.address(), length))))
    }

    /// True if a longer IPv6 prefix lies within this one, which must be shorter than /64.
    pub fn has_six_within(&self, prefix: Prefix6) -> bool {
        let network = |address: u128| (address >> 64) as u64;
        let mut nets = self.nets64.range(network(prefix.first())..=network(prefix.last()));
        let mut others = self
            .others
            .range(Target::V6(prefix)..=Target::V6(Prefix::host(prefix.last())))
            .map(|(other, _)| other);
        nets.next().is_some() || others.any(|other| *other != Target::V6(prefix))
    }

    /// All IPv6 targets after `after`: first the /64s in order, then the others in order.
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
