//! The blocklist page by page: what is shown, what is written down, and what is released.

use std::collections::BTreeMap;
use std::iter;
use std::ops::Bound;

use filter_common::target::Target;

use super::claims::ClaimsId;
use super::targets::{of_address, of_net64};
use super::{Blocklist, Claim, ListId, NamedClaim, Polarity, Record, Side, Targets, Timestamp, targets};

/// The words that one page stores in the tables, at most, and some more for its last target: a millisecond or two, in which
/// nobody else is served.
pub const PAGE: u64 = 8192;

/// The most targets that one page looks at: a millisecond, too.
const MOST_SEEN: usize = 1 << 16;

/// How far one has come through both sides: in which, and behind which target there; from the beginning if none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bookmark {
    polarity: Polarity,
    after: Option<Target>,
}

impl Blocklist {
    /// What `keep` lets by of the claims that block, or of those that allow, behind `after`, in the order of targets, until there are claims of `most`
    /// targets; no target is cut in two by the end of a page. Tells where the next page begins.
    pub fn page(
        &self,
        polarity: Polarity,
        after: Option<Target>,
        most: usize,
        keep: impl Fn(Target, ListId) -> bool,
    ) -> (Vec<NamedClaim>, Option<Target>) {
        let (mut page, mut targets, mut last, mut is_counted) = (Vec::new(), 0, None, false);
        for (seen, (target, claims)) in (0..).zip(self.claims_after(polarity, after)) {
            if last != Some(target) {
                if targets >= most || seen >= MOST_SEEN {
                    return (page, last);
                }
                (last, is_counted) = (Some(target), false);
            }
            let kept = claims.iter().filter(|claim| keep(target, claim.list));
            let before = page.len();
            page.extend(kept.map(|claim| self.named(target, claim)));
            let is_first = page.len() > before && !is_counted;
            (targets, is_counted) = (targets + usize::from(is_first), is_counted || is_first);
        }
        (page, None)
    }

    /// All that blocks, or all that allows, behind `after`, in the order of targets: what several sides want stands side by
    /// side.
    fn claims_after(
        &self,
        polarity: Polarity,
        after: Option<Target>,
    ) -> Box<dyn Iterator<Item = (Target, &[Claim])> + '_> {
        let mut all: Box<dyn Iterator<Item = _>> = Box::new(iter::empty());
        for (number, (_, side)) in self.sides(polarity).enumerate() {
            let claims = side.all_after(after).map(move |(target, id)| (target, side.registry.claims(id)));
            all = match number {
                0 => Box::new(claims),
                _ => Box::new(merged(all, claims, |item| item.0)),
            };
        }
        all
    }

    /// Who has to leave up to `by`, of all that blocks, or of all that allows, from behind the last one of a page before.
    fn ending_after(
        &self,
        polarity: Polarity,
        after: Option<(Timestamp, Target)>,
        by: Timestamp,
    ) -> Box<dyn Iterator<Item = (Timestamp, Target, ListId)> + '_> {
        let mut all: Box<dyn Iterator<Item = _>> = Box::new(iter::empty());
        for (_, side) in self.sides(polarity) {
            all = Box::new(merged(all, side.deadlines.behind(after, by), |item| *item));
        }
        all
    }

    /// What `keep` lets by of the same claims as far as they end up to `by`, in the order of their ends and then of targets, from behind the
    /// last one of a page before, until there are claims of `most` targets. Nothing that ends later, or never, is looked at.
    pub fn expiring(
        &self,
        polarity: Polarity,
        after: Option<(Timestamp, Target)>,
        by: Timestamp,
        most: usize,
        keep: impl Fn(Target, ListId) -> bool,
    ) -> (Vec<NamedClaim>, Option<(Timestamp, Target)>) {
        let (mut page, mut targets, mut last) = (Vec::new(), 0, None);
        for (seen, (end, target, list)) in (0..).zip(self.ending_after(polarity, after, by)) {
            if last != Some((end, target)) {
                if targets >= most || seen >= MOST_SEEN {
                    return (page, last);
                }
                last = Some((end, target));
                targets += usize::from(keep(target, list));
            }
            let claim = self.side_of(list).claim_of(target, list).filter(|_| keep(target, list));
            page.extend(claim.map(|claim| self.named(target, claim)));
        }
        (page, None)
    }

    /// What the lists that `keep` lets by want of the next targets from there on, up to `most` of them, as records that say
    /// so: of lists without a clause, as live ones are. Tells where the next page begins.
    pub fn as_records(
        &self,
        from: Bookmark,
        most: usize,
        keep: impl Fn(ListId) -> bool,
    ) -> (Vec<Record>, Option<Bookmark>) {
        let Bookmark { polarity, after } = from;
        let side = self.side(polarity.whole());
        let kept = |id| side.registry.claims(id).iter().filter(|claim| keep(claim.list));
        let (mut sets, mut targets) = (BTreeMap::<ClaimsId, Targets>::new(), 0);
        let after = side.walk(after, |target, id| {
            if kept(id).next().is_some() {
                sets.entry(id).or_default().push(target);
                targets += 1;
            }
            targets < most
        });
        let records = sets.iter().flat_map(|(id, targets)| {
            kept(*id).map(|Claim { list, since, until, note, by }| Record::Want {
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

    /// What `list` wants of the targets behind `after` and `is_over` says it should not, as much as one page changes. Tells
    /// where the next page begins.
    pub fn to_release(
        &self,
        list: ListId,
        after: Option<Target>,
        is_over: impl Fn(Target) -> bool,
    ) -> (Targets, Option<Target>) {
        let (side, mut targets, mut weight) = (self.side_of(list), Targets::default(), 0);
        let next = side.walk(after, |target, id| {
            if side.registry.of(id, list).is_some() && is_over(target) {
                targets.push(target);
                weight += targets::weight(target);
            }
            weight < PAGE
        });
        (targets, next)
    }

    /// Everything that `list` wants.
    pub fn entries_of(&self, list: ListId) -> impl Iterator<Item = Target> + '_ {
        let side = self.side_of(list);
        let wants = move |(_, id): &(Target, ClaimsId)| side.registry.of(*id, list).is_some();
        side.all_after(None).filter(wants).map(|(target, _)| target)
    }
}

impl Side {
    /// Shows one target after another to `take`, until it has had enough, or a page has been looked at. Tells behind which
    /// target to go on; nothing if that was the last.
    fn walk(&self, after: Option<Target>, mut take: impl FnMut(Target, ClaimsId) -> bool) -> Option<Target> {
        for (seen, (target, id)) in (1..).zip(self.all_after(after)) {
            if !take(target, id) || seen >= MOST_SEEN {
                return Some(target);
            }
        }
        None
    }

    /// What sorts behind `after`, in order.
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
        merged(addresses.chain(nets64), others.map(|(target, id)| (*target, *id)), |item| item.0)
    }
}

/// From `key` on where its target sorts behind `after`, else from the next one on.
fn behind<K: Copy>(key: K, after: Option<Target>, target_of: fn(K) -> Target) -> Bound<K> {
    if Some(target_of(key)) > after { Bound::Included(key) } else { Bound::Excluded(key) }
}

/// Both, each of which is in order, as one that is.
fn merged<T, K: Ord>(
    one: impl Iterator<Item = T>,
    other: impl Iterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> impl Iterator<Item = T> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(first), Some(second)) if key(first) <= key(second) => one.next(),
        (Some(_), None) => one.next(),
        _ => other.next(),
    })
}
