//! Which list in force a list of a configuration continues. `daemon/reload/matching` finds it by name and
//! file.

use std::collections::HashSet;
use std::sync::Arc;

use crate::blocklist::{ListId, ListRegistry, Origin};

/// The list in force that a list continues, and what that means for the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continued {
    /// None: it is new.
    New,
    /// This one, perhaps under another name or with another file. Its entries stay if the file names them.
    Same(ListId),
    /// This one, with other ports or another direction. It becomes a new list; entries that both name keep
    /// their times.
    Turned(ListId),
    /// This one, but none of its entries stay: one blocks and the other allows, or the old state is restored.
    Replaced(ListId),
}

impl Continued {
    /// The list in force, whatever happens to its entries.
    pub const fn id(self) -> Option<ListId> {
        match self {
            Self::New => None,
            Self::Same(id) | Self::Turned(id) | Self::Replaced(id) => Some(id),
        }
    }

    /// The list in force, if the list stays that one.
    pub const fn same(self) -> Option<ListId> {
        match self {
            Self::Same(id) => Some(id),
            Self::New | Self::Turned(_) | Self::Replaced(_) => None,
        }
    }

    /// The list in force, if only its ports or its direction change.
    pub const fn turned(self) -> Option<ListId> {
        match self {
            Self::Turned(id) => Some(id),
            Self::New | Self::Same(_) | Self::Replaced(_) => None,
        }
    }

    /// The list in force, if none of its entries stay.
    pub const fn replaced(self) -> Option<ListId> {
        match self {
            Self::Replaced(id) => Some(id),
            Self::New | Self::Same(_) | Self::Turned(_) => None,
        }
    }

    /// The lists of files in force that none of these continues.
    pub fn gone(all: impl Iterator<Item = Self>, in_force: &ListRegistry) -> Vec<ListId> {
        let continued: HashSet<ListId> = all.filter_map(Self::id).collect();
        let gone =
            in_force.iter().filter(|(id, list)| list.origin == Origin::File && !continued.contains(id));
        gone.map(|(id, _)| id).collect()
    }

    /// The name of the list in force, if that is another one than `name`.
    pub fn name_before<'a>(self, name: &str, in_force: &'a ListRegistry) -> Option<&'a Arc<str>> {
        let before = self.id().map(|id| &in_force.get(id).name);
        before.filter(|before| ***before != *name)
    }

    /// The list in force whose entries may stay.
    pub const fn alive(self) -> Option<ListId> {
        match self {
            Self::Same(id) | Self::Turned(id) => Some(id),
            Self::New | Self::Replaced(_) => None,
        }
    }
}
