//! Questions to the blocklist: who wants what, and what covers an address or a prefix.

use std::collections::BTreeMap;
use std::iter;
use std::net::IpAddr;
use std::ops::Bound;
use std::sync::Arc;

use filter_common::target::{Prefix, Prefix4, Prefix6, Target};

use super::claims::ClaimsId;
use super::targets::{of_address, of_net64};
use super::{Blocklist, Claim, ListId, Record, Targets, Timestamp};

/// One list's wish for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The target.
    pub target: Target,
    /// The list's name.
    pub list: Arc<str>,
    /// Since when.
    pub since: Timestamp,
    /// Until when; for good if none.
    pub until: Option<Timestamp>,
    /// Why.
    pub note: Option<Arc<str>>,
}

impl Blocklist {
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

    /// Every wish that covers `address`, the longest prefix first.
    pub fn covering(&self, address: IpAddr) -> Vec<Wish> {
        let covers: Vec<Target> = match Target::from(address) {
            Target::V4(host) => {
                let prefixes =
                    self.cover.v4().rev().map(|(length, _)| Prefix::covering(host.address(), length));
                std::iter::once(host).chain(prefixes).map(Target::V4).collect()
            }
            Target::V6(host) => {
                let prefixes =
                    self.cover.v6().rev().map(|(length, _)| Prefix::covering(host.address(), length));
                prefixes.map(Target::V6).collect()
            }
        };
        covers.into_iter().flat_map(|target| self.wishes(target)).collect()
    }

    /// The wishes for up to `most` targets after `after` that `keep` lets by, in the order of targets. None of them is cut in
    /// two by the end of a page.
    pub fn page(
        &self,
        after: Option<Target>,
        most: usize,
        keep: impl Fn(Target, ListId) -> bool,
    ) -> Vec<Wish> {
        let mut page = Vec::new();
        let mut targets = 0;
        for (target, id) in self.all_after(after) {
            if targets == most {
                break;
            }
            let before = page.len();
            let kept = self.registry.claims(id).iter().filter(|claim| keep(target, claim.list));
            page.extend(kept.map(|claim| self.wish(target, claim)));
            targets += usize::from(page.len() > before);
        }
        page
    }

    /// What the lists that `keep` lets by want of up to `most` targets after `after`, as changes that say so; and the last of
    /// these targets.
    pub fn as_changes(
        &self,
        after: Option<Target>,
        most: usize,
        keep: impl Fn(ListId) -> bool,
    ) -> (Vec<Record>, Option<Target>) {
        let kept = |id| self.registry.claims(id).iter().filter(|claim| keep(claim.list));
        let page = self.all_after(after).filter(|(_, id)| kept(*id).next().is_some()).take(most);
        let (mut sets, mut last) = (BTreeMap::<ClaimsId, Targets>::new(), None);
        for (target, id) in page {
            sets.entry(id).or_default().push(target);
            last = Some(target);
        }
        let changes = sets.iter().flat_map(|(id, targets)| {
            kept(*id).map(|Claim { list, since, until, note }| Record::Want {
                list: self.lists.get(*list).name.clone(),
                since: *since,
                until: *until,
                note: note.clone(),
                targets: targets.clone(),
            })
        });
        (changes.collect(), last)
    }

    /// Everything that `list` wants.
    pub(super) fn targets_of(&self, list: ListId) -> impl Iterator<Item = Target> + '_ {
        let wants = move |(_, id): &(Target, ClaimsId)| self.registry.of(*id, list).is_some();
        self.all_after(None).filter(wants).map(|(target, _)| target)
    }

    /// What sorts behind `after`, in order.
    fn all_after(&self, after: Option<Target>) -> impl Iterator<Item = (Target, ClaimsId)> + '_ {
        let (from4, from6) = match after {
            None => (Some(Bound::Unbounded), Bound::Unbounded),
            Some(Target::V4(prefix)) => (Some(behind(prefix.first(), after, of_address)), Bound::Unbounded),
            Some(Target::V6(prefix)) => (None, behind((prefix.first() >> 64) as u64, after, of_net64)),
        };
        let addresses = from4.into_iter().flat_map(|from| self.addresses.range(from));
        let addresses = addresses.map(|(address, id)| (of_address(address), id));
        let nets64 = self.nets64.range((from6, Bound::Unbounded)).map(|(net, id)| (of_net64(*net), *id));
        let others = self.others.range((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded));
        in_order(addresses.chain(nets64), others.map(|(target, id)| (*target, *id)))
    }

    fn wishes(&self, target: Target) -> impl Iterator<Item = Wish> + '_ {
        self.claims(target).iter().map(move |claim| self.wish(target, claim))
    }

    fn wish(&self, target: Target, claim: &Claim) -> Wish {
        let list = self.lists.get(claim.list).name.clone();
        Wish { target, list, since: claim.since, until: claim.until, note: claim.note.clone() }
    }

    fn claims(&self, target: Target) -> &[Claim] {
        self.claims_of(target).map(|id| self.registry.claims(id)).unwrap_or_default()
    }

    /// Is this address blocked by itself or by a prefix longer than /24?
    pub fn blocks_address(&self, address: u32) -> bool {
        let mut long = self.cover.v4().filter(|(length, _)| *length > 24);
        self.addresses.get(address).is_some()
            || long.any(|(length, _)| self.contains(Target::V4(Prefix::covering(address, length))))
    }

    /// Is any address blocked by a prefix longer than /24 that is not a single one?
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

    /// Every IPv6 target behind `after`: /64s in order, and then all others in order.
    pub fn six_after(&self, after: Option<Prefix6>) -> impl Iterator<Item = Prefix6> + '_ {
        let first = Bound::Included(Target::V6(Prefix::covering(0, 0)));
        let (nets, others) = match after {
            None => (Some(Bound::Unbounded), first),
            Some(net) if net.length() == 64 => (Some(Bound::Excluded((net.address() >> 64) as u64)), first),
            Some(other) => (None, Bound::Excluded(Target::V6(other))),
        };
        let nets = nets.into_iter().flat_map(|from| self.nets64.range((from, Bound::Unbounded)));
        let nets = nets.map(|(net, _)| of_net64(*net));
        let others = self.others.range((others, Bound::Unbounded)).map(|(target, _)| *target);
        nets.chain(others).filter_map(|target| match target {
            Target::V6(prefix) => Some(prefix),
            Target::V4(_) => None,
        })
    }
}

/// From `key` on where its target sorts behind `after`, else from the next one on.
fn behind<K: Copy>(key: K, after: Option<Target>, target_of: fn(K) -> Target) -> Bound<K> {
    if Some(target_of(key)) > after { Bound::Included(key) } else { Bound::Excluded(key) }
}

/// Both, each of which is in order, as one that is.
fn in_order<T>(
    one: impl Iterator<Item = (Target, T)>,
    other: impl Iterator<Item = (Target, T)>,
) -> impl Iterator<Item = (Target, T)> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some((first, _)), Some((second, _))) if first < second => one.next(),
        (Some(_), None) => one.next(),
        _ => other.next(),
    })
}
