//! The names of all sets of sources, and a container with one value for each. There is one set of blocked
//! sources, one of allowed sources, one for each clause that blocks sources on some ports only, and one of
//! blocked destinations. Lists with equal clauses share a set.

use core::ops::{Index, IndexMut};

/// The most different clauses in a configuration: each one costs every unlisted packet a lookup.
pub const MOST_CLAUSES: usize = 4;

/// Room for the clauses of two configurations, because both are in force while one replaces the other.
pub const SLOTS: usize = 2 * MOST_CLAUSES;

/// The name of one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetName {
    /// Sources that are blocked on all ports.
    Block,
    /// Sources that are allowed, even if another set blocks them.
    Allow,
    /// Sources whose packets are dropped if the clause wants them dropped.
    Clause(Slot),
    /// Destinations that packets may not be sent to.
    Out,
}

/// The position of a clause among those in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u8);

/// One value for each set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct PerSet<T> {
    /// The value for blocked sources.
    pub block: T,
    /// The value for allowed sources.
    pub allow: T,
    /// The values for each clause.
    pub clauses: [T; SLOTS],
    /// The value for blocked destinations.
    pub out: T,
}

impl Slot {
    /// All slots, in the order of their numbers.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + Clone {
        (0..SLOTS as u8).map(Self)
    }

    /// The slot with this number.
    pub const fn of(number: usize) -> Option<Self> {
        if number < SLOTS { Some(Self(number as u8)) } else { None }
    }

    /// The number of this slot.
    pub const fn number(self) -> usize {
        self.0 as usize
    }
}

/// The number of the set of blocked destinations, which comes last.
const OUT: usize = 2 + SLOTS;

impl SetName {
    /// The number of sets.
    pub const COUNT: usize = 3 + SLOTS;

    /// All sets, in the order of their numbers.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + Clone {
        (0..Self::COUNT).filter_map(Self::of)
    }

    /// All sets that block: every one except the allowed sources.
    pub fn blocking() -> impl DoubleEndedIterator<Item = Self> + Clone {
        Self::all().filter(|name| name.blocks())
    }

    /// All sets that block sources.
    pub fn of_sources() -> impl DoubleEndedIterator<Item = Self> + Clone {
        Self::blocking().filter(|name| !matches!(name, Self::Out))
    }

    /// True if sources or destinations in this set are blocked.
    pub const fn blocks(self) -> bool {
        !matches!(self, Self::Allow)
    }

    /// The set with this number.
    pub const fn of(number: usize) -> Option<Self> {
        match number {
            0 => Some(Self::Block),
            1 => Some(Self::Allow),
            OUT => Some(Self::Out),
            number => match Slot::of(number - 2) {
                Some(slot) => Some(Self::Clause(slot)),
                None => None,
            },
        }
    }

    /// The number of this set.
    pub const fn number(self) -> usize {
        match self {
            Self::Block => 0,
            Self::Allow => 1,
            Self::Clause(slot) => 2 + slot.number(),
            Self::Out => OUT,
        }
    }
}

impl<T> PerSet<T> {
    /// Calls `make` for each set.
    pub fn from_fn(mut make: impl FnMut(SetName) -> T) -> Self {
        let (block, allow) = (make(SetName::Block), make(SetName::Allow));
        let clauses = core::array::from_fn(|number| make(SetName::Clause(Slot(number as u8))));
        Self { block, allow, clauses, out: make(SetName::Out) }
    }

    /// All values, with the names of their sets.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (SetName, &T)> {
        SetName::all().map(|name| (name, &self[name]))
    }

    /// All values as mutable references, with the names of their sets.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (SetName, &mut T)> {
        let Self { block, allow, clauses, out } = self;
        SetName::all().zip([block, allow].into_iter().chain(clauses).chain([out]))
    }

    /// The values of the sets that block.
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
            SetName::Out => &self.out,
        }
    }
}

impl<T> IndexMut<SetName> for PerSet<T> {
    fn index_mut(&mut self, name: SetName) -> &mut T {
        match name {
            SetName::Block => &mut self.block,
            SetName::Allow => &mut self.allow,
            SetName::Clause(slot) => &mut self.clauses[slot.number()],
            SetName::Out => &mut self.out,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_found_by_number() {
        let mut numbers = PerSet::from_fn(SetName::number);
        assert!(SetName::all().all(|name| SetName::of(name.number()) == Some(name)));
        assert!(numbers.iter().all(|(name, number)| name.number() == *number));
        assert!(numbers.iter_mut().all(|(name, number)| name.number() == *number));
        assert_eq!(SetName::all().count(), SetName::COUNT);
        assert_eq!(SetName::of(SetName::COUNT), None);
        assert_eq!(SetName::blocking().count(), SetName::COUNT - 1);
    }
}
