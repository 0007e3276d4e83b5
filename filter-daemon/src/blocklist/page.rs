//! Reads the blocklist page by page: for display, for saved copies, and for releases.

use std::collections::BTreeMap;
use std::iter;
use std::ops::Bound;

use filter_common::sets::SetName;
use filter_common::target::{Prefix, Target};

use super::claims::{ClaimStore, ClaimsId};
use super::targets::{of_address, of_net64};
use super::{Blocklist, Claim, ListId, NamedClaim, Polarity, Record, Side, Targets, Timestamp, targets};

/// The weight of one page in table words; its last target may exceed it. A page takes a millisecond, or
/// three to four if a table of ten million is nearly full. No other request is served meanwhile.
pub const PAGE: u64 = 4096;

/// The most targets that one page reads, which also takes about a millisecond.
const MOST_SEEN: usize = 1 << 16;

/// A set of claims and its place. The target is set if only some of the claims are reported for it.
type ClaimSetAtPlace = (ClaimStore, ClaimsId, Option<Target>);

/// A position in a walk through blocked, then allowed targets: the polarity, and the last target seen; none
/// at its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bookmark {
    polarity: Polarity,
    after: Option<Target>,
}

impl Blocklist {
    /// The claims of one polarity that satisfy `keep`, in the order of targets after `after`, for up to
    /// `most` targets. A page contains all such claims of each target. Also returns where the next page
    /// begins.
    pub fn page(
        &self,
        polarity: Polarity,
        after: Option<Target>,
        most: usize,
        keep: impl Fn(Target, ListId) -> bool,
    ) -> (Vec<NamedClaim>, Option<Target>) {
        let (mut page, mut targets, mut last) = (Vec::new(), 0, None);
        let sets = self.sides(polarity).map(|(set, _)| set);
        let next = self.walk(sets, after, |target, kept| {
            let before = page.len();
            let kept = self.claims_in(target, kept).filter(|claim| keep(target, claim.list));
            page.extend(kept.map(|claim| self.named(target, claim)));
            // Several sides may contain it.
            if page.len() > before && last.replace(target) != Some(target) {
                targets += 1;
            }
            targets < most
        });
        (page, next)
    }

    /// The claims that satisfy `keep` and expire up to `by`, in the order of their expiry and then of
    /// targets, for up to `most` targets. It starts after the last position of the previous page, and reads
    /// no claim that expires later.
    pub fn expiring(
        &self,
        polarity: Polarity,
        after: Option<(Timestamp, Target)>,
        by: Timestamp,
        most: usize,
        keep: impl Fn(Target, ListId) -> bool,
    ) -> (Vec<NamedClaim>, Option<(Timestamp, Target)>) {
        let (mut page, mut targets, mut last) = (Vec::new(), 0, None);
        let sides = self.sides(polarity).map(|(_, side)| side).chain(self.apart(polarity));
        let ends = merged(sides.map(|side| side.deadlines.behind(after, by).map(|end| (end, ()))));
        for (seen, ((end, target, list), ())) in (0..).zip(ends) {
            if last != Some((end, target)) {
                if targets >= most || seen >= MOST_SEEN {
                    return (page, last);
                }
                last = Some((end, target));
                targets += usize::from(keep(target, list));
            }
            let claim = self.claim_of(target, list).filter(|_| keep(target, list));
            page.extend(claim.map(|claim| self.named(target, claim)));
        }
        (page, None)
    }

    /// The claims on the next targets, up to `most`, of lists that satisfy `keep`, as records. Also returns
    /// where the next page begins.
    pub fn as_records(
        &self,
        from: Bookmark,
        most: usize,
        keep: impl Fn(ListId) -> bool,
    ) -> (Vec<Record>, Option<Bookmark>) {
        let Bookmark { polarity, after } = from;
        let meant = self.sides(polarity).map(|(set, _)| set);
        let of_set = |target, set| self.claims_in(target, set).filter(|claim| keep(claim.list));
        let (mut sets, mut targets) = (BTreeMap::<ClaimSetAtPlace, Targets>::new(), 0);
        let after = self.walk(meant, after, |target, (place, id)| {
            let hidden = of_set(target, (place, id)).count() < self.side_at(place).registry.claims(id).len();
            if of_set(target, (place, id)).next().is_some() {
                // If one of its claims stands for others, few targets share its set of claims.
                let alone = hidden.then_some(target);
                sets.entry((place, id, alone)).or_default().push(target);
                targets += 1;
            }
            targets < most
        });
        let records = sets.iter().flat_map(|((place, id, _), targets)| {
            let any = targets.iter().next().expect("a set has come with a target");
            of_set(any, (*place, *id)).map(|Claim { list, since, until, note, by, .. }| Record::Want {
                list: self.lists.get(*list).name.clone(),
                polarity,
                since: *since,
                until: *until,
                note: note.clone(),
                by: by.clone(),
                targets: targets.clone(),
            })
        });
        let next = match (after, polarity) {
            (Some(_), _) => Some(Bookmark { polarity, after }),
            (None, Polarity::Block) if !self.allow().is_empty() => {
                Some(Bookmark { polarity: Polarity::Allow, after: None })
            }
            (None, _) => None,
        };
        (records.collect(), next)
    }

    /// Up to a page of targets of `list` after `after` for which `is_over` returns true. Also returns where
    /// the next page begins.
    pub fn to_release(
        &self,
        list: ListId,
        after: Option<Target>,
        is_over: impl Fn(Target) -> bool,
    ) -> (Targets, Option<Target>) {
        let (mut targets, mut weight) = (Targets::default(), 0);
        let set = iter::once(self.lists.get(list).set());
        let next = self.walk(set, after, |target, kept| {
            let mut claims = self.claims_in(target, kept);
            if claims.any(|claim| claim.list == list) && is_over(target) {
                targets.push(target);
                weight += targets::weight(target);
            }
            weight < PAGE
        });
        (targets, next)
    }

    /// Everything that `list` wants.
    pub fn entries_of(&self, list: ListId) -> impl Iterator<Item = Target> + '_ {
        let set = iter::once(self.lists.get(list).set());
        let wants = move |(target, kept): &(Target, (ClaimStore, ClaimsId))| {
            self.claims_in(*target, *kept).any(|claim| claim.list == list)
        };
        self.all_after(set, None).filter(wants).map(|(target, _)| target)
    }

    /// Up to a page of `wanted` targets of `list` after `after` whose claims lack the current reach of the
    /// list. Also returns where the next page begins.
    pub fn to_reach_anew(
        &self,
        list: ListId,
        after: Option<Target>,
        wanted: impl Fn(Target) -> bool,
    ) -> (Targets, Option<Target>) {
        let (mut targets, set) = (Targets::default(), iter::once(self.lists.get(list).set()));
        // All IPv4 targets sort before this one.
        let after = after.or(Some(Target::V4(Prefix::host(u32::MAX))));
        let next = self.walk(set, after, |target, _| {
            if wanted(target) && self.reaching_anew(target, list).is_some() {
                targets.push(target);
            }
            (targets.len() as u64) < PAGE
        });
        targets.sort();
        (targets, next)
    }

    /// The targets of these sets after `after`, in order, from their sides and from the separate store.
    /// Those of the separate store may belong to another set.
    fn all_after(
        &self,
        sets: impl Iterator<Item = SetName>,
        after: Option<Target>,
    ) -> impl Iterator<Item = (Target, (ClaimStore, ClaimsId))> + '_ {
        let mut places: Vec<_> = sets.map(ClaimStore::Side).collect();
        let blocks = |place: &ClaimStore| matches!(place, ClaimStore::Side(set) if set.blocks());
        if places.iter().any(blocks) {
            places.push(ClaimStore::Apart);
        }
        merged(places.into_iter().map(move |place| {
            self.side_at(place).all_after(after).map(move |(target, id)| (target, (place, id)))
        }))
    }

    /// Passes targets to `take` until it returns false or a page was read. Returns the last target of the
    /// page, or none at the end. A target that is stored in several places is passed once for each, within
    /// one page.
    fn walk(
        &self,
        sets: impl Iterator<Item = SetName>,
        after: Option<Target>,
        mut take: impl FnMut(Target, (ClaimStore, ClaimsId)) -> bool,
    ) -> Option<Target> {
        let mut all = self.all_after(sets, after).peekable();
        for seen in 1.. {
            let (target, kept) = all.next()?;
            let goes_on = take(target, kept) && seen < MOST_SEEN;
            if !goes_on && all.peek().is_none_or(|(next, _)| *next != target) {
                return Some(target);
            }
        }
        None
    }
}

impl Side {
    /// Walks this side alone, as packets meet it.
    pub(super) fn walk(
        &self,
        after: Option<Target>,
        mut take: impl FnMut(Target, ClaimsId) -> bool,
    ) -> Option<Target> {
        for (seen, (target, id)) in (1..).zip(self.all_after(after)) {
            if !take(target, id) || seen >= MOST_SEEN {
                return Some(target);
            }
        }
        None
    }

    /// The targets after `after`, in order.
    pub(super) fn all_after(&self, after: Option<Target>) -> impl Iterator<Item = (Target, ClaimsId)> + '_ {
        let (from4, from6) = match after {
            None => (Some(Bound::Unbounded), Bound::Unbounded),
            Some(Target::V4(prefix)) => (Some(behind(prefix.first(), after, of_address)), Bound::Unbounded),
            Some(Target::V6(prefix)) => (None, behind((prefix.first() >> 64) as u64, after, of_net64)),
        };
        let addresses = from4.into_iter().flat_map(|from| self.addresses.range(from));
        let addresses = addresses.map(|(address, id)| (of_address(address), id));
        let nets64 = self.nets64.range((from6, Bound::Unbounded)).map(|(net, id)| (of_net64(net), id));
        let others = self.others.range((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded));
        in_order(addresses.chain(nets64), others.map(|(target, id)| (*target, *id)))
    }
}

/// A lower bound that includes `key` only if its target sorts after `after`.
fn behind<K: Copy>(key: K, after: Option<Target>, target_of: fn(K) -> Target) -> Bound<K> {
    if Some(target_of(key)) > after { Bound::Included(key) } else { Bound::Excluded(key) }
}

/// Merges sorted iterators into one.
pub(super) fn merged<'a, K: Ord + 'a, T: 'a>(
    all: impl Iterator<Item = impl Iterator<Item = (K, T)> + 'a>,
) -> Box<dyn Iterator<Item = (K, T)> + 'a> {
    let boxed = all.map(|one| Box::new(one) as Box<dyn Iterator<Item = (K, T)> + 'a>);
    boxed.reduce(|one, other| Box::new(in_order(one, other))).unwrap_or_else(|| Box::new(iter::empty()))
}

/// Merges two sorted iterators into one.
fn in_order<K: Ord, T>(
    one: impl Iterator<Item = (K, T)>,
    other: impl Iterator<Item = (K, T)>,
) -> impl Iterator<Item = (K, T)> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some((first, _)), Some((second, _))) if first < second => one.next(),
        (Some(_), None) => one.next(),
        _ => other.next(),
    })
}
