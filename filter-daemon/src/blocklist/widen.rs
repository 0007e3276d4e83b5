//! Lists that widen IPv6 targets. The blocklist keeps each target as it was given, with its own time and
//! note. The blocked target is the prefix that it is widened to, which is removed with the last target
//! behind it.
//!
//! The given targets are stored in a separate side. On the side of the list, which packets meet, one claim
//! without a time stands for all targets behind a prefix. Readers of a side (the tables, the estimate of
//! memory, the search for overlaps) therefore need no knowledge of widening.

use std::borrow::Cow;
use std::collections::HashMap;

use filter_common::sets::SetName;
use filter_common::target::Target;

use super::claims::{ClaimStore, ClaimsId};
use super::{
    Blocklist, Claim, Effects, ListId, NamedClaim, Polarity, Reach, SetEffects, Side, Targets, Timestamp,
};

/// The most targets behind one prefix that are reported; there may be a million.
const MOST_TOLD: usize = 100;

/// The IPv6 targets of lists that widen.
#[derive(Debug, Default)]
pub struct WidenedEntries {
    /// The targets as they were given.
    pub(super) given: Side,
    /// How many given targets stand behind each prefix that a list blocks for them.
    behind: HashMap<(Target, ListId), u32>,
}

impl WidenedEntries {
    /// True if the claim of `list` on `target` stands for others.
    pub fn stands_for(&self, target: Target, list: ListId) -> bool {
        self.behind.contains_key(&(target, list))
    }

    /// Counts one more target behind this prefix. Returns whether it is the first.
    fn enter(&mut self, target: Target, list: ListId) -> bool {
        let behind = self.behind.entry((target, list)).or_default();
        *behind += 1;
        *behind == 1
    }

    /// Counts one target less. Returns whether it was the last.
    fn leave(&mut self, target: Target, list: ListId) -> bool {
        let Some(behind) = self.behind.get_mut(&(target, list)) else { return false };
        *behind -= 1;
        let is_last = *behind == 0;
        if is_last {
            self.behind.remove(&(target, list));
        }
        is_last
    }

    /// The given targets behind this prefix; `first` comes first.
    fn all_behind(
        &self,
        wide: Target,
        list: ListId,
        first: Target,
    ) -> impl Iterator<Item = (Target, &Claim)> {
        let is_behind =
            move |(target, claim): &(Target, &Claim)| claim.reach.of(*target).any(|one| one == wide);
        let all = self.given.all_within(wide).filter(move |(target, _)| *target != first);
        let all = all.filter_map(move |(target, id)| Some((target, self.given.registry.of(id, list)?)));
        let first = self.given.claim_of(first, list).map(|claim| (first, claim));
        first.into_iter().chain(all).filter(is_behind).take(MOST_TOLD)
    }
}

/// A claim that stands for others has no content of its own.
pub(super) fn standing_for_others(list: ListId) -> Claim {
    let since = Timestamp::default();
    let or_before = false;
    Claim { list, since, or_before, until: None, note: None, by: None, reach: Reach::AS_GIVEN }
}

impl Blocklist {
    /// True if the claim of `list` on `target` is stored separately.
    #[inline]
    pub(super) fn is_apart(&self, target: Target, list: ListId) -> bool {
        matches!(target, Target::V6(_))
            && (self.lists.get(list).reach != Reach::AS_GIVEN
                || self.wide.given.claim_of(target, list).is_some())
    }

    /// Replaces the claim of `list` on a separately stored `target`, and returns the earlier one.
    pub(super) fn exchange_apart(
        &mut self,
        target: Target,
        list: ListId,
        claim: Option<Claim>,
        effects: &mut Effects,
    ) -> Option<Claim> {
        self.take_apart(target, list);
        let reached = |claim: &Option<Claim>| -> Vec<Target> {
            claim.iter().flat_map(|claim| claim.reach.of(target)).collect()
        };
        let after = reached(&claim);
        let known = self.wide.given.exchange(target, list, claim, &mut SetEffects::default());
        let before = reached(&known);
        for wide in after.iter().filter(|wide| !before.contains(wide)) {
            self.take_apart(*wide, list);
            if self.wide.enter(*wide, list) {
                self.exchange_on_side(*wide, list, Some(standing_for_others(list)), effects);
            }
        }
        for wide in before.iter().filter(|wide| !after.contains(wide)) {
            if self.wide.leave(*wide, list) {
                self.exchange_on_side(*wide, list, None, effects);
            }
        }
        known
    }

    /// Moves an entry from before the list widened anything to the separate store. Packets see no
    /// difference.
    fn take_apart(&mut self, target: Target, list: ListId) {
        if self.wide.stands_for(target, list) {
            return;
        }
        let Some(claim) = self.side_of(list).claim_of(target, list).cloned() else { return };
        self.exchange_on_side(target, list, Some(standing_for_others(list)), &mut Effects::default());
        self.wide.enter(target, list);
        self.wide.given.exchange(target, list, Some(claim), &mut SetEffects::default());
    }

    /// The targets that are blocked if `list` wants these, or once its claims on these have changed.
    pub fn in_effect<'a>(&self, list: &str, targets: &'a Targets) -> Cow<'a, Targets> {
        self.lists.reach_of(list).all_of(targets)
    }

    /// The targets in this set if these `live` lists, which widen nothing yet, are merged.
    pub fn in_effect_of(&self, live: &Self, set: SetName) -> Targets {
        let wanted = live.side(set);
        if !self.lists.any_live_reach() {
            return wanted.targets();
        }
        let claims = |id| wanted.registry.claims(id).iter();
        let reaches = |id| claims(id).map(|claim| self.lists.reach_of(&live.lists.get(claim.list).name));
        let all = wanted.all_after(None);
        all.flat_map(|(target, id)| reaches(id).flat_map(move |reach| reach.of(target)).collect::<Vec<_>>())
            .collect()
    }

    /// `claim` with the reach that its list gives to `target`. While the list changes from one length to
    /// another, a new entry has the final length only, because nothing was blocked for it before.
    pub(super) fn reaching(&self, claim: &Claim, target: Target) -> Claim {
        let known = self.claim_of(target, claim.list);
        let reach = match (self.is_apart(target, claim.list), self.lists.get(claim.list).reach) {
            (false, _) => Reach::AS_GIVEN,
            (true, reach) if known.is_some() => reach,
            (true, reach) => reach.settled(),
        };
        Claim { reach, ..claim.clone() }
    }

    /// The claim of `list` on `target` with the current reach of the list, if it has another one.
    pub(super) fn reaching_anew(&self, target: Target, list: ListId) -> Option<Claim> {
        let reach = self.lists.get(list).reach;
        let claim = self.claim_of(target, list).filter(|claim| claim.reach != reach)?;
        matches!(target, Target::V6(_)).then(|| Claim { reach, ..claim.clone() })
    }

    /// The claim of `list` on `target`.
    pub(super) fn claim_of(&self, target: Target, list: ListId) -> Option<&Claim> {
        let own = || self.side_of(list).claim_of(target, list);
        let own = || own().filter(|_| !self.wide.stands_for(target, list));
        self.wide.given.claim_of(target, list).or_else(own)
    }

    /// The lists of one set that want exactly this target, sorted by number.
    pub(super) fn holders(&self, set: SetName, target: Target) -> Vec<ListId> {
        let own = self.side(set).holders(target).into_iter();
        let mut holders: Vec<_> = own.filter(|list| !self.wide.stands_for(target, *list)).collect();
        let apart = self.wide.given.holders(target).into_iter();
        holders.extend(apart.filter(|list| self.lists.get(*list).set() == set));
        holders.sort_unstable();
        holders
    }

    /// An entry of this polarity that has expired at `now`.
    pub(super) fn first_over(&self, polarity: Polarity, now: Timestamp) -> Option<(Target, ListId)> {
        let own = self.sides(polarity).find_map(|(_, side)| side.deadlines.first_over(now));
        own.or_else(|| self.apart(polarity)?.deadlines.first_over(now))
    }

    /// The time of the next deadline of this polarity.
    pub fn next_deadline_of(&self, polarity: Polarity) -> Option<Timestamp> {
        let apart = self.apart(polarity).and_then(Side::next_deadline);
        self.sides(polarity).filter_map(|(_, side)| side.next_deadline()).chain(apart).min()
    }

    /// The separate store of the blocked targets. Allowed targets are never widened.
    pub(super) fn apart(&self, polarity: Polarity) -> Option<&Side> {
        (polarity == Polarity::Block).then_some(&self.wide.given)
    }

    /// The side at this place.
    pub(super) fn side_at(&self, place: ClaimStore) -> &Side {
        match place {
            ClaimStore::Side(set) => self.side(set),
            ClaimStore::Apart => &self.wide.given,
        }
    }

    /// True if a list has this claim on another side as well, where it is the complete one.
    fn is_mirrored(&self, set: SetName, list: ListId) -> bool {
        self.lists.get(list).mirror() == Some(set)
    }

    /// The claims of a set without those that stand for others.
    pub(super) fn claims_in(
        &self,
        target: Target,
        (place, id): (ClaimStore, ClaimsId),
    ) -> impl Iterator<Item = &Claim> {
        let side = self.side_at(place);
        let is_own = move |claim: &&Claim| match place {
            ClaimStore::Apart => true,
            ClaimStore::Side(set) => {
                !self.is_mirrored(set, claim.list) && !self.wide.stands_for(target, claim.list)
            }
        };
        side.registry.claims(id).iter().filter(is_own)
    }

    /// The claims by which `target`, an entry of this set, covers `asked`. The given claims replace one
    /// that stands for them.
    pub(super) fn named_claims(&self, set: SetName, target: Target, asked: Target) -> Vec<NamedClaim> {
        let claims = self.side(set).claims(target).iter();
        let claims = claims.filter(|claim| !self.is_mirrored(set, claim.list));
        let named = claims.flat_map(|claim| {
            if !self.wide.stands_for(target, claim.list) {
                return vec![self.named(target, claim)];
            }
            let behind = self.wide.all_behind(target, claim.list, asked);
            behind.map(|(given, claim)| NamedClaim { blocks: target, ..self.named(given, claim) }).collect()
        });
        named.collect()
    }
}
