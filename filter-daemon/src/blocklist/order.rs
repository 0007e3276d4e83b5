//! The list under which each target is counted: the first list, in the order of lists, that wants it. The
//! kernel gets a number for that list, from `numbers`.
//!
//! A change of the order is applied page by page (`relabel`). Targets up to the end of the finished page
//! have the new order, and later ones still have the old order. Each target so has exactly one label at
//! every moment, and the effects carry that one to the kernel.

use std::sync::Arc;

use filter_common::labels::{Label, OTHER};
use filter_common::target::Target;

use super::ListId;
use super::claims::Claim;

/// The position and label of one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ListRank {
    rank: u32,
    label: Label,
}

/// The place of a list without a position: after all others.
const LAST: ListRank = ListRank { rank: u32::MAX, label: OTHER };

/// The lists, first to last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOrder {
    /// Indexed by the number of the list, because every entry needs a lookup.
    places: Vec<ListRank>,
    next: u32,
}

impl ListOrder {
    /// The order in which these lists are given.
    pub fn of(lists: impl Iterator<Item = (ListId, Label)>) -> Self {
        let mut order = Self::default();
        lists.for_each(|(list, label)| order.append(list, label));
        order
    }

    /// Adds a list after all others.
    pub fn append(&mut self, list: ListId, label: Label) {
        if self.places.len() <= list.index() {
            self.places.resize(list.index() + 1, LAST);
        }
        self.places[list.index()] = ListRank { rank: self.next, label };
        self.next = self.next.saturating_add(1);
    }

    fn place(&self, list: ListId) -> ListRank {
        self.places.get(list.index()).copied().unwrap_or(LAST)
    }

    fn label(&self, list: ListId) -> Label {
        self.place(list).label
    }

    /// The label of the first list among these claims.
    fn first(&self, claims: &[Claim]) -> Label {
        let first = match claims {
            [one] => Some(one.list),
            several => {
                several.iter().map(|claim| claim.list).min_by_key(|list| (self.place(*list).rank, *list))
            }
        };
        first.map_or(OTHER, |list| self.label(list))
    }

    /// True if all of these lists have equal labels and the same relative order in both.
    pub fn is_same_for(&self, other: &Self, lists: &[ListId]) -> bool {
        let sorted = |order: &Self| {
            let mut lists = lists.to_vec();
            lists.sort_by_key(|list| (order.place(*list).rank, *list));
            lists
        };
        lists.iter().all(|list| self.label(*list) == other.label(*list)) && sorted(self) == sorted(other)
    }
}

/// The order of lists that applies to one side.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    in_force: Arc<ListOrder>,
    coming: Option<PendingOrder>,
}

/// A new order that already applies to targets up to `upto`.
#[derive(Clone, Debug)]
struct PendingOrder {
    order: Arc<ListOrder>,
    upto: Option<Target>,
}

impl Labels {
    /// The label of the first list among the claims on `target`.
    pub fn of(&self, target: Target, claims: &[Claim]) -> Label {
        let coming = self.coming.as_ref().filter(|coming| Some(target) <= coming.upto);
        coming.map_or(&self.in_force, |coming| &coming.order).first(claims)
    }

    /// The label before and after the page that follows `coming.upto`.
    pub fn change_of(&self, claims: &[Claim]) -> (Label, Label) {
        let after = self.coming.as_ref().map_or(&self.in_force, |coming| &coming.order);
        (self.in_force.first(claims), after.first(claims))
    }

    /// The order at the end of the change, or the current one.
    pub fn latest(&self) -> &Arc<ListOrder> {
        self.coming.as_ref().map_or(&self.in_force, |coming| &coming.order)
    }

    /// Adds a new empty list after all others.
    pub fn append(&mut self, list: ListId, label: Label) {
        Arc::make_mut(&mut self.in_force).append(list, label);
        if let Some(coming) = &mut self.coming {
            Arc::make_mut(&mut coming.order).append(list, label);
        }
    }

    /// Sets the order at once, while no effects have reached the kernel.
    pub fn set(&mut self, order: Arc<ListOrder>) {
        (self.in_force, self.coming) = (order, None);
    }

    /// Starts the change to this order, page by page.
    pub fn begin(&mut self, order: Arc<ListOrder>) {
        self.coming = Some(PendingOrder { order, upto: None });
    }

    /// How far the change to a new order has come, if one is under way.
    pub fn coming(&self) -> Option<Option<Target>> {
        self.coming.as_ref().map(|coming| coming.upto)
    }

    /// Records that the change has come this far; without a target, that it is finished.
    pub fn advance(&mut self, upto: Option<Target>) {
        match (upto, &mut self.coming) {
            (Some(_), Some(coming)) => coming.upto = upto,
            (None, coming) => {
                if let Some(PendingOrder { order, .. }) = coming.take() {
                    self.in_force = order;
                }
            }
            (Some(_), None) => {}
        }
    }
}
