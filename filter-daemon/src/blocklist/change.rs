//! The changes that can be asked of the blocklist. Nothing else changes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use filter_common::labels::Label;

use super::{ListId, Meaning, Origin, Polarity, Reach, Record, Settings, Targets, Timestamp, Undo};

/// A change, as a command, the configuration, a list file or the clock asks for it.
#[derive(Clone, Debug)]
pub enum Change {
    /// A list wants these targets, in addition to its others. A repeated want extends an entry; it shortens
    /// one only if it says so.
    Want(Want),
    /// A list no longer wants these targets.
    Release {
        from: ReleaseFrom,
        /// The targets to release.
        targets: Targets,
    },
    /// Updates how far the claims of a list reach, as its row says now.
    Reach {
        list: Arc<str>,
        /// The targets to update.
        targets: Targets,
    },
    /// Removes expired entries of one polarity.
    Expire {
        polarity: Polarity,
        /// The most entries to remove.
        most: usize,
    },
    /// Sets how packets are judged, as the configuration says.
    Settings(Settings),
    /// Until when packets are only counted, or none to end a pause. [`Change::Settings`] never changes
    /// this.
    Pause(Option<Timestamp>),
    /// Searches one page for an overlap between allowed and blocked targets, because it is not known
    /// whether there is one.
    LookForOverlap,
    /// Moves the next page of targets to the current order of the lists.
    Relabel,
    /// Undoes an earlier change, except for claims that other changes have modified since.
    Undo(Undo),
    /// Makes an empty list. Its name must be unused. [`Applied::made`](super::Applied::made) is its number.
    Make { name: Arc<str>, origin: Origin, meaning: Meaning },
    /// Changes lists, but none of their entries.
    Lists(ListChange),
    /// Repeats a change at the time it was made. The caller carries the entries to the kernel.
    Replay(Record),
    /// Removes what has expired while records were replayed, and the empty lists of the journal.
    EndReplay,
    /// Moves all entries of live lists to the live lists of the names beside them, before a filter exists.
    MoveEntries(Vec<(ListId, Arc<str>)>),
}

impl Change {
    /// True if it has no effects that `apply` could report: it moves no entry, or no filter enforces the
    /// blocklist yet.
    pub(super) const fn is_silent(&self) -> bool {
        match self {
            Self::Make { .. } | Self::Lists(_) | Self::Replay(_) | Self::EndReplay | Self::MoveEntries(_) => {
                true
            }
            Self::Want(_)
            | Self::Release { .. }
            | Self::Reach { .. }
            | Self::Expire { .. }
            | Self::Settings(_)
            | Self::Pause(_)
            | Self::LookForOverlap
            | Self::Relabel
            | Self::Undo(_) => false,
        }
    }
}

/// The targets that a list wants, and the terms.
#[derive(Clone, Debug)]
pub struct Want {
    pub list: Arc<str>,
    /// The origin of the list, if it does not exist yet.
    pub origin: Origin,
    /// Whether the list blocks or allows.
    pub polarity: Polarity,
    /// When the entries expire; never if none.
    pub until: Option<Timestamp>,
    /// Whether `until` also applies to entries that would last longer.
    pub shorten: bool,
    /// The reason, in the words of the user.
    pub note: Option<Arc<str>>,
    /// The user and command that add the entries.
    pub by: Option<Arc<str>>,
    pub targets: Targets,
}

impl Want {
    /// A want of a live list: permanent, without a note and an author. Callers that need more set those
    /// fields before `..`.
    pub fn live(list: impl Into<Arc<str>>, polarity: Polarity, targets: Targets) -> Self {
        Self {
            list: list.into(),
            origin: Origin::Live,
            polarity,
            until: None,
            shorten: false,
            note: None,
            by: None,
            targets,
        }
    }
}

/// The lists whose entries are released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseFrom {
    /// One list, by its name.
    List(Arc<str>),
    /// Every live list of this polarity.
    EveryLiveList(Polarity),
}

/// A change of lists that moves no entry, so that the filter stays as it is.
#[derive(Clone, Debug)]
pub enum ListChange {
    /// Renames lists, all at once, and marks those of `going` for removal, which frees their names.
    Rename { renamed: Vec<(ListId, Arc<str>)>, going: Vec<ListId> },
    /// Forgets a list, if it is empty.
    Forget(ListId),
    /// Sets the lists that the configuration names, in its order.
    Places(Vec<ListId>),
    /// Sets how far a list reaches. Its entries follow by [`Change::Reach`].
    Reach(ListId, Reach),
    /// Sets how far live lists of these names reach, whether or not they exist.
    LiveReaches(BTreeMap<Arc<str>, Reach>),
    /// Marks targets that had expired before the source could put them on the list.
    Spend(ListId, Targets),
    /// Moves the marks of a list to the one that replaces it.
    PassSpent { from: ListId, to: ListId },
    /// Removes the marks of targets that the source no longer names.
    Unspend(ListId, Targets),
    /// Applies the current order of the lists at once, before the first effects reach the kernel.
    BeginOrder,
    /// Starts a change to the current order of the lists, if it differs. Pages of
    /// [`Change::Relabel`] finish it.
    Reorder,
    /// Frees a number for another list, after its counters were reset.
    FreeNumber(Label),
}
