//! The changes that can be asked of the blocklist. Nothing else changes it.

use std::sync::Arc;

use super::{Origin, Polarity, Settings, Targets, Timestamp, Undo};

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
