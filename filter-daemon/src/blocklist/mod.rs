//! The truth: which targets are wanted blocked or allowed, by which lists, since when and until when. Pure: no I/O, no clock.
//!
//! It changes by [`Blocklist::apply`] and nowhere else. A change tells its effects: the targets that enter or leave the
//! filter. A target that several lists want leaves when the last one releases it.

mod addresses;
mod apply;
mod change;
mod claims;
mod clauses;
mod cover;
mod deadline;
mod difference;
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
mod peaks;
mod polarity;
mod query;
mod reach;
mod reading;
mod record;
mod relabel;
mod replay;
mod settings;
mod side;
mod spent;
mod targets;
mod times;
mod timestamp;
mod undo;
mod widen;

use filter_common::ports::Clause;
use filter_common::sets::{PerSet, SLOTS, SetName};
use filter_common::target::Target;

pub use apply::{Applied, Refusal};
pub use change::{Change, From, Want};
pub use claims::Claim;
pub use clauses::{NoSlot, want_everything};
pub use difference::Difference;
pub use effect::{Effects, SetEffects};
pub use extent::Extent;
pub use list::{List, ListId, Lists, MOST_LIVE_LISTS, Origin, TooManyLists};
pub use meaning::Meaning;
pub use numbers::Number;
pub use page::{Bookmark, PAGE};
pub use peaks::Peaks;
pub use polarity::Polarity;
pub use query::NamedClaim;
pub use reach::Reach;
pub use reading::{Accepted, Reading, Stamp, Term, Trouble};
pub use record::Record;
pub use settings::{Settings, Strictness};
pub use side::Side;
pub use spent::Spent;
pub use targets::Targets;
pub use times::{Gathering, Named, Run, Times};
pub use timestamp::Timestamp;
pub use undo::Undo;
use widen::Wide;

/// Everything that is wanted blocked and allowed, and how packets are to be judged: what is blocked is dropped, unless it is
/// allowed. Every side is kept whole, whatever the others say: of what is blocked, of what is allowed, and of what is blocked
/// on the ports of a clause.
#[derive(Debug, Default)]
pub struct Blocklist {
    sides: PerSet<Side>,
    /// On which ports is what stands on the side of this slot blocked?
    clauses: [Option<Clause>; SLOTS],
    wide: Wide,
    lists: Lists,
    settings: Settings,
    /// Does anything allowed overlap anything blocked? Looked for page by page.
    look: Option<overlap::Look>,
}

impl Blocklist {
    /// What is blocked on all ports, whatever is allowed.
    pub const fn block(&self) -> &Side {
        &self.sides.block
    }

    /// What is allowed, whatever is blocked.
    pub const fn allow(&self) -> &Side {
        &self.sides.allow
    }

    /// One of them.
    pub fn side(&self, set: SetName) -> &Side {
        &self.sides[set]
    }

    /// All that block, or the one that allows. A clause of which nothing is on the list is none of them.
    pub fn sides(&self, polarity: Polarity) -> impl Iterator<Item = (SetName, &Side)> {
        self.sides.iter().filter(move |(set, side)| {
            Polarity::from(*set) == polarity && (!side.is_empty() || *set == polarity.whole())
        })
    }

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
        let sets =
            PerSet::from_fn(|set| SetEffects { entered: self.sides[set].targets(), ..SetEffects::default() });
        Effects { sets, overlaps: Some(self.overlaps()), settings: Some(self.settings) }
    }

    /// When the next deadline is.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        Polarity::ALL.into_iter().filter_map(|polarity| self.next_deadline_of(polarity)).min()
    }

    /// The set for what is on the list of this name, or would be.
    pub fn set_of(&self, name: &str, polarity: Polarity) -> SetName {
        self.lists.find(name).map_or(polarity.whole(), |id| self.lists.get(id).set())
    }

    /// On which side the entries of `list` stand.
    fn side_of(&self, list: ListId) -> &Side {
        self.side(self.lists.get(list).set())
    }

    /// What `list` says of `target` becomes this. Tells what it said before.
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
        let set = self.lists.get(list).set();
        self.sides[set].exchange(target, list, claim, &mut effects.sets[set])
    }

    /// The list of `claim` wants `target`, whatever is known of that. Tells what it says from now on and said before, if that
    /// changed anything.
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
        let set = self.lists.get(claim.list).set();
        let (after, known) = self.sides[set].extend(target, claim, &mut effects.sets[set])?;
        self.lists.count(claim.list, i64::from(known.is_none()));
        Some((after, known))
    }

    /// The list of `claim` wants all of these /64s, where that can be said of all at once: nobody wants any of them yet, nor any
    /// between them, and none is kept apart. True if that was so.
    fn extend_row(&mut self, nets: &[u64], claim: &Claim, effects: &mut Effects) -> bool {
        let List { reach, .. } = self.lists.get(claim.list);
        let set = self.lists.get(claim.list).set();
        let is_new = *reach == Reach::AS_GIVEN
            && !self.wide.given.has_net64_of(nets)
            && self.sides[set].extend_row(nets, claim, &mut effects.sets[set]);
        if is_new {
            self.lists.count(claim.list, nets.len() as i64);
        }
        is_new
    }
}

#[cfg(test)]
mod tests;
