//! The sets of sources there are, and one of anything for each: of what is blocked, of what is allowed, and of what is
//! blocked on some ports only, one for each clause that lists share.

use core::ops::{Index, IndexMut};

/// The most different clauses that a configuration may have: a miss pays for each.
pub const MOST_CLAUSES: usize = 4;

/// Room for those of two configurations, since both are in force while one takes the other's place.
pub const SLOTS: usize = 2 * MOST_CLAUSES;

/// Which set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetName {
    /// What is blocked, whatever the packet.
    Block,
    /// What is allowed, whatever blocks it.
    Allow,
    /// What is blocked as far as a clause wants the packet.
    Clause(Slot),
}

/// The place of a clause among those in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u8);

/// One of something for each set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct PerSet<T> {
    /// For what is blocked.
    pub block: T,
    /// For what is allowed.
    pub allow: T,
    /// For each clause.
    pub clauses: [T; SLOTS],
}

impl Slot {
    /// Every one, in order.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + Clone {
        (0..SLOTS as u8).map(Self)
    }

    /// The one of this number.
    pub const fn of(number: usize) -> Option<Self> {
        if number < SLOTS { Some(Self(number as u8)) } else { None }
    }

    /// Its number.
    pub const fn number(self) -> usize {
        self.0 as usize
    }
}

impl SetName {
    /// How many there are.
    pub const COUNT: usize = 2 + SLOTS;

    /// Every one, in the order of their numbers.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + Clone {
        (0..Self::COUNT).filter_map(Self::of)
    }

    /// Those that block: all but what is allowed.
    pub fn blocking() -> impl DoubleEndedIterator<Item = Self> + Clone {
        Self::all().filter(|name| name.blocks())
    }

    /// Is what is in it blocked?
    pub const fn blocks(self) -> bool {
        !matches!(self, Self::Allow)
    }

    /// The one of this number.
    pub const fn of(number: usize) -> Option<Self> {
        match number {
            0 => Some(Self::Block),
            1 => Some(Self::Allow),
            number => match Slot::of(number - 2) {
                Some(slot) => Some(Self::Clause(slot)),
                None => None,
            },
        }
    }

    /// Its number.
    pub const fn number(self) -> usize {
        match self {
            Self::Block => 0,
            Self::Allow => 1,
            Self::Clause(slot) => 2 + slot.number(),
        }
    }
}

impl<T> PerSet<T> {
    /// What `make` makes for each.
    pub fn from_fn(mut make: impl FnMut(SetName) -> T) -> Self {
        let (block, allow) = (make(SetName::Block), make(SetName::Allow));
        let clauses = core::array::from_fn(|number| make(SetName::Clause(Slot(number as u8))));
        Self { block, allow, clauses }
    }

    /// All of them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (SetName, &T)> {
        SetName::all().map(|name| (name, &self[name]))
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (SetName, &mut T)> {
        let Self { block, allow, clauses } = self;
        SetName::all().zip([block, allow].into_iter().chain(clauses))
    }

    /// Those that block.
    pub fn blocking(&self) -> impl DoubleEndedIterator<Item = (SetName, &T)> {
        self.iter().filter(|(name, _)| name.blocks())
    }
}

impl<T> Index<SetName> for PerSet<T> {
    type Output = T;

    fn index(&self, name: SetName) -> &T {
        match name {
            SetName::Block => &self.block,
            SetName::Allow => &self.allow,
            SetName::Clause(slot) => &self.clauses[slot.number()],
        }
    }
}

impl<T> IndexMut<SetName> for PerSet<T> {
    fn index_mut(&mut self, name: SetName) -> &mut T {
        match name {
            SetName::Block => &mut self.block,
            SetName::Allow => &mut self.allow,
            SetName::Clause(slot) => &mut self.clauses[slot.number()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_found_by_its_number_and_has_one_of_each() {
        let mut numbers = PerSet::from_fn(SetName::number);
        assert!(SetName::all().all(|name| SetName::of(name.number()) == Some(name)));
        assert!(numbers.iter().all(|(name, number)| name.number() == *number));
        assert!(numbers.iter_mut().all(|(name, number)| name.number() == *number));
        assert_eq!(SetName::all().count(), SetName::COUNT);
        assert_eq!(SetName::of(SetName::COUNT), None);
        assert_eq!(SetName::blocking().count(), SetName::COUNT - 1);
    }
}
