//! The truth: which targets are wanted blocked, by which lists, since when and until when. Pure: no I/O, no clock.
//!
//! Lists change here and nowhere else. Each change tells its effects: the targets that enter or leave the filter. A
//! target that several lists want leaves when the last one lets go.

mod addresses;
mod claims;
mod cover;
mod deadline;
mod effect;
mod lists;
mod query;
mod record;
mod settings;
mod targets;
mod timestamp;

use std::collections::BTreeMap;

use filter_common::target::Target;

use addresses::Addresses;
pub use claims::Claim;
use claims::{ClaimsId, Registry};
use cover::Cover;
use deadline::Deadlines;
pub use effect::{Effects, SetEffects};
pub use lists::{Kind, List, ListId, Lists, TooManyLists};
pub use query::Wish;
pub use record::Record;
pub use settings::Settings;
use targets::Kept;
pub use targets::Targets;
pub use timestamp::Timestamp;

/// Everything that is wanted blocked.
#[derive(Debug, Default)]
pub struct Blocklist {
    addresses: Addresses,
    nets64: BTreeMap<u64, ClaimsId>,
    others: BTreeMap<Target, ClaimsId>,
    cover: Cover,
    registry: Registry,
    deadlines: Deadlines,
    lists: Lists,
}

impl Blocklist {
    /// The lists there are.
    pub fn lists(&self) -> &Lists {
        &self.lists
    }

    /// The same, to make new ones.
    pub fn lists_mut(&mut self) -> &mut Lists {
        &mut self.lists
    }

    /// A list wants `target` blocked. Wanting it again extends, and never shortens. True if that changed anything.
    pub fn add(&mut self, target: Target, claim: Claim, effects: &mut Effects) -> bool {
        let before = self.claims_of(target);
        let known = before.and_then(|id| self.registry.of(id, claim.list)).cloned();
        let claim = match &known {
            Some(known) if claim.adds_nothing_to(known) => return false,
            Some(known) => known.extended_by(claim),
            None => claim,
        };
        self.move_deadline(target, claim.list, known.as_ref().and_then(|known| known.until), claim.until);
        if known.is_none() {
            self.lists.count(claim.list, 1);
        }
        let after = self.registry.with(before, claim);
        self.set_claims(target, after);
        if before.is_none() {
            effects.block.entered.push(target);
        }
        true
    }

    /// `list` no longer wants `target`. True if it did.
    pub fn remove(&mut self, target: Target, list: ListId, effects: &mut Effects) -> bool {
        !self.remove_from(target, |other, _| other == list, effects).is_empty()
    }

    /// No list for which `lets_go` holds wants `target` any longer. Tells which did.
    pub fn remove_from(
        &mut self,
        target: Target,
        lets_go: impl Fn(ListId, &List) -> bool,
        effects: &mut Effects,
    ) -> Vec<ListId> {
        let Some(before) = self.claims_of(target) else { return Vec::new() };
        let claims = self
            .registry
            .claims(before)
            .iter()
            .filter(|claim| lets_go(claim.list, self.lists.get(claim.list)));
        let over: Vec<_> = claims.map(|claim| (claim.list, claim.until)).collect();
        let mut rest = Some(before);
        for &(list, until) in &over {
            self.move_deadline(target, list, until, None);
            self.lists.count(list, -1);
            rest = rest.and_then(|id| self.registry.without(id, list));
        }
        match rest {
            Some(after) if after == before => {}
            Some(after) => self.set_claims(target, after),
            None => {
                self.forget(target);
                effects.block.left.push(target);
            }
        }
        over.into_iter().map(|(list, _)| list).collect()
    }

    /// A list wants all these targets, whatever else it wants. Tells for which of them that changed anything.
    pub fn extend(&mut self, targets: &Targets, claim: &Claim, effects: &mut Effects) -> Targets {
        self.prefetch(targets);
        let mut changed = Targets::default();
        for target in targets.iter() {
            if self.add(target, claim.clone(), effects) {
                changed.push(target);
            }
        }
        changed
    }

    /// The same for lists so long that what changed would be told in vain.
    pub fn add_all(&mut self, targets: &Targets, claim: &Claim, effects: &mut Effects) {
        targets.iter().for_each(|target| _ = self.add(target, claim.clone(), effects));
    }

    /// `list` wants none but these, all of which it wants already.
    pub fn retain(&mut self, list: ListId, targets: &Targets, effects: &mut Effects) {
        if self.lists.get(list).targets > targets.len() as u64 {
            self.remove_all(list, |target| !targets.contains(target), effects);
        }
    }

    /// `list` lets go of everything.
    pub fn release(&mut self, list: ListId, effects: &mut Effects) {
        self.remove_all(list, |_| true, effects);
    }

    /// Lets go of everything whose time is over at `now`.
    pub fn expire(&mut self, now: Timestamp) -> Effects {
        let mut effects = Effects::default();
        while let Some((target, list)) = self.deadlines.first_over(now) {
            self.remove(target, list, &mut effects);
        }
        effects
    }

    /// Makes a change that was made before, at its time.
    pub fn replay(&mut self, change: Record) -> Result<(), TooManyLists> {
        let mut effects = Effects::default();
        match change {
            Record::Want { list, since, until, note, targets } => {
                // What was over by then is not extended.
                self.expire(since);
                let list = self.lists.get_or_make(&list, Kind::Live)?;
                self.add_all(&targets, &Claim { list, since, until, note }, &mut effects);
            }
            Record::Release { list, targets } => {
                if let Some(list) = self.lists.find(&list) {
                    targets.iter().for_each(|target| _ = self.remove(target, list, &mut effects));
                }
            }
            Record::ReleaseAll { list } => {
                if let Some(list) = self.lists.find(&list) {
                    self.release(list, &mut effects);
                }
            }
        }
        Ok(())
    }

    /// Everything that is wanted, as if it entered now.
    pub fn everything(&self) -> Effects {
        let entered = Targets {
            addresses: self.addresses.iter().map(|(address, _)| address).collect(),
            nets64: self.nets64.keys().copied().collect(),
            others: self.others.keys().copied().collect(),
        };
        Effects::blocking(entered)
    }

    /// When the next deadline is.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.next()
    }

    fn remove_all(&mut self, list: ListId, is_over: impl Fn(Target) -> bool, effects: &mut Effects) {
        let over: Targets = self.targets_of(list).filter(|target| is_over(*target)).collect();
        for target in over.iter() {
            self.remove(target, list, effects);
        }
    }

    /// Brings near what is kept of these, since it will be wanted soon: memory is waited for once, not once for each.
    pub fn prefetch(&self, targets: &Targets) {
        self.addresses.prefetch(&targets.addresses);
    }

    fn claims_of(&self, target: Target) -> Option<ClaimsId> {
        match Kept::from(target) {
            Kept::Address(address) => self.addresses.get(address),
            Kept::Net64(net) => self.nets64.get(&net).copied(),
            Kept::Other(target) => self.others.get(&target).copied(),
        }
    }

    fn set_claims(&mut self, target: Target, claims: ClaimsId) {
        let is_new = match Kept::from(target) {
            Kept::Address(address) => return self.addresses.insert(address, claims),
            Kept::Net64(net) => self.nets64.insert(net, claims).is_none(),
            Kept::Other(target) => self.others.insert(target, claims).is_none(),
        };
        if is_new {
            self.cover.enter(target);
        }
    }

    fn forget(&mut self, target: Target) {
        let was_there = match Kept::from(target) {
            Kept::Address(address) => return self.addresses.remove(address),
            Kept::Net64(net) => self.nets64.remove(&net).is_some(),
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

#[cfg(test)]
mod tests;
