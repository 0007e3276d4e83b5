//! The blocklist: which targets are blocked or allowed, by which lists, since when and until when. It does
//! no I/O, reads no clock and knows no files.
//!
//! It changes only by [`Blocklist::apply`], which returns the effects: the targets that are added to the
//! filter or removed from it. A target that several lists want is removed when the last one releases it.
//! [`Blocklist::take_back`] and [`Blocklist::forget_empty_lists`] end a change that was applied.

mod addresses;
mod apply;
mod change;
mod claims;
mod clauses;
mod cover;
mod deadline;
mod effect;
mod extent;
mod going;
mod label;
mod list;
mod meaning;
mod nets64;
mod numbers;
mod order;
mod overlap;
mod page;
mod polarity;
mod query;
mod reach;
mod record;
mod relabel;
mod remote_ports;
mod replay;
mod rows;
mod settings;
mod side;
mod spent;
mod targets;
mod times;
mod timestamp;
mod undo;
mod widen;

use filter_common::direction::Direction;
use filter_common::ports::Clause;
use filter_common::sets::{PerSet, SLOTS, SetName};
use filter_common::target::Target;

pub use apply::{Applied, Refusal};
pub use change::{Change, ListChange, ReleaseFrom, Want};
pub use claims::Claim;
pub use clauses::want_everything;
pub use effect::{Effects, SetEffects};
pub use extent::DroppedRanges;
pub use list::{
    BY_CROWDSEC, ListId, ListInfo, ListRegistry, ListSets, MOST_LIVE_LISTS, Origin, TooManyLists,
};
pub use meaning::Meaning;
pub use numbers::LabelName;
pub use page::{Bookmark, PAGE};
pub use polarity::Polarity;
pub use query::NamedClaim;
pub use reach::Reach;
pub use record::Record;
pub use remote_ports::{LONGEST_END, name_end, split};
pub use settings::{Settings, Strictness};
pub use side::Side;
pub use spent::ExpiredEntries;
pub use targets::Targets;
pub use times::{EntryTimes, NamedTimes, TimedTargets, TimesCollector};
pub use timestamp::Timestamp;
pub use undo::Undo;
use widen::WidenedEntries;

/// All blocked and allowed targets, and the settings by which packets are judged. A blocked packet is
/// dropped unless its source is allowed. Each side is complete and independent of the others: one for
/// blocked targets, one for allowed ones, one for each port clause, and one for blocked destinations.
#[derive(Debug, Default)]
pub struct Blocklist {
    sides: PerSet<Side>,
    /// The port clause of each slot, for the side of that slot.
    clauses: [Option<Clause>; SLOTS],
    wide: WidenedEntries,
    lists: ListRegistry,
    settings: Settings,
    /// The search for an overlap of allowed and blocked targets, if one is under way.
    look: Option<overlap::OverlapSearch>,
}

impl Blocklist {
    /// The targets blocked on all ports, including those that are also allowed.
    pub const fn block(&self) -> &Side {
        &self.sides.block
    }

    /// The allowed targets, including those that are also blocked.
    pub const fn allow(&self) -> &Side {
        &self.sides.allow
    }

    pub fn side(&self, set: SetName) -> &Side {
        &self.sides[set]
    }

    /// All sides of this polarity, without empty sides of clauses.
    pub fn sides(&self, polarity: Polarity) -> impl Iterator<Item = (SetName, &Side)> {
        self.sides.iter().filter(move |(set, side)| {
            Polarity::from(*set) == polarity && (!side.is_empty() || *set == polarity.whole())
        })
    }

    pub fn lists(&self) -> &ListRegistry {
        &self.lists
    }

    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// The effects that would add everything to an empty filter.
    pub fn everything(&self) -> Effects {
        let sets =
            PerSet::from_fn(|set| SetEffects { entered: self.sides[set].targets(), ..SetEffects::default() });
        Effects { sets, overlaps: Some(self.overlaps()), settings: Some(self.settings) }
    }

    /// The time of the next deadline.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        Polarity::ALL.into_iter().filter_map(|polarity| self.next_deadline_of(polarity)).min()
    }

    /// The sets that contain the list of this name, or would contain it as a new live list.
    pub fn sets_of(&self, name: &str, polarity: Polarity) -> ListSets {
        match (self.lists.find(name), self.direction_of(name, polarity)) {
            (Some(id), _) => self.lists.get(id).sets(),
            (None, Direction::Out | Direction::Both) => SetName::Out.into(),
            (None, Direction::In) => polarity.whole().into(),
        }
    }

    /// The direction in which the list of this name blocks, or would block as a new live list.
    pub fn direction_of(&self, name: &str, polarity: Polarity) -> Direction {
        match self.lists.find(name) {
            Some(id) => self.lists.get(id).direction,
            None if polarity == Polarity::Block => Direction::of_live(name),
            None => Direction::In,
        }
    }

    /// The side with the entries of `list`.
    fn side_of(&self, list: ListId) -> &Side {
        self.side(self.lists.get(list).set())
    }

    /// Replaces the claim of `list` on `target`, and returns the earlier one.
    fn exchange(
        &mut self,
        target: Target,
        list: ListId,
        claim: Option<Claim>,
        effects: &mut Effects,
    ) -> Option<Claim> {
        let is_wanted = claim.is_some();
        let known = match self.is_apart(target, list) {
            true => self.exchange_apart(target, list, claim, effects),
            false => self.exchange_on_side(target, list, claim, effects),
        };
        self.lists.count(list, i64::from(is_wanted) - i64::from(known.is_some()));
        known
    }

    fn exchange_on_side(
        &mut self,
        target: Target,
        list: ListId,
        claim: Option<Claim>,
        effects: &mut Effects,
    ) -> Option<Claim> {
        let row = self.lists.get(list);
        let (set, mirror) = (row.set(), row.mirror());
        if let Some(mirror) = mirror {
            let standing = claim.is_some().then(|| widen::standing_for_others(list));
            self.sides[mirror].exchange(target, list, standing, &mut effects.sets[mirror]);
        }
        self.sides[set].exchange(target, list, claim, &mut effects.sets[set])
    }

    /// Adds `claim` to what its list already says about `target`. Returns the new claim and the earlier
    /// one, or none if nothing changed.
    // A start calls this and what it calls for each entry. Where the compiler puts them apart and does not inline
    // them, adding a million entries takes a third longer.
    #[inline]
    fn extend(
        &mut self,
        target: Target,
        claim: &Claim,
        effects: &mut Effects,
    ) -> Option<(Claim, Option<Claim>)> {
        if self.is_apart(target, claim.list) {
            let claim = self.reaching(claim, target);
            let after = claim.extending(self.claim_of(target, claim.list))?;
            let known = self.exchange(target, claim.list, Some(after.clone()), effects);
            return Some((after, known));
        }
        let row = self.lists.get(claim.list);
        let (set, mirror) = (row.set(), row.mirror());
        let (after, known) = self.sides[set].extend(target, claim, &mut effects.sets[set])?;
        if let (Some(mirror), None) = (mirror, &known) {
            let standing = Some(widen::standing_for_others(claim.list));
            self.sides[mirror].exchange(target, claim.list, standing, &mut effects.sets[mirror]);
        }
        self.lists.count(claim.list, i64::from(known.is_none()));
        Some((after, known))
    }

    /// Adds `claim` to all of these /64s at once. This is possible if no list wants any of them or any /64
    /// between them, and none is stored apart. Returns whether it was done.
    fn extend_row(&mut self, nets: &[u64], claim: &Claim, effects: &mut Effects) -> bool {
        let row = self.lists.get(claim.list);
        let (set, mirror) = (row.set(), row.mirror());
        let is_new = row.reach == Reach::AS_GIVEN
            && !self.wide.given.has_net64_of(nets)
            && mirror.is_none_or(|mirror| !self.sides[mirror].has_net64_of(nets))
            && self.sides[set].extend_row(nets, claim, &mut effects.sets[set]);
        if let (Some(mirror), true) = (mirror, is_new) {
            let standing = widen::standing_for_others(claim.list);
            self.sides[mirror].extend_row(nets, &standing, &mut effects.sets[mirror]);
        }
        if is_new {
            self.lists.count(claim.list, nets.len() as i64);
        }
        is_new
    }
}

#[cfg(test)]
mod tests;
