//! Changes the order of the lists page by page.

use std::collections::HashSet;
use std::sync::Arc;

use filter_common::labels::{LAST, Label, OTHER};
use filter_common::sets::SetName;

use super::numbers::LabelName;
use super::order::ListOrder;
use super::{
    Applied, Blocklist, ListId, Origin, PAGE, Polarity, SetEffects, Side, Timestamp, TooManyLists, targets,
};

impl Blocklist {
    /// Makes a new empty list after all others. The name must be unused.
    pub(super) fn make_list(
        &mut self,
        name: &str,
        origin: Origin,
        polarity: Polarity,
        now: Timestamp,
    ) -> Result<ListId, TooManyLists> {
        let id = self.lists.make_anyway(name, origin, polarity)?;
        if polarity == Polarity::Block {
            let is_among_first = self.blocking().len() <= usize::from(LAST);
            let name = self.lists.get(id).name.clone();
            let label = is_among_first.then(|| self.lists.numbers.take(&name, now)).flatten();
            let label = label.unwrap_or_default();
            self.blocking_sides_mut().for_each(|(_, side)| side.labels.append(id, label));
        }
        Ok(id)
    }

    /// Starts a change to the current order of the lists, if it differs. The new order applies at once
    /// where it changes no entry. Otherwise [`Change::Relabel`](crate::blocklist::Change::Relabel) must be
    /// applied until it is finished. A change under way is finished first.
    pub(super) fn reorder(&mut self, now: Timestamp) {
        if self.is_relabelling() || !std::mem::take(&mut self.lists.is_order_old) {
            return;
        }
        let order = Arc::new(self.wanted_order(now));
        let lists: Vec<_> =
            self.blocking().into_iter().filter(|id| self.lists.get(*id).entries > 0).collect();
        for (set, side) in self.sides.iter_mut().filter(|(set, _)| set.blocks()) {
            let is_on = |id: &ListId| self.lists.get(*id).sets().into_iter().any(|its| its == set);
            let on_it = lists.iter().copied().filter(is_on);
            let is_same = order.is_same_for(side.labels.latest(), &on_it.collect::<Vec<_>>());
            match is_same {
                true => side.labels.set(order.clone()),
                false => side.labels.begin(order.clone()),
            }
        }
    }

    /// Sets the order of the lists before the first effects reach the kernel.
    pub(super) fn begin_order(&mut self, now: Timestamp) {
        let order = Arc::new(self.wanted_order(now));
        self.blocking_sides_mut().for_each(|(_, side)| side.labels.set(order.clone()));
        self.lists.is_order_old = false;
    }

    /// True if the order must be computed again or is changing.
    pub fn is_order_due(&self) -> bool {
        self.lists.is_order_old || self.is_relabelling()
    }

    /// True while the order changes.
    pub fn is_relabelling(&self) -> bool {
        self.sides.blocking().any(|(_, side)| side.labels.coming().is_some())
    }

    /// The number of this name.
    pub fn number_of(&self, name: &str) -> Option<(Label, &LabelName)> {
        let label = self.lists.numbers.find(name)?;
        Some((label, self.number(label)?))
    }

    /// The name and start of this number.
    pub fn number(&self, label: Label) -> Option<&LabelName> {
        self.lists.numbers.of(label)
    }

    /// Unneeded numbers that other lists could use. The caller resets their counters once no packet can be
    /// counted under them, and then frees them with [`ListChange::FreeNumber`](super::ListChange::FreeNumber).
    pub fn numbers_to_clear(&self) -> Vec<Label> {
        let first = self.blocking().into_iter().take(usize::from(LAST));
        let lacking = first.filter(|id| self.lists.numbers.find(&self.lists.get(*id).name).is_none());
        self.lists.numbers.unneeded(lacking.count())
    }

    /// Frees this number for another name, after its counters were reset.
    pub(super) fn free_number(&mut self, label: Label) {
        self.lists.numbers.cleared(label);
        self.lists.is_order_old = true;
    }

    /// The lists that block, in order.
    fn blocking(&self) -> Vec<ListId> {
        let blocks = |id: &ListId| self.lists.get(*id).polarity == Polarity::Block;
        self.lists.in_order().into_iter().filter(blocks).collect()
    }

    /// The sides of these lists. Each has the same order of all lists, and changes to another one on its
    /// own.
    fn blocking_sides_mut(&mut self) -> impl Iterator<Item = (SetName, &mut Side)> {
        self.sides.iter_mut().filter(|(set, _)| set.blocks())
    }

    fn wanted_order(&mut self, now: Timestamp) -> ListOrder {
        let blocking = self.blocking();
        let lists = &mut self.lists;
        let names: Vec<_> = blocking.iter().map(|id| lists.get(*id).name.clone()).collect();
        let (first, _) = names.split_at(names.len().min(usize::from(LAST)));
        let needed: HashSet<&str> = first.iter().map(|name| &**name).collect();
        lists.numbers.retain(|name| needed.contains(name));
        let labels: Vec<_> =
            first.iter().map(|name| lists.numbers.take(name, now).unwrap_or_default()).collect();
        let labels = labels.into_iter().chain(std::iter::repeat(OTHER));
        ListOrder::of(blocking.into_iter().zip(labels))
    }

    pub(super) fn relabel_page(&mut self) -> Applied {
        let mut applied = Applied::default();
        let mut relabelling = self.blocking_sides_mut().filter(|(_, side)| side.labels.coming().is_some());
        if let Some((set, side)) = relabelling.next() {
            let effects = &mut applied.effects.sets[set];
            side.relabel_page(effects);
            applied.changed = effects.relabelled.len() as u64;
        }
        applied
    }
}

impl Side {
    /// Moves the next page of targets to the new order.
    fn relabel_page(&mut self, effects: &mut SetEffects) {
        let Some(after) = self.labels.coming() else { return };
        let mut weight = 0;
        let upto = self.walk(after, |target, id| {
            let (before, after) = self.labels.change_of(self.registry.claims(id));
            if before != after {
                effects.relabelled.push(target);
                weight += targets::weight(target);
            }
            weight < PAGE
        });
        self.labels.advance(upto);
        effects.relabelled.sort();
    }
}

#[cfg(test)]
mod tests;
