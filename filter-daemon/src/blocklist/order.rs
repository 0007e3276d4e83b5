//! Which list each target is counted for: the first, in the order of lists, that wants it. What packets meet is a number of
//! that list (`numbers`).
//!
//! Where the order changes, it does so page by page (`relabel`): what lies up to the page that is done is in the order that is
//! coming, what lies behind it in the one before. So at every moment each target has one label, and whoever carries effects
//! to the kernel has that one.

use std::sync::Arc;

use filter_common::labels::{Label, OTHER};
use filter_common::target::Target;

use super::ListId;
use super::claims::Claim;

/// Where one list stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    rank: u32,
    label: Label,
}

/// Behind everybody: a list that nobody has given a place.
const LAST: Place = Place { rank: u32::MAX, label: OTHER };

/// The lists, the first one first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// By the number of the list, since every entry asks.
    places: Vec<Place>,
    next: u32,
}

impl Order {
    /// These, in this order.
    pub fn of(lists: impl Iterator<Item = (ListId, Label)>) -> Self {
        let mut order = Self::default();
        lists.for_each(|(list, label)| order.append(list, label));
        order
    }

    /// This one behind all others.
    pub fn append(&mut self, list: ListId, label: Label) {
        if self.places.len() <= list.index() {
            self.places.resize(list.index() + 1, LAST);
        }
        self.places[list.index()] = Place { rank: self.next, label };
        self.next = self.next.saturating_add(1);
    }

    fn place(&self, list: ListId) -> Place {
        self.places.get(list.index()).copied().unwrap_or(LAST)
    }

    fn label(&self, list: ListId) -> Label {
        self.place(list).label
    }

    /// The number of the first of those who say something.
    fn first(&self, claims: &[Claim]) -> Label {
        let first = match claims {
            [one] => Some(one.list),
            several => {
                several.iter().map(|claim| claim.list).min_by_key(|list| (self.place(*list).rank, *list))
            }
        };
        first.map_or(OTHER, |list| self.label(list))
    }

    /// Would all of these lists have the same numbers, and come in the same order?
    pub fn is_same_for(&self, other: &Self, lists: &[ListId]) -> bool {
        let sorted = |order: &Self| {
            let mut lists = lists.to_vec();
            lists.sort_by_key(|list| (order.place(*list).rank, *list));
            lists
        };
        lists.iter().all(|list| self.label(*list) == other.label(*list)) && sorted(self) == sorted(other)
    }
}

/// The order of lists that one side goes by.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    in_force: Arc<Order>,
    coming: Option<Coming>,
}

/// An order that is in force for targets up to this one.
#[derive(Clone, Debug)]
struct Coming {
    order: Arc<Order>,
    upto: Option<Target>,
}

impl Labels {
    /// The number of the first of those who want `target`.
    pub fn of(&self, target: Target, claims: &[Claim]) -> Label {
        let coming = self.coming.as_ref().filter(|coming| Some(target) <= coming.upto);
        coming.map_or(&self.in_force, |coming| &coming.order).first(claims)
    }

    /// The same before and after the page behind `coming.upto`.
    pub fn change_of(&self, claims: &[Claim]) -> (Label, Label) {
        let after = self.coming.as_ref().map_or(&self.in_force, |coming| &coming.order);
        (self.in_force.first(claims), after.first(claims))
    }

    /// The order there will be.
    pub fn latest(&self) -> &Arc<Order> {
        self.coming.as_ref().map_or(&self.in_force, |coming| &coming.order)
    }

    /// A new list, on which nothing is, behind all others.
    pub fn append(&mut self, list: ListId, label: Label) {
        Arc::make_mut(&mut self.in_force).append(list, label);
        if let Some(coming) = &mut self.coming {
            Arc::make_mut(&mut coming.order).append(list, label);
        }
    }

    /// Nobody has been told anything yet: this is the order.
    pub fn set(&mut self, order: Arc<Order>) {
        (self.in_force, self.coming) = (order, None);
    }

    /// From now on this order comes, page by page.
    pub fn begin(&mut self, order: Arc<Order>) {
        self.coming = Some(Coming { order, upto: None });
    }

    /// Is another order coming, and up to where has it come?
    pub fn coming(&self) -> Option<Option<Target>> {
        self.coming.as_ref().map(|coming| coming.upto)
    }

    /// It has come up to there; to the end, if there is none.
    pub fn advance(&mut self, upto: Option<Target>) {
        match (upto, &mut self.coming) {
            (Some(_), Some(coming)) => coming.upto = upto,
            (None, coming) => {
                if let Some(Coming { order, .. }) = coming.take() {
                    self.in_force = order;
                }
            }
            (Some(_), None) => {}
        }
    }
}
