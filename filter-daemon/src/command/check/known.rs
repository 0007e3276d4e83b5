//! Finds out what lists were before, from their last good copies and from a running filterd.

use std::io::ErrorKind;

use crate::clock;
use crate::config::ListConfig;
use crate::control::wire::entry::LIVE;
use crate::control::wire::status::ListStatus;
use crate::source::limits::SizeBefore;
use crate::source::trouble::ListFallback;
use crate::source::{AcceptedSource, ReadOptions, database};
use crate::state::{CopyError, FoundGeneration, GenerationName, StateStore};

/// The earlier states of all lists.
pub struct EarlierLists {
    store: StateStore,
    found: Vec<AcceptedSource>,
    running: Vec<ListStatus>,
    is_hidden: bool,
    /// A copy is damaged in the part that says which list it belongs to.
    has_lost_one: bool,
}

/// The earlier state of one list.
#[derive(Clone, Copy)]
pub enum EarlierList<'a> {
    /// The state that its copy describes.
    Copy(&'a AcceptedSource),
    /// The state that is in force in a running filterd.
    Running(&'a ListStatus),
    /// The list did not exist.
    Nothing,
    /// This user may not read the copy.
    Hidden,
}

impl EarlierLists {
    /// Finds the copies that this user may see now.
    pub fn of(store: StateStore) -> Self {
        let is_hidden = store.is_hidden();
        let (found, has_lost_one) = match store.read(GenerationName::Current) {
            FoundGeneration::Read { generation, is_cut } => (generation.lists, is_cut),
            FoundGeneration::Damaged(_) => (Vec::new(), !is_hidden),
            FoundGeneration::Missing | FoundGeneration::Newer => (Vec::new(), false),
        };
        Self { store, running: Vec::new(), is_hidden, found, has_lost_one }
    }

    /// Adds the lists of a running filterd.
    pub fn with(self, running: Vec<ListStatus>) -> Self {
        Self { running, ..self }
    }

    /// The earlier state of this list. It is found as in a reload: by name and path, else by path, else by
    /// name.
    pub fn before(&self, list: &ListConfig) -> EarlierList<'_> {
        let is_called = |copy: &&AcceptedSource| *copy.name == *list.name.as_str();
        let is_there = |copy: &&AcceptedSource| copy.path == list.path;
        // Many lists can be selected from one database.
        let is_it = |copy: &&AcceptedSource| is_there(copy) && !is_another_choice(copy, list);
        let of_both = self.found.iter().filter(is_called).find(is_there);
        let copy = of_both.or(self.found.iter().find(is_it)).or(self.found.iter().find(is_called));
        copy.map_or_else(|| self.without_copy(list), EarlierList::Copy)
    }

    /// The earlier state, if there is no copy of it or a damaged one.
    pub fn without_copy(&self, list: &ListConfig) -> EarlierList<'_> {
        let is_it = |running: &&ListStatus| running.name == list.name.as_str() && running.kind != LIVE;
        match self.running.iter().find(is_it) {
            Some(running) => EarlierList::Running(running),
            None if self.is_hidden => EarlierList::Hidden,
            None => EarlierList::Nothing,
        }
    }

    /// What would be in force instead of a list with this earlier state.
    pub fn instead(&self, before: EarlierList<'_>) -> ListFallback {
        let instead = before.instead();
        if instead == ListFallback::Nothing && self.has_lost_one { ListFallback::Lost } else { instead }
    }

    /// The size of `list`, which had this earlier state.
    pub fn size_of(&self, list: &ListConfig, before: EarlierList<'_>) -> Option<SizeBefore> {
        match before {
            EarlierList::Copy(copy) => Some(SizeBefore {
                entries: copy.entries,
                largest: copy.peaks.largest(clock::now()),
                has_open_end: self.store.open_end(copy),
                is_another_choice: is_another_choice(copy, list),
            }),
            EarlierList::Running(running) => before.entries().map(|entries| SizeBefore {
                entries,
                largest: running.largest.unwrap_or(0),
                ..SizeBefore::default()
            }),
            EarlierList::Nothing | EarlierList::Hidden => None,
        }
    }

    /// Returns whether a start could take the copy of this list.
    pub fn has_good_copy(&self, list: &ListConfig) -> bool {
        matches!(self.before(list), EarlierList::Copy(copy) if self.is_good(copy))
    }

    /// Returns whether this copy is undamaged. Files that this user may not read count as good, because a
    /// filterd that starts gives root's copies to its own user.
    pub fn is_good(&self, copy: &AcceptedSource) -> bool {
        match self.store.read_list(copy, &ReadOptions::default()) {
            Ok(_) => true,
            Err(CopyError::System { source, .. }) => source.kind() == ErrorKind::PermissionDenied,
            Err(CopyError::Damaged | CopyError::Full { .. } | CopyError::Gone) => false,
        }
    }
}

/// Whether the copy has another choice from the database of `list`.
fn is_another_choice(copy: &AcceptedSource, list: &ListConfig) -> bool {
    let chosen = list.how.database.as_ref().zip(copy.stamp);
    chosen.is_some_and(|(database, stamp)| database::is_of_another_choice(stamp, database))
}

impl EarlierList<'_> {
    /// The number of targets that the list had.
    pub fn entries(self) -> Option<u64> {
        match self {
            Self::Copy(copy) => Some(copy.entries),
            Self::Running(list) => Some(list.targets).filter(|targets| *targets > 0 || list.read.is_some()),
            Self::Nothing | Self::Hidden => None,
        }
    }

    /// Whether the list allowed, if known.
    pub fn allows(self) -> Option<bool> {
        match self {
            Self::Copy(copy) => copy.meaning.map(|meaning| meaning.allows()),
            Self::Running(list) => Some(list.allows),
            Self::Nothing | Self::Hidden => None,
        }
    }

    /// What would be in force instead.
    fn instead(self) -> ListFallback {
        match self {
            Self::Copy(copy) => copy.into(),
            Self::Running(ListStatus { targets, read: Some(read), .. }) => {
                ListFallback::Good(*targets, *read)
            }
            Self::Running(ListStatus { targets: 0, .. }) | Self::Nothing => ListFallback::Nothing,
            Self::Running(list) => ListFallback::Stays(list.targets),
            Self::Hidden => ListFallback::Hidden,
        }
    }
}
