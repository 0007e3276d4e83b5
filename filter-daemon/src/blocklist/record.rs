//! What a list says: it wants targets blocked or allowed, or no longer.

use std::sync::Arc;

use super::{Polarity, Targets, Timestamp};

/// One change of one live list, named rather than numbered: numbers last only as long as the daemon runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The list wants these targets.
    Want {
        /// Its name.
        list: Arc<str>,
        /// Blocked, or allowed?
        polarity: Polarity,
        /// Since when.
        since: Timestamp,
        /// Until when; permanent if none.
        until: Option<Timestamp>,
        /// Why.
        note: Option<Arc<str>>,
        /// Who put it on the list.
        by: Option<Arc<str>>,
        /// Which.
        targets: Targets,
    },
    /// The list releases these targets.
    Release {
        /// Its name.
        list: Arc<str>,
        /// Which.
        targets: Targets,
    },
    /// The list releases everything.
    ReleaseAll {
        /// Its name.
        list: Arc<str>,
    },
}

impl Record {
    /// How many targets it names.
    pub fn len(&self) -> usize {
        match self {
            Self::Want { targets, .. } | Self::Release { targets, .. } => targets.len(),
            Self::ReleaseAll { .. } => 0,
        }
    }

    /// Does it name none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
