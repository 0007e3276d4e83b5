//! What a change of the blocklist means for the filter.

use super::Targets;

/// Targets that enter the filter and targets that leave it. None is in both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Wanted by somebody now, and by nobody before.
    pub entered: Targets,
    /// Wanted by nobody now, and by somebody before.
    pub left: Targets,
}

impl Effects {
    /// Nothing enters, nothing leaves.
    pub fn is_empty(&self) -> bool {
        self.entered.is_empty() && self.left.is_empty()
    }
}
