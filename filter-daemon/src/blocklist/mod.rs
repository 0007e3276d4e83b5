//! The truth: which targets are wanted blocked, by which lists, since when and until when. Pure: no I/O, no clock.
//!
//! It changes by [`Blocklist::apply`] and nowhere else. A change tells its effects: the targets that enter or leave the
//! filter. A target that several lists want leaves when the last one releases it.

mod addresses;
mod apply;
mod change;
mod claims;
mod cover;
mod deadline;
mod difference;
mod effect;
mod list;
mod nets64;
mod page;
mod query;
mod record;
mod replay;
mod settings;
mod targets;
mod timestamp;
mod undo;

use std::collections::BTreeMap;

use filter_common::target::Target;

use addresses::Addresses;
pub use apply::{Applied, Refusal};
pub use change::{Change, From};
pub use claims::Claim;
use claims::{ClaimsId, Registry};
use cover::Cover;
use deadline::Deadlines;
pub use difference::Difference;
pub use effect::{Effects, SetEffects};
pub use list::{
    Accepted, CONFIG_LIST, DEFAULT_LIST, List, ListId, Lists, MOST_LISTS, Origin, Polarity, Reading, Stamp,
    TooManyLists, Trouble,
};
use nets64::Nets64;
pub use page::PAGE;
pub use query::NamedClaim;
pub use record::Record;
pub use settings::Settings;
use targets::Kept;
pub use targets::Targets;
pub use timestamp::Timestamp;
pub use undo::Undo;

/// Everything that is wanted blocked, and how packets are to be judged.
#[derive(Debug, Default)]
pub struct Blocklist {
    addresses: Addresses,
    nets64: Nets64,
    others: BTreeMap<Target, ClaimsId>,
    cover: Cover,
    registry: Registry,
    deadlines: Deadlines,
    lists: Lists,
    settings: Settings,
}

impl Blocklist {
    /// The lists there are.
    pub fn lists(&self) -> &Lists {
        &self.lists
    }

    /// The same, to note what is known of them beside their entries.
    pub fn lists_mut(&mut self) -> &mut Lists {
        &mut self.lists
    }

    /// How packets are to be judged.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Everything that is wanted, as if it entered now.
    pub fn everything(&self) -> Effects {
        let entered = Targets {
            addresses: self.addresses.iter().map(|(address, _)| address).collect(),
            nets64: self.nets64.keys().collect(),
            others: self.others.keys().copied().collect(),
        };
        Effects { settings: Some(self.settings), ..Effects::blocking(entered) }
    }

    /// When the next deadline is.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.next()
    }

    /// Brings near what is kept of these, since it will be wanted soon: memory is waited for once, not once for each.
    fn prefetch(&self, targets: &Targets) {
        self.addresses.prefetch(&targets.addresses);
    }

    /// What `list` says of `target` becomes this. Tells what it said before.
    fn exchange(
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
    fn extend(
        &mut self,
        target: Target,
        claim: &Claim,
        effects: &mut SetEffects,
    ) -> Option<(Claim, Option<Claim>)> {
        let before = self.claims_of(target);
        let known = before.and_then(|id| self.registry.of(id, claim.list)).cloned();
        let after = match &known {
            Some(known) if claim.adds_nothing_to(known) => return None,
            Some(known) => known.extended_by(claim.clone()),
            None => claim.clone(),
        };
        self.replace(target, claim.list, (before, known.as_ref()), Some(after.clone()), effects);
        Some((after, known))
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
        self.lists.count(list, i64::from(claim.is_some()) - i64::from(known.is_some()));
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
            (Some(before), Some(after)) if before != after => self.set_claims(target, after),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }

    /// What `list` says of `target`.
    fn claim_of(&self, target: Target, list: ListId) -> Option<&Claim> {
        self.claims_of(target).and_then(|id| self.registry.of(id, list))
    }

    fn claims_of(&self, target: Target) -> Option<ClaimsId> {
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

#[cfg(test)]
mod tests;
