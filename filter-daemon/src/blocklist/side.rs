//! One side of the blocklist: the targets of one set, with the lists that want them, since when and until
//! when.

use std::collections::BTreeMap;

use filter_common::labels::Label;
use filter_common::target::Target;

use super::addresses::Addresses;
use super::claims::{Claim, ClaimRegistry, ClaimsId};
use super::cover::PrefixLengths;
use super::deadline::Deadlines;
use super::nets64::Nets64;
use super::order::Labels;
use super::targets::{CompactTarget, of_address, of_net64};
use super::{ListId, SetEffects, Targets, Timestamp};

/// The number of targets of each kind in a sample.
const SAMPLE: usize = 16;

/// Samples rotate through the first targets up to this number. Skipping more would take too long.
const SAMPLED: usize = 16 * 1024;

/// Everything that is wanted on one side.
#[derive(Debug, Default)]
pub struct Side {
    pub(super) addresses: Addresses,
    pub(super) nets64: Nets64,
    pub(super) others: BTreeMap<Target, ClaimsId>,
    pub(super) cover: PrefixLengths,
    pub(super) registry: ClaimRegistry,
    pub(super) deadlines: Deadlines,
    pub(super) labels: Labels,
}

impl Side {
    pub fn len(&self) -> usize {
        self.addresses.len() + self.nets64.len() + self.others.len()
    }

    /// The number of targets of each kind, as in [`Targets`].
    pub fn counts(&self) -> [usize; 3] {
        [self.addresses.len(), self.nets64.len(), self.others.len()]
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if any /64 from the first to the last of these is wanted.
    pub(super) fn has_net64_of(&self, nets: &[u64]) -> bool {
        let [first, .., last] = nets else { return false };
        self.nets64.range(first..=last).next().is_some()
    }

    pub fn targets(&self) -> Targets {
        Targets {
            addresses: self.addresses.iter().map(|(address, _)| address).collect(),
            nets64: self.nets64.keys().collect(),
            others: self.others.keys().copied().collect(),
        }
    }

    /// A sample of the targets of each kind. Each `turn` gives other targets, until all have had their
    /// turn.
    pub fn sample(&self, turn: usize) -> impl Iterator<Item = Target> + '_ {
        let addresses = from_turn(
            self.addresses.iter().map(|(address, _)| of_address(address)),
            self.addresses.len(),
            turn,
        );
        let nets64 = from_turn(self.nets64.keys().map(of_net64), self.nets64.len(), turn);
        addresses.chain(nets64).chain(from_turn(self.others.keys().copied(), self.others.len(), turn))
    }

    /// The time of the next deadline.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.next()
    }

    /// Loads the entries of these into the cache, so that later lookups do not each wait for memory.
    pub fn prefetch(&self, targets: &Targets) {
        self.addresses.prefetch(&targets.addresses);
    }

    /// Replaces the claim of `list` on `target`, and returns the earlier one.
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

    /// Adds `claim` to what its list already says about `target`. Returns the new claim and the earlier
    /// one, or none if nothing changed.
    #[inline]
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

    /// Adds `claim` to all of these /64s, if none of them nor any /64 between them is wanted yet. Returns
    /// whether it did.
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

    /// Replaces a claim, given the earlier one and the set that contained it.
    #[inline]
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

    /// The claim of `list` on `target`.
    pub(super) fn claim_of(&self, target: Target, list: ListId) -> Option<&Claim> {
        self.claims_of(target).and_then(|id| self.registry.of(id, list))
    }

    /// Every claim on exactly this target.
    pub(super) fn claims(&self, target: Target) -> &[Claim] {
        self.claims_of(target).map(|id| self.registry.claims(id)).unwrap_or_default()
    }

    pub(super) fn claims_of(&self, target: Target) -> Option<ClaimsId> {
        match CompactTarget::from(target) {
            CompactTarget::Address(address) => self.addresses.get(address),
            CompactTarget::Net64(net) => self.nets64.get(net),
            CompactTarget::Other(target) => self.others.get(&target).copied(),
        }
    }

    fn set_claims(&mut self, target: Target, claims: ClaimsId) {
        let is_new = match CompactTarget::from(target) {
            CompactTarget::Address(address) => return self.addresses.insert(address, claims),
            CompactTarget::Net64(net) => self.nets64.insert(net, claims),
            CompactTarget::Other(target) => self.others.insert(target, claims).is_none(),
        };
        if is_new {
            self.cover.enter(target);
        }
    }

    fn forget(&mut self, target: Target) {
        let was_there = match CompactTarget::from(target) {
            CompactTarget::Address(address) => return self.addresses.remove(address),
            CompactTarget::Net64(net) => self.nets64.remove(net),
            CompactTarget::Other(target) => self.others.remove(&target).is_some(),
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
