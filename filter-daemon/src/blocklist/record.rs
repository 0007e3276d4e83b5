//! The changes of lists that the journal stores.

use std::sync::Arc;

use super::{Polarity, Targets, Timestamp};

/// One change of one live list. It names the list, because numbers are valid only while the daemon runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The list wants these targets.
    Want {
        /// The name of the list.
        list: Arc<str>,
        /// Whether the list blocks or allows.
        polarity: Polarity,
        since: Timestamp,
        /// When the entries expire; never if none.
        until: Option<Timestamp>,
        note: Option<Arc<str>>,
        /// The user or source that added them.
        by: Option<Arc<str>>,
        targets: Targets,
    },
    /// The list releases these targets.
    Release {
        /// The name of the list.
        list: Arc<str>,
        targets: Targets,
    },
    /// The list releases everything.
    ReleaseAll {
        /// The name of the list.
        list: Arc<str>,
    },
}

impl Record {
    /// The number of targets that it names.
    pub fn len(&self) -> usize {
        match self {
            Self::Want { targets, .. } | Self::Release { targets, .. } => targets.len(),
            Self::ReleaseAll { .. } => 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
