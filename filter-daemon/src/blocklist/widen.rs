//! Lists that widen what they want of IPv6: the truth keeps each target as it was given, with its own time and note, and
//! what is blocked is the prefix that it is widened to, which leaves with the last of them.
//!
//! What such a list wants of IPv6 is kept apart, as it was given. On the list's side, which is what packets meet, a claim
//! stands for all that is behind it: one a prefix, without a time of its own. So whoever asks a side (the tables, the
//! room they need, whether allowed and blocked overlap) need know nothing of all this.

use std::borrow::Cow;
use std::collections::HashMap;

use filter_common::sets::SetName;
use filter_common::target::Target;

use super::claims::{ClaimsId, Place};
use super::{
    Blocklist, Claim, Effects, ListId, NamedClaim, Polarity, Reach, SetEffects, Side, Targets, Timestamp,
};

/// So many of those behind one prefix are told: there may be a million.
const MOST_TOLD: usize = 100;

/// What lists that widen want of IPv6.
#[derive(Debug, Default)]
pub struct Wide {
    /// As it was given.
    pub(super) given: Side,
    /// How many of these stand behind what a list blocks for their sake.
    behind: HashMap<(Target, ListId), u32>,
}

impl Wide {
    /// Is the claim of `list` for `target` one that stands for others?
    pub fn stands_for(&self, target: Target, list: ListId) -> bool {
        self.behind.contains_key(&(target, list))
    }

    /// One more is behind this. Is it the first?
    fn enter(&mut self, target: Target, list: ListId) -> bool {
        let behind = self.behind.entry((target, list)).or_default();
        *behind += 1;
        *behind == 1
    }

    /// One fewer. Was it the last?
    fn leave(&mut self, target: Target, list: ListId) -> bool {
        let Some(behind) = self.behind.get_mut(&(target, list)) else { return false };
        *behind -= 1;
        let is_last = *behind == 0;
        if is_last {
            self.behind.remove(&(target, list));
        }
        is_last
    }

    /// What stands behind this, the one that is asked for first.
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

/// What stands for others says nothing of its own.
fn standing_for_others(list: ListId) -> Claim {
    let since = Timestamp::default();
    let or_before = false;
    Claim { list, since, or_before, until: None, note: None, by: None, reach: Reach::AS_GIVEN }
}

impl Blocklist {
    /// Is what `list` says of `target` kept apart?
    pub(super) fn is_apart(&self, target: Target, list: ListId) -> bool {
        matches!(target, Target::V6(_))
            && (self.lists.get(list).reach != Reach::AS_GIVEN
                || self.wide.given.claim_of(target, list).is_some())
    }

    /// What `list` says of `target`, which is kept apart, becomes this. Tells what it said before.
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

    /// What `list` wants of `target` since before it widened anything is kept apart from now on; packets see no difference.
    fn take_apart(&mut self, target: Target, list: ListId) {
        if self.wide.stands_for(target, list) {
            return;
        }
        let Some(claim) = self.side_of(list).claim_of(target, list).cloned() else { return };
        self.exchange_on_side(target, list, Some(standing_for_others(list)), &mut Effects::default());
        self.wide.enter(target, list);
        self.wide.given.exchange(target, list, Some(claim), &mut SetEffects::default());
    }

    /// What is blocked if `list` wants these, or once what it wants of them has been changed.
    pub fn in_effect<'a>(&self, list: &str, targets: &'a Targets) -> Cow<'a, Targets> {
        self.lists.reach_of(list).all_of(targets)
    }

    /// What is in this set if these `live` lists are joined, which widen nothing yet.
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

    /// `claim` as its list makes it of `target`. While the list is on its way from one length to another, what comes newly
    /// reaches only as far as it is to in the end: for its sake nothing was blocked before.
    pub(super) fn reaching(&self, claim: &Claim, target: Target) -> Claim {
        let known = self.claim_of(target, claim.list);
        let reach = match (self.is_apart(target, claim.list), self.lists.get(claim.list).reach) {
            (false, _) => Reach::AS_GIVEN,
            (true, reach) if known.is_some() => reach,
            (true, reach) => reach.settled(),
        };
        Claim { reach, ..claim.clone() }
    }

    /// What `list` says of `target`, if it does not reach as far as the list does by now.
    pub(super) fn reaching_anew(&self, target: Target, list: ListId) -> Option<Claim> {
        let reach = self.lists.get(list).reach;
        let claim = self.claim_of(target, list).filter(|claim| claim.reach != reach)?;
        matches!(target, Target::V6(_)).then(|| Claim { reach, ..claim.clone() })
    }

    /// What `list` says of `target`.
    pub(super) fn claim_of(&self, target: Target, list: ListId) -> Option<&Claim> {
        let own = || self.side_of(list).claim_of(target, list);
        let own = || own().filter(|_| !self.wide.stands_for(target, list));
        self.wide.given.claim_of(target, list).or_else(own)
    }

    /// The lists of one set that want exactly this target, in the order of their numbers.
    pub(super) fn holders(&self, set: SetName, target: Target) -> Vec<ListId> {
        let own = self.side(set).holders(target).into_iter();
        let mut holders: Vec<_> = own.filter(|list| !self.wide.stands_for(target, *list)).collect();
        let apart = self.wide.given.holders(target).into_iter();
        holders.extend(apart.filter(|list| self.lists.get(*list).set() == set));
        holders.sort_unstable();
        holders
    }

    /// Something of what blocks, or of what allows, that is over at `now`.
    pub(super) fn first_over(&self, polarity: Polarity, now: Timestamp) -> Option<(Target, ListId)> {
        let own = self.sides(polarity).find_map(|(_, side)| side.deadlines.first_over(now));
        own.or_else(|| self.apart(polarity)?.deadlines.first_over(now))
    }

    /// When the next deadline is of what blocks, or of what allows.
    pub fn next_deadline_of(&self, polarity: Polarity) -> Option<Timestamp> {
        let apart = self.apart(polarity).and_then(Side::next_deadline);
        self.sides(polarity).filter_map(|(_, side)| side.next_deadline()).chain(apart).min()
    }

    /// What is kept apart of all that blocks, on whatever ports: what is allowed is never widened.
    pub(super) fn apart(&self, polarity: Polarity) -> Option<&Side> {
        (polarity == Polarity::Block).then_some(&self.wide.given)
    }

    /// Where that is kept.
    pub(super) fn side_at(&self, place: Place) -> &Side {
        match place {
            Place::Side(set) => self.side(set),
            Place::Apart => &self.wide.given,
        }
    }

    /// The claims of a set, without those that stand for others.
    pub(super) fn claims_in(
        &self,
        target: Target,
        (place, id): (Place, ClaimsId),
    ) -> impl Iterator<Item = &Claim> {
        let side = self.side_at(place);
        let is_own = move |claim: &&Claim| place == Place::Apart || !self.wide.stands_for(target, claim.list);
        side.registry.claims(id).iter().filter(is_own)
    }

    /// The claims by which `target` itself, which one side has, covers what is `asked` for; in place of one that stands
    /// for others those behind it.
    pub(super) fn named_claims(&self, side: &Side, target: Target, asked: Target) -> Vec<NamedClaim> {
        let claims = side.claims(target).iter();
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
