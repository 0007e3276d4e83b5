//! The truth: which targets are wanted blocked or allowed, by which lists, since when and until when. Pure: no I/O, no clock.
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
mod extent;
mod label;
mod list;
mod nets64;
mod numbers;
mod order;
mod overlap;
mod page;
mod query;
mod reach;
mod record;
mod relabel;
mod replay;
mod settings;
mod side;
mod spent;
mod targets;
mod timestamp;
mod undo;
mod widen;

use filter_common::target::Target;

pub use apply::{Applied, Refusal};
pub use change::{Change, From, Want};
pub use claims::Claim;
pub use difference::Difference;
pub use effect::{Effects, SetEffects};
pub use extent::Extent;
pub use list::{
    Accepted, List, ListId, Lists, MOST_LISTS, Origin, Polarity, Reading, Stamp, TooManyLists, Trouble,
};
pub use numbers::Number;
pub use page::{Bookmark, PAGE};
pub use query::NamedClaim;
pub use reach::Reach;
pub use record::Record;
pub use settings::{Settings, Strictness};
pub use side::Side;
pub use spent::Spent;
pub use targets::Targets;
pub use timestamp::Timestamp;
pub use undo::Undo;
use widen::Wide;

/// Everything that is wanted blocked and allowed, and how packets are to be judged: what is blocked is dropped, unless it is
/// allowed. Both sides are kept whole, whatever the other one says.
#[derive(Debug, Default)]
pub struct Blocklist {
    block: Side,
    allow: Side,
    wide: Wide,
    lists: Lists,
    settings: Settings,
}

impl Blocklist {
    /// What is blocked, whatever is allowed.
    pub const fn block(&self) -> &Side {
        &self.block
    }

    /// What is allowed, whatever is blocked.
    pub const fn allow(&self) -> &Side {
        &self.allow
    }

    /// One of the two.
    pub const fn side(&self, polarity: Polarity) -> &Side {
        match polarity {
            Polarity::Block => &self.block,
            Polarity::Allow => &self.allow,
        }
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
        let entered = |side: &Side| SetEffects { entered: side.targets(), ..SetEffects::default() };
        let (block, allow) = (entered(&self.block), entered(&self.allow));
        Effects { block, allow, overlaps: Some(self.overlaps()), settings: Some(self.settings) }
    }

    /// When the next deadline is.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        Polarity::ALL.into_iter().filter_map(|polarity| self.next_deadline_of(polarity)).min()
    }

    /// On which side the entries of `list` stand.
    fn side_of(&self, list: ListId) -> &Side {
        self.side(self.lists.get(list).polarity)
    }

    fn side_mut(&mut self, polarity: Polarity) -> &mut Side {
        match polarity {
            Polarity::Block => &mut self.block,
            Polarity::Allow => &mut self.allow,
        }
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
        let polarity = self.lists.get(list).polarity;
        self.side_mut(polarity).exchange(target, list, claim, effects.of_mut(polarity))
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
        let polarity = self.lists.get(claim.list).polarity;
        let (after, known) = self.side_mut(polarity).extend(target, claim, effects.of_mut(polarity))?;
        self.lists.count(claim.list, i64::from(known.is_none()));
        Some((after, known))
    }
}

#[cfg(test)]
mod tests;
