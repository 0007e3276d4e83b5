//! One of the two sides of the truth, of what is blocked or of what is allowed: which targets are wanted, by which lists,
//! since when and until when.

use std::collections::BTreeMap;

use filter_common::labels::Label;
use filter_common::target::Target;

use super::addresses::Addresses;
use super::claims::{Claim, ClaimsId, Registry};
use super::cover::Cover;
use super::deadline::Deadlines;
use super::nets64::Nets64;
use super::order::Labels;
use super::targets::{Kept, of_address, of_net64};
use super::{ListId, SetEffects, Targets, Timestamp};

/// So many of each kind are in a sample,
const SAMPLE: usize = 16;

/// and among so many it goes round: to find those behind would take too long.
const SAMPLED: usize = 16 * 1024;

/// Everything that is wanted on one side.
#[derive(Debug, Default)]
pub struct Side {
    pub(super) addresses: Addresses,
    pub(super) nets64: Nets64,
    pub(super) others: BTreeMap<Target, ClaimsId>,
    pub(super) cover: Cover,
    pub(super) registry: Registry,
    pub(super) deadlines: Deadlines,
    pub(super) labels: Labels,
}

impl Side {
    /// How many targets there are.
    pub fn len(&self) -> usize {
        self.addresses.len() + self.nets64.len() + self.others.len()
    }

    /// How many of each kind, as [`Targets`] has them.
    pub fn counts(&self) -> [usize; 3] {
        [self.addresses.len(), self.nets64.len(), self.others.len()]
    }

    /// Is nothing wanted?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Is any /64 wanted from the first of these to the last?
    pub(super) fn has_net64_of(&self, nets: &[u64]) -> bool {
        let [first, .., last] = nets else { return false };
        self.nets64.range(first..=last).next().is_some()
    }

    /// Everything that is wanted.
    pub fn targets(&self) -> Targets {
        Targets {
            addresses: self.addresses.iter().map(|(address, _)| address).collect(),
            nets64: self.nets64.keys().collect(),
            others: self.others.keys().copied().collect(),
        }
    }

    /// Some of everything that is wanted, of each kind; others at each `turn`, until all have had theirs.
    pub fn sample(&self, turn: usize) -> impl Iterator<Item = Target> + '_ {
        let addresses = from_turn(
            self.addresses.iter().map(|(address, _)| of_address(address)),
            self.addresses.len(),
            turn,
        );
        let nets64 = from_turn(self.nets64.keys().map(of_net64), self.nets64.len(), turn);
        addresses.chain(nets64).chain(from_turn(self.others.keys().copied(), self.others.len(), turn))
    }

    /// When the next deadline is.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.next()
    }

    /// Brings near what is kept of these, since it will be wanted soon: memory is waited for once, not once for each.
    pub(super) fn prefetch(&self, targets: &Targets) {
        self.addresses.prefetch(&targets.addresses);
    }

    /// What `list` says of `target` becomes this. Tells what it said before.
    pub(super) fn exchange(
        &mut self,
        target: Target,
        list: ListId,
        claim: Option<Claim>,
        effects: &mut SetEffects,
    ) -> Option<Claim> {
        let before = self.claims_of(target);
        let known = before.and_then(|id| self.registry.of(id, list)).cloned();
        if known != claim {
            self.replace(target, list, (before, known.as_ref()), claim, effects);
        }
        known
    }

    /// The list of `claim` wants `target`, whatever is known of that. Tells what it says from now on and said before, if that
    /// changed anything.
    pub(super) fn extend(
        &mut self,
        target: Target,
        claim: &Claim,
        effects: &mut SetEffects,
    ) -> Option<(Claim, Option<Claim>)> {
        let before = self.claims_of(target);
        let known = before.and_then(|id| self.registry.of(id, claim.list)).cloned();
        let after = claim.extending(known.as_ref())?;
        self.replace(target, claim.list, (before, known.as_ref()), Some(after.clone()), effects);
        Some((after, known))
    }

    /// The list of `claim` wants all of these /64s, if nobody wants any of them yet, nor any between them. True if that was so.
    pub(super) fn extend_row(&mut self, nets: &[u64], claim: &Claim, effects: &mut SetEffects) -> bool {
        if !self.nets64.are_row(nets) {
            return false;
        }
        let claims = self.registry.with(None, claim.clone());
        self.nets64.insert_row(nets, claims);
        self.registry.share(claims, nets.len() as u32 - 1);
        self.cover.enter_nets64(nets.len() as u64);
        effects.entered.nets64.extend(nets);
        let until = claim.until.into_iter().flat_map(|until| nets.iter().map(move |net| (until, *net)));
        until.for_each(|(until, net)| self.deadlines.set(until, of_net64(net), claim.list));
        true
    }

    /// The same for whoever has looked already what is `known` of it, and among which claims.
    fn replace(
        &mut self,
        target: Target,
        list: ListId,
        (before, known): (Option<ClaimsId>, Option<&Claim>),
        claim: Option<Claim>,
        effects: &mut SetEffects,
    ) {
        let until = |claim: Option<&Claim>| claim.and_then(|claim| claim.until);
        self.move_deadline(target, list, until(known), until(claim.as_ref()));
        let counted = before.map(|id| self.label_of_set(target, id));
        let after = match claim {
            Some(claim) => Some(self.registry.with(before, claim)),
            None => before.and_then(|id| self.registry.without(id, list)),
        };
        match (before, after) {
            (None, Some(after)) => {
                self.set_claims(target, after);
                effects.entered.push(target);
            }
            (Some(_), None) => {
                self.forget(target);
                effects.left.push(target);
            }
            (Some(before), Some(after)) if before != after => {
                self.set_claims(target, after);
                let is_same = |label: &Label| *label == self.label_of_set(target, after);
                effects.touched.extend(counted.filter(|label| !is_same(label)).map(|label| (target, label)));
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
    }

    /// What `list` says of `target`.
    pub(super) fn claim_of(&self, target: Target, list: ListId) -> Option<&Claim> {
        self.claims_of(target).and_then(|id| self.registry.of(id, list))
    }

    /// Every claim of exactly this target.
    pub(super) fn claims(&self, target: Target) -> &[Claim] {
        self.claims_of(target).map(|id| self.registry.claims(id)).unwrap_or_default()
    }

    pub(super) fn claims_of(&self, target: Target) -> Option<ClaimsId> {
        match Kept::from(target) {
            Kept::Address(address) => self.addresses.get(address),
            Kept::Net64(net) => self.nets64.get(net),
            Kept::Other(target) => self.others.get(&target).copied(),
        }
    }

    fn set_claims(&mut self, target: Target, claims: ClaimsId) {
        let is_new = match Kept::from(target) {
            Kept::Address(address) => return self.addresses.insert(address, claims),
            Kept::Net64(net) => self.nets64.insert(net, claims),
            Kept::Other(target) => self.others.insert(target, claims).is_none(),
        };
        if is_new {
            self.cover.enter(target);
        }
    }

    fn forget(&mut self, target: Target) {
        let was_there = match Kept::from(target) {
            Kept::Address(address) => return self.addresses.remove(address),
            Kept::Net64(net) => self.nets64.remove(net),
            Kept::Other(target) => self.others.remove(&target).is_some(),
        };
        if was_there {
            self.cover.leave(target);
        }
    }

    fn move_deadline(
        &mut self,
        target: Target,
        list: ListId,
        from: Option<Timestamp>,
        to: Option<Timestamp>,
    ) {
        from.into_iter().for_each(|until| self.deadlines.clear(until, target, list));
        to.into_iter().for_each(|until| self.deadlines.set(until, target, list));
    }
}

fn from_turn(all: impl Iterator<Item = Target>, count: usize, turn: usize) -> impl Iterator<Item = Target> {
    let first = turn.wrapping_mul(SAMPLE) % count.clamp(1, SAMPLED);
    all.skip(first).take(SAMPLE)
}
